//! Score memory: the importance of each row of a KV cache of thousands of rows, in memories, and the class that follows
//! from it.
//!
//! It is `score_register_file` for caches whose scores would take as many flip-flops as the array. A memory cannot
//! halve all its words at once, so scores age when they are read. Each head has an epoch of one bit, which changes when
//! its scores are halved, and a word keeps the epoch of its last write. A word of the other epoch counts half.
//!
//! # Why one bit is enough
//! It tells one ageing from none, not two. So a score has to be written between two ageings of its head. The step of a
//! head adds to the score of each of its tokens before it ends, and the memory writes at every addition, even of 0. A
//! new token has score 0, and half of 0 is 0; a token that comes with a score is written in the epoch of its head. So
//! no word is ever two ageings old. `importance_unit` has a proof of the
//! former (`each_old_token_grows`), and the proof of this block assumes no more than that.
//!
//! # How it works
//! A score is read in one cycle and written in the next, so a row has a new score one cycle after the request. Each
//! reader has a copy of the words, with one read and one write port. A word that is written while it is read comes from
//! a register beside the copy, so each reader sees all rows as they are in the very cycle.

mod properties;

use super::score_register_file::{Grown, grown, half};
use crate::blocks::common::{Ram, RamImplementation, before};
use crate::lang::{
    About, Array, Block, CatalogBlock, In, InArray, InOption, Module, Out, OutArray, Proof, Signal, Timing, Type, bit,
    cat, index_width, mux, parameters, ports, select, sint, uint,
};

/// Most rows with which the formal section is there: it holds all of them.
const LARGEST_MODEL: u32 = 8;

parameters! {
    /// Elaboration parameters.
    pub struct ScoreMemory {
        /// Rows of the KV cache.
        rows: u32 = 128, in 2..=131_072, tag "m";
        /// Width of a score in bits, unsigned.
        score_width: u32 = 8, in 1..=32, tag "s";
        /// Width of the amount added to a score in bits, signed.
        amount_width: u32 = 9, in 2..=33, tag "a";
        /// Heads, one after the other, with an equal part of the rows each.
        heads: u32 = 1, in 1..=4096, note "a divisor of rows", tag "h";
        /// Rows that are looked at in a cycle, beside the one whose score is read.
        lookups: u32 = 2, in 1..=4, tag "l";
        /// Where the bits are, see `ram`.
        implementation: RamImplementation = RamImplementation::Inferred;
        /// Tokens may lose their row, but not their score.
        transient: bool = false, tag "transient", named "when set";
        /// Tokens may come with a score.
        restores: bool = false, tag "restores", named "when set";
    }
    rules = |p, rules| {
        let divides = p.rows.is_multiple_of(p.heads);
        rules.demand(divides, "heads", p.heads, format!("a divisor of rows = {}", p.rows));
    };
}

ports! {
    /// Ports of [`ScoreMemory`].
    pub struct ScoreMemoryPorts(p: &ScoreMemory) {
        /// For `rows` cycles after a reset: rows are emptied, and none holds a token. Other requests are lost.
        busy_o: Out = bit(),
        /// A new token comes to row `set_row_i`: valid, score 0 or `set_score_i` from the next cycle on.
        set_valid_i: In = bit(),
        /// Row of the new token; nothing happens beyond the last row. This holds for the other rows below too.
        set_row_i: In = p.row(),
        /// Its score. If that is not 0, `read_row_i` named a row of the same head in the cycle before.
        set_score_i: InOption = uint(p.score_width).when(p.restores),
        /// The token in row `clear_row_i` is gone from the next cycle on. Lost in a cycle with `set_valid_i`.
        clear_valid_i: In = bit(),
        /// Row of the token that goes.
        clear_row_i: In = p.row(),
        /// Row whose score is read; in each cycle.
        read_row_i: In = p.row(),
        /// Score, in this cycle, of the row that `read_row_i` named in the cycle before; of no meaning when the row is
        /// not valid.
        score_o: Out = uint(p.score_width),
        /// Add to that row's score; nothing happens if it is not valid. Lost in a cycle with `set_valid_i` or
        /// `clear_valid_i`.
        update_valid_i: In = bit(),
        /// The amount to add.
        update_amount_i: In = sint(p.amount_width),
        /// That row needs no refresh any more, until a new token comes to it; its token keeps the score, which grows as
        /// others do. Nothing happens if the row is not valid. Lost in a cycle with `set_valid_i` or `clear_valid_i`;
        /// an update in its cycle is lost.
        drop_valid_i: InOption = bit().when(p.transient),
        /// The step ends: scores age if one saturated, in this cycle too. Between two ageings of a head each of its
        /// tokens is updated or new; any other token is halved once or not at all.
        step_i: In = bit(),
        /// Head whose step ends.
        step_head_i: InOption = uint(index_width(u64::from(p.heads))).when(p.heads > 1),
        /// Lowest high score; a new one holds at once, for all rows, and is no promotion.
        threshold_i: In = uint(p.score_width),
        /// Rows to look at.
        look_row_i: InArray = p.row().array(p.lookups),
        /// The row that `look_row_i` named in the cycle before holds a token, in this cycle, that was not dropped.
        valid_o: OutArray = bit().array(p.lookups),
        /// Its score is high, in this cycle; low without a token, or with one that was dropped.
        high_o: OutArray = bit().array(p.lookups),
        /// The update in the cycle before made the low score of row `promoted_row_o` high. Up for one cycle. A
        /// promotion is told even if the score was halved in that cycle, but not for a token that was dropped.
        promoted_valid_o: Out = bit(),
        /// The row, with `promoted_valid_o`.
        promoted_row_o: Out = p.row(),
    }
}

