//! Systolic evictor: finds the token to evict while the attention scores come out of the array.
//!
//! A column beside the array, one cell a row. The S register of a row is loaded with the importance of the row's token.
//! When the row's attention score arrives, the cell adds it. The chain M takes the smallest importance so far, and its
//! token, from row to row, in step with the skew of the array: row i works i cycles after row 0. One cycle after the
//! last row, when its score is in its S register, the victim is known.
//! score is in its S register, the victim is known.
//!
//! More tokens than rows take several passes; a register at the end of the chain keeps the best of the passes before. A
//! cell may be loaded for the next pass while it works on this one, so passes can follow each other in consecutive
//! cycles.
//!
//! A tie goes to the earlier row, and to the earlier pass: rows are loaded in the order of age, the oldest token first
//! (`eviction_controller` walks its tokens in that order). Protected rows never win.

mod properties;

use crate::lang::{
    About, Block, CatalogBlock, In, InArray, InOption, Module, Out, OutArray, OutOption, Proof, Signal, Timing, bit,
    bits_for, index_width, mux, parameters, ports, select, sint, uint,
};

/// Most tokens of a victim with which the formal section is there: it holds all of them.
const LARGEST_MODEL: u32 = 8;

parameters! {
    /// Elaboration parameters.
    pub struct SystolicEvictor {
        /// Rows of the array.
        rows: u32 = 32, in 1..=1024, tag "r";
        /// Width of an importance score in bits, unsigned.
        score_width: u32 = 4, in 1..=48, tag "s";
        /// Width of an attention score in bits, signed.
        amount_width: u32 = 5, in 2..=49, tag "a";
        /// Most passes for one victim.
        passes: u32 = 4, in 1..=256, tag "p";
    }
}

ports! {
    /// Ports of [`SystolicEvictor`].
    pub struct SystolicEvictorPorts(p: &SystolicEvictor) {
        /// Per row: load S, at any time; a pass that works on the row in the same cycle still has the S from before.
        load_i: InArray = bit().array(p.rows),
        /// Per row: the importance of its token.
        load_score_i: InArray = uint(p.score_width).array(p.rows),
        /// Per row: its token must not be evicted, or there is none.
        load_protected_i: InArray = bit().array(p.rows),
        /// A pass starts: the attention score of row i is at `amount_i` i cycles later.
        pass_i: In = bit(),
        /// Forgets the passes under way, earlier passes for the same victim, and a pass that starts in this cycle: they
        /// give no victim, and the next pass is the first of a victim. Rows that they have not reached keep S.
        clear_i: In = bit(),
        /// Passes of a victim, less one. Sampled when a pass ends, `rows` cycles after its `pass_i`. The pass is the
        /// last of its victim if at least this many passes of the victim ended before it. Each pass may have another
        /// value.
        passes_i: InOption = uint(bits_for(u64::from(p.passes - 1))).when(p.passes > 1),
        /// Per row: attention score, as it leaves the array; looked at in the one cycle in which a pass is at the row.
        amount_i: InArray = sint(p.amount_width).array(p.rows),
        /// Per row: S; the new importance in the cycle after the attention score. Holds until the next load or pass;
        /// unknown until the first load. A reset leaves it.
        score_o: OutArray = uint(p.score_width).array(p.rows),
        /// The victim is known, for this cycle: `rows` cycles after the `pass_i` of its last pass.
        victim_valid_o: Out = bit(),
        /// With `victim_valid_o`: there is one, not everything is protected.
        victim_found_o: Out = bit(),
        /// Row of the victim, when one is found.
        victim_row_o: Out = uint(index_width(u64::from(p.rows))),
        /// Pass in which it was found, the first being 0.
        victim_pass_o: OutOption = uint(bits_for(u64::from(p.passes - 1))).when(p.passes > 1),
    }
}

/// The fields that the chain carries.
struct Best {
    found: Signal,
    score: Signal,
    row: Signal,
}

impl Block for SystolicEvictor {
    type Ports = SystolicEvictorPorts;
    const ABOUT: About = About {
        name: "systolic_evictor",
        summary: "least important token, found in step with the array that computes the scores",
        contract: "A pass at cycle t: row i takes S = clamp(S + amount, 0, 2^score_width - 1) at the edge that ends\n\
            cycle t + i. The last pass of a victim at t: in cycle t + rows, victim_* tell the row and pass with the\n\
            smallest S of all passes that is not protected. A tie goes to the earlier pass, then the lower row. A\n\
            load in the cycle in which a row works is for its next pass; without a load, the next pass adds to the\n\
            S of the last one. A pass is the last one of its victim if at least passes_i passes of this victim\n\
            ended before it. clear_i and reset forget all passes, at any time. S stays, but the forgotten passes\n\
            may have changed it in the first rows.",
        reference: "Kelle, section 5.3, figure 11 (c) and (d)",
    };

