//! Score register file: a small importance score for each row of the KV cache, and the class that follows from it.
//!
//! Scores are sums of attention scores in few bits (the paper: 4). A sum below 0 becomes 0; a sum above the top becomes
//! the top and is remembered in `saturated_o`. When the step in which that happened ends (`step_i`), all scores are
//! halved: their order stays meaningful, and old importance fades. Within a step scores do not age, since the evictor
//! holds copies of them. A row is high when it is valid and its score is at least `threshold_i`. Where several heads
//! share the file, each has an equal part of the rows, and only the scores of the head whose step ends age.
//!
//! In one cycle the update comes first, then clear, then set, then the end of the step.

mod properties;

use crate::lang::{
    About, Block, CatalogBlock, In, InOption, Index, Module, Out, OutArray, Proof, Signal, Timing, Type, bit,
    index_width, mux, parameters, ports, select, sint, uint,
};

/// Most rows with which the formal section is there: it holds all of them.
const LARGEST_MODEL: u32 = 8;

parameters! {
    /// Elaboration parameters.
    pub struct ScoreRegisterFile {
        /// Rows of the KV cache.
        rows: u32 = 128, in 2..=4096, tag "m";
        /// Width of a score in bits, unsigned.
        score_width: u32 = 4, in 1..=32, tag "s";
        /// Width of the amount added to a score in bits, signed.
        amount_width: u32 = 5, in 2..=33, tag "a";
        /// Heads, one after the other, with an equal part of the rows each.
        heads: u32 = 1, in 1..=4096, note "a divisor of rows", named "when set";
    }
    rules = |p, rules| {
        let divides = p.rows.is_multiple_of(p.heads);
        rules.demand(divides, "heads", p.heads, format!("a divisor of rows = {}", p.rows));
    };
}

ports! {
    /// Ports of [`ScoreRegisterFile`].
    pub struct ScoreRegisterFilePorts(p: &ScoreRegisterFile) {
        /// A new token comes to row `set_row_i`: valid, score 0 from the next cycle on, whatever else happens to the
        /// row.
        set_valid_i: In = bit(),
        /// Row of the new token; nothing happens beyond the last row. This holds for the other rows below too.
        set_row_i: In = p.row(),
        /// The token in row `clear_row_i` is gone from the next cycle on; nothing happens to a row without one.
        clear_valid_i: In = bit(),
        /// Row of the token that goes.
        clear_row_i: In = p.row(),
        /// Add to the score of row `update_row_i`; nothing happens to a row that is not valid.
        update_valid_i: In = bit(),
        /// Row of the score.
        update_row_i: In = p.row(),
        /// The amount to add.
        update_amount_i: In = sint(p.amount_width),
        /// The step ends: scores age if one saturated, in this cycle too.
        step_i: In = bit(),
        /// Head whose step ends.
        step_head_i: InOption = uint(index_width(u64::from(p.heads))).when(p.heads > 1),
        /// Lowest high score; a new one holds at once, for all rows, and is no promotion.
        threshold_i: In = uint(p.score_width),
        /// Row to read.
        read_row_i: In = p.row(),
        /// Its score, in the same cycle; of no meaning when the row is not valid.
        read_score_o: Out = uint(p.score_width),
        /// Per row: it holds a token. Always valid.
        valid_o: OutArray = bit().array(p.rows),
        /// Per row: it holds a token with a high score. Always valid.
        high_o: OutArray = bit().array(p.rows),
        /// A sum exceeded the top since the last step ended, before this cycle. Cleared by `step_i`, and by reset.
        saturated_o: Out = bit(),
        /// The update in the cycle before made the low score of row `promoted_row_o` high. Up for one cycle. A
        /// promotion is told even if the row was cleared or set, or its score halved, in that cycle.
        promoted_valid_o: Out = bit(),
        /// The row, with `promoted_valid_o`.
        promoted_row_o: Out = p.row(),
    }
}

impl ScoreRegisterFile {
    /// Type of a row's number.
    #[must_use]
    pub fn row(&self) -> Type {
        uint(index_width(u64::from(self.rows)))
    }
}

/// A score to which something was added.
pub(super) struct Grown {
    /// The sum exceeds the top.
    pub over: Signal,
    /// The new score.
    pub updated: Signal,
}

/// Adds to a score; a sum that does not fit becomes the nearest value that does.
pub(super) fn grown(m: &mut Module, old: Signal, amount: Signal) -> Grown {
    let ty = old.ty();
    let sum = m.wire("sum", old.extend(ty.width + 1).as_sint() + amount);
    let top = ty.range().1;
    let over = m.wire("over", sum.gt(top.clone()));
    let inside = sum.as_uint().truncate(ty.width);
    let updated = m.wire("updated", select(&[(sum.lt(0), ty.lit(0)), (over, ty.lit(top))], inside));
    Grown { over, updated }
}