impl ScoreMemory {
    /// Type of a row's number.
    #[must_use]
    pub fn row(&self) -> Type {
        uint(index_width(u64::from(self.rows)))
    }

    /// Bits of a word: dropped, where tokens may be; valid, epoch, score.
    fn word_width(&self) -> u32 {
        self.score_width + 2 + u32::from(self.transient)
    }

    /// A copy of the words.
    fn words(&self) -> Ram {
        Ram::words(self.rows, self.word_width(), self.implementation)
    }
}

/// The write of a cycle, to all copies.
struct Write {
    now: Signal,
    row: Signal,
    word: Signal,
    /// The word of the cycle before.
    before: Signal,
}

/// A row that was requested in the cycle before, as it is in this one.
struct Seen {
    valid: Signal,
    /// Its token was dropped.
    dropped: Option<Signal>,
    epoch: Signal,
    score: Signal,
}

impl Seen {
    /// It holds a token that has to be refreshed.
    fn stays(&self) -> Signal {
        self.dropped.map_or(self.valid, |dropped| self.valid & !dropped)
    }
}

impl Block for ScoreMemory {
    type Ports = ScoreMemoryPorts;
    const ABOUT: About = About {
        name: "score_memory",
        summary: "score_register_file in memories: scores age when they are read",
        contract: "As score_register_file: an update makes a valid row's score clamp(score + amount, 0,\n\
            2^score_width - 1). If a sum exceeded the top since the step before ended, step_i halves all scores (of\n\
            its head), rounded down. high = valid and score >= threshold_i. One write a cycle: set before clear\n\
            before update, the others are lost. An update changes the row read in the cycle before. Between two\n\
            ageings of a head each of its valid rows is set or updated. Reset, at any time: all tokens are\n\
            forgotten, and rows are emptied for `rows` cycles. Each operation takes effect at the edge, and none is\n\
            left unfinished: there is nothing to break off. Operations on rows that do not exist change nothing.",
        reference: "Kelle, section 5.1 and figure 10",
    };

    fn build(&self, m: &mut Module, io: &ScoreMemoryPorts) {
        let (score_ty, row_ty) = (uint(self.score_width), self.row());
        m.comment("After a reset rows are emptied, one a cycle.");
        let empties = m.reg_init("empties_q", bit(), 1);
        let empty = m.reg_init("empty_row_q", row_ty, 0);
        empties.next(empties.q & empty.q.ne(self.rows - 1));
        empty.next_when(empties.q, empty.q.wrapping_add(1));
        m.connect(io.busy_o, empties.q);

        m.comment("A score is read, and written in the next cycle.");
        let epochs = m.regs_init("epoch", bit(), self.heads, 0);
        let word_ty = uint(self.word_width());
        let (now, row, word) = (m.net("write", bit()), m.net("write_row", row_ty), m.net("write_word", word_ty));
        let write = Write { now, row, word, before: before(m, "written_q", word) };
        let read_row = before(m, "read_row_q", io.read_row_i);
        let read = self.see(m, "read", (io.read_row_i, Some(read_row)), &write, epochs.q);
        m.connect(io.score_o, read.score);
        let other = m.wire("other_write", empties.q | io.set_valid_i | io.clear_valid_i);
        let exists = m.wire("exists", read_row.lt(self.rows));
        let drop = io.drop_valid_i.map(|drop| m.wire("drop", drop & read.valid & exists & !other));
        let asked = io.drop_valid_i.map_or(io.update_valid_i, |drop| io.update_valid_i & !drop);
        let update = m.wire("update", asked & read.valid & exists & !other);
        let Grown { over, updated } = grown(m, read.score, io.update_amount_i);
        m.connect(now, drop.map_or(other | update, |drop| other | update | drop));
        let places = [(empties.q, empty.q), (io.set_valid_i, io.set_row_i), (io.clear_valid_i, io.clear_row_i)];
        m.connect(row, select(&places, read_row));
        let holds = m.wire("holds", !empties.q & (io.set_valid_i | !io.clear_valid_i));
        // A score of 0 is 0 in any epoch. Another one that comes is of the epoch of the row that was read.
        let none = score_ty.lit(0);
        let new = io.set_score_i.map_or(none, |score| mux(io.set_valid_i & !empties.q, score, none));
        let mut score = mux(update, updated, new);
        let mut parts = Vec::new();
        if let (Some(drop), Some(dropped)) = (drop, read.dropped) {
            score = mux(drop, read.score, score);
            parts.push(drop | (update & dropped));
        }
        parts.extend([holds, read.epoch, score]);
        m.connect(word, cat(&parts));

        m.comment("If one saturated, the scores of the head age: its epoch changes.");
        let saturated = m.reg_init("saturated_q", bit(), 0);
        let ages = m.wire("ages", saturated.q | (update & over));
        saturated.next(ages & !io.step_i);
        let halve = m.wire("halve", ages & io.step_i);
        m.for_each("heads", self.heads, |m, h| {
            let here = io.step_head_i.map_or(halve, |head| halve & head.eq(h.value(head.width())));
            epochs.next(m, h, epochs.q.at(h) ^ here);
        });

        m.comment("Classes, for the refresh controllers.");
        m.for_each("looks", self.lookups, |m, k| {
            let seen = self.see(m, "look", (io.look_row_i.at(k), None), &write, epochs.q);
            let valid = m.wire("look_valid", seen.stays() & !empties.q);
            m.connect(io.valid_o.at(k), valid);
            m.connect(io.high_o.at(k), valid & seen.score.ge(io.threshold_i));
        });
        let promoted = m.reg_init("promoted_q", bit(), 0);
        let rises = update & read.score.lt(io.threshold_i) & updated.ge(io.threshold_i);
        promoted.next(read.dropped.map_or(rises, |dropped| rises & !dropped));
        m.connect(io.promoted_valid_o, promoted.q);
        let promoted_row = before(m, "promoted_row_q", read_row);
        m.connect(io.promoted_row_o, promoted_row);

        if self.rows <= LARGEST_MODEL {
            self.properties(m, io);
        }
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1).phase("empty", self.rows, "from a reset until tokens are taken")
    }
}