    fn build(&self, m: &mut Module, io: &SystolicEvictorPorts) {
        let (rows, score_ty) = (self.rows, uint(self.score_width));
        let row_ty = uint(index_width(u64::from(rows)));
        let wave = m.nets("wave", bit(), rows + 1);
        let found = m.nets("found", bit(), rows + 1);
        let least = m.nets("least", score_ty, rows + 1);
        let whose = m.nets("whose", row_ty, rows + 1);
        m.connect(wave.at(0), io.pass_i);
        m.connect(found.at(0), 0);
        m.connect(least.at(0), 0);
        m.connect(whose.at(0), 0);
        m.for_each("cells", rows, |m, i| {
            let s = m.reg("s_q", score_ty);
            let protected = m.reg("protected_q", bit());
            let sum = m.wire("sum", s.q.extend(self.score_width + 1).as_sint() + io.amount_i.at(i));
            let top = score_ty.range().1;
            let clipped = select(
                &[(sum.lt(0), score_ty.lit(0)), (sum.gt(top.clone()), score_ty.lit(top))],
                sum.as_uint().truncate(self.score_width),
            );
            let score = m.wire("new_score", clipped);
            s.next_when(
                m.wire("s_changes", io.load_i.at(i) | wave.at(i)),
                mux(io.load_i.at(i), io.load_score_i.at(i), score),
            );
            protected.next_when(io.load_i.at(i), io.load_protected_i.at(i));
            m.connect(io.score_o.at(i), s.q);
            let wins = m.wire("wins", !protected.q & (!found.at(i) | score.lt(least.at(i))));
            let wave_q = m.reg_init("wave_q", bit(), 0);
            let found_q = m.reg("found_q", bit());
            let least_q = m.reg("least_q", score_ty);
            let whose_q = m.reg("whose_q", row_ty);
            wave_q.next(wave.at(i) & !io.clear_i);
            found_q.next(found.at(i) | !protected.q);
            least_q.next(mux(wins, score, least.at(i)));
            whose_q.next(mux(wins, i.value(row_ty.width), whose.at(i)));
            m.connect(wave.at(i + 1), wave_q.q);
            m.connect(found.at(i + 1), found_q.q);
            m.connect(least.at(i + 1), least_q.q);
            m.connect(whose.at(i + 1), whose_q.q);
        });
        let end = Best { found: found.at(rows), score: least.at(rows), row: whose.at(rows) };
        let arrives = wave.at(rows);
        match (io.passes_i, io.victim_pass_o) {
            (Some(passes), Some(victim_pass)) => {
                m.comment("The best of the passes before; an equal one that comes later does not replace it.");
                let number = m.reg_init("number_q", passes.ty(), 0);
                let kept_found = m.reg_init("kept_found_q", bit(), 0);
                let kept_score = m.reg("kept_score_q", score_ty);
                let kept_row = m.reg("kept_row_q", row_ty);
                let kept_pass = m.reg("kept_pass_q", passes.ty());
                let replaces = m.wire("replaces", end.found & (!kept_found.q | end.score.lt(kept_score.q)));
                let best = Best {
                    found: m.wire("best_found", end.found | kept_found.q),
                    score: m.wire("best_score", mux(replaces, end.score, kept_score.q)),
                    row: m.wire("best_row", mux(replaces, end.row, kept_row.q)),
                };
                let pass = m.wire("best_pass", mux(replaces, number.q, kept_pass.q));
                let last = m.wire("last", number.q.ge(passes));
                let ends = m.wire("ends", last | io.clear_i);
                let moves = m.wire("moves", arrives | io.clear_i);
                number.next_when(moves, mux(ends, passes.ty().lit(0), number.q.wrapping_add(1)));
                kept_found.next_when(moves, best.found & !ends);
                kept_score.next_when(arrives, best.score);
                kept_row.next_when(arrives, best.row);
                kept_pass.next_when(arrives, pass);
                m.connect(io.victim_valid_o, arrives & last);
                m.connect(io.victim_found_o, best.found);
                m.connect(io.victim_row_o, best.row);
                m.connect(victim_pass, pass);
            }
            _ => {
                m.unused(end.score);
                m.connect(io.victim_valid_o, arrives);
                m.connect(io.victim_found_o, end.found);
                m.connect(io.victim_row_o, end.row);
            }
        }
        if self.rows * self.passes.next_power_of_two() <= LARGEST_MODEL {
            self.properties(m, io);
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().initiation(1).phase("victim", self.rows, "from pass_i of the last pass to its victim").phase(
            "beyond_skew",
            0,
            "from the last importance in its register to the victim",
        )
    }
}

impl CatalogBlock for SystolicEvictor {
    // One row is the victim of each pass.
    const SAMPLE: &'static [(&'static str, u32)] =
        &[("rows", 2), ("score_width", 2), ("amount_width", 3), ("passes", 2)];

    fn configurations() -> Vec<Self> {
        let set = |rows, score_width, amount_width, passes| Self { rows, score_width, amount_width, passes };
        vec![set(1, 1, 2, 1), set(5, 3, 4, 3), set(8, 24, 20, 1)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let proof = |rows, passes| Proof {
            block: Self { rows, score_width: 2, amount_width: 2, passes },
            depth: 8,
            cover_depth: 8,
            induction: true,
        };
        vec![proof(3, 1), proof(2, 2)]
    }
}