/// Half a score, rounded down.
pub(super) fn half(score: Signal) -> Signal {
    let width = score.width();
    if width == 1 { uint(1).lit(0) } else { score.shr(1).extend(width) }
}

impl Block for ScoreRegisterFile {
    type Ports = ScoreRegisterFilePorts;
    const ABOUT: About = About {
        name: "score_register_file",
        summary: "saturating importance scores of the rows of a KV cache, with ageing and classes",
        contract: "An update makes a valid row's score clamp(score + amount, 0, 2^score_width - 1). If a sum\n\
            exceeded the top since the step before ended, step_i halves all scores (of its head), rounded down. In\n\
            one cycle: update, clear, set (score 0), end of step. high_o = valid and score >= threshold_i. Each\n\
            operation takes effect at the edge, and none is left unfinished: there is nothing to break off.\n\
            Operations on rows that do not exist, clears and updates of rows without a token change nothing. Reset\n\
            forgets all tokens.",
        reference: "Kelle, section 5.1 and figure 10",
    };

    fn build(&self, m: &mut Module, io: &ScoreRegisterFilePorts) {
        let score_ty = uint(self.score_width);
        let row_width = self.row().width;
        let score = m.regs_init("score", score_ty, self.rows, 0);
        let valid = m.regs_init("valid", bit(), self.rows, 0);

        m.comment("One adder, for the row that is updated.");
        let old = m.wire("old", score.q.at(io.update_row_i));
        let counted = m.wire("counted", valid.q.at(io.update_row_i));
        let exists = m.wire("exists", io.update_row_i.lt(self.rows));
        let update = m.wire("update", io.update_valid_i & counted & exists);
        let Grown { over, updated } = grown(m, old, io.update_amount_i);

        let saturated = m.reg_init("saturated_q", bit(), 0);
        let ages = m.wire("ages", saturated.q | (update & over));
        saturated.next(ages & !io.step_i);
        let halve = m.wire("halve", ages & io.step_i);
        m.connect(io.saturated_o, saturated.q);

        let part = self.rows / self.heads;
        let row = |m: &mut Module, i: Index, halve: Signal| {
            let place = i.value(row_width);
            let is_set = m.wire("is_set", io.set_valid_i & io.set_row_i.eq(place));
            let is_cleared = m.wire("is_cleared", io.clear_valid_i & io.clear_row_i.eq(place));
            let is_updated = m.wire("is_updated", update & io.update_row_i.eq(place));
            let (score_here, valid_here) = (score.q.at(i), valid.q.at(i));
            valid.next(m, i, is_set | (valid_here & !is_cleared));
            let sum = m.wire("sum_here", mux(is_updated, updated, score_here));
            score.next(m, i, mux(is_set, score_ty.lit(0), mux(halve, half(sum), sum)));
            m.connect(io.valid_o.at(i), valid_here);
            m.connect(io.high_o.at(i), valid_here & score_here.ge(io.threshold_i));
        };
        match io.step_head_i {
            None => m.for_each("rows", part, |m, i| row(m, i, halve)),
            Some(head) => m.for_each("heads", self.heads, |m, h| {
                let halves = m.wire("halve_here", halve & head.eq(h.value(head.width())));
                m.for_each("rows", part, |m, i| row(m, h * part + i, halves));
            }),
        }
        m.connect(io.read_score_o, score.q.at(io.read_row_i));

        let promoted = m.reg_init("promoted_q", bit(), 0);
        let promoted_row = m.reg("promoted_row_q", self.row());
        promoted.next(update & old.lt(io.threshold_i) & updated.ge(io.threshold_i));
        promoted_row.next(io.update_row_i);
        m.connect(io.promoted_valid_o, promoted.q);
        m.connect(io.promoted_row_o, promoted_row.q);

        if self.rows <= LARGEST_MODEL {
            self.properties(m, io);
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl CatalogBlock for ScoreRegisterFile {
    fn configurations() -> Vec<Self> {
        let set = |rows, score_width, amount_width| Self { rows, score_width, amount_width, heads: 1 };
        vec![set(2, 1, 2), set(7, 4, 9), set(33, 24, 20), Self { heads: 3, ..set(12, 5, 6) }]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = Self { rows: 3, score_width: 3, amount_width: 4, heads: 1 };
        vec![Proof { block, depth: 6, cover_depth: 6, induction: true }]
    }
}