impl ScoreMemory {
    /// A copy of the words, and its view of the requested row. The row's number may be there already in the cycle
    /// after.
    fn see(
        &self,
        m: &mut Module,
        name: &str,
        (asked, row): (Signal, Option<Signal>),
        write: &Write,
        epochs: Array,
    ) -> Seen {
        let words = m.instance(&format!("u_{name}"), self.words());
        m.connect_pairs([
            (words.read_i, bit().lit(1)),
            (words.read_address_i, asked),
            (words.write_i, write.now),
            (words.write_address_i, write.row),
            (words.data_i, write.word),
        ]);
        let meets = before(m, &format!("{name}_meets_q"), write.now & write.row.eq(asked));
        let word = m.wire(&format!("{name}_word"), mux(meets, write.before, words.data_o));
        let epoch = match (self.heads, row) {
            (1, _) => epochs.at(0),
            (_, Some(row)) => self.epoch(m, name, row, epochs),
            (_, None) => {
                let row = before(m, &format!("{name}_row_q"), asked);
                self.epoch(m, name, row, epochs)
            }
        };
        let score = word.slice(0..self.score_width);
        let behind = m.wire(&format!("{name}_behind"), word.bit(self.score_width) ^ epoch);
        let score = m.wire(&format!("{name}_score"), mux(behind, half(score), score));
        let dropped = self.transient.then(|| word.bit(self.score_width + 2));
        Seen { valid: word.bit(self.score_width + 1), dropped, epoch, score }
    }

    /// Epoch of the head of a row: the first head's, changed at the first row of each head whose epoch differs from the
    /// one before.
    fn epoch(&self, m: &mut Module, name: &str, row: Signal, epochs: Array) -> Signal {
        let part = self.rows / self.heads;
        let changes = m.nets(&format!("{name}_changes"), bit(), self.heads - 1);
        m.for_each(&format!("{name}_heads"), self.heads - 1, |m, h| {
            let first = ((h + 1) * part).value(row.width());
            m.connect(changes.at(h), row.ge(first) & (epochs.at(h) ^ epochs.at(h + 1)));
        });
        m.wire(&format!("{name}_epoch"), epochs.at(0) ^ changes.packed().parity())
    }
}

impl CatalogBlock for ScoreMemory {
    fn configurations() -> Vec<Self> {
        let set = |rows, [score_width, amount_width]: [u32; 2], heads, lookups, implementation| Self {
            rows,
            score_width,
            amount_width,
            heads,
            lookups,
            implementation,
            transient: heads == 3,
            restores: heads == 3 || lookups == 1,
        };
        use RamImplementation::{BlackBox, Inferred};
        vec![
            set(3, [3, 4], 1, 1, Inferred),
            set(2, [1, 2], 2, 3, Inferred),
            set(15, [5, 6], 3, 2, Inferred),
            set(33, [24, 20], 1, 2, BlackBox),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let set = |rows, score_width, heads| Self {
            rows,
            score_width,
            amount_width: score_width + 1,
            heads,
            lookups: 1,
            implementation: RamImplementation::Inferred,
            transient: heads == 2,
            restores: heads == 2,
        };
        let proof = |block| Proof { block, depth: 10, cover_depth: 16, induction: true };
        vec![proof(set(3, 2, 1)), proof(set(4, 2, 2))]
    }
}
