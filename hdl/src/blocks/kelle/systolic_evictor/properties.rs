//! Proofs of the evictor (`ifdef FORMAL`): the victim is the least of all tokens that passed, with ties as the contract
//! says.
//!
//! Tokens are numbers, with protection above the score: a token that may go is less than any that may not. The section
//! keeps all tokens of a victim side by side, made of the inputs alone; it does not follow the chain.

use super::{SystolicEvictor, SystolicEvictorPorts};
use crate::lang::{Index, Module, Signal, bit, bits_for, cat, mux, select, uint};

impl SystolicEvictor {
    pub(super) fn properties(&self, m: &mut Module, io: &SystolicEvictorPorts) {
        m.formal(|m| {
            let (rows, score_ty) = (self.rows, uint(self.score_width));
            let token_ty = uint(self.score_width + 1);
            let zero = bit().lit(0);

            // S of each row, and its value after a pass.
            let wave = m.nets("model_wave", bit(), rows + 1);
            m.connect(wave.at(0), io.pass_i);
            let token = m.regs("model_token", token_ty, rows);
            let known = m.regs_init("model_known", bit(), rows, 0);
            let end = m.nets("model_end", token_ty, rows);
            let longer = m.nets("model_longer", uint((rows + 1) * token_ty.width), rows);
            m.unused(longer.packed());
            m.for_each("model", rows, |m, i| {
                let here = token.q.at(i);
                let top = score_ty.range().1;
                let sum = m.wire(
                    "model_sum",
                    here.slice(0..self.score_width).extend(self.score_width + 1).as_sint() + io.amount_i.at(i),
                );
                let inside = sum.as_uint().truncate(self.score_width);
                let score = select(&[(sum.lt(0), score_ty.lit(0)), (sum.gt(top.clone()), score_ty.lit(top))], inside);
                let after = m.wire("model_after", cat(&[here.msb(), score]));
                let loaded = cat(&[io.load_protected_i.at(i), io.load_score_i.at(i)]);
                token.next(m, i, select(&[(io.load_i.at(i), loaded), (wave.at(i), after)], here));
                known.next(m, i, known.q.at(i) | io.load_i.at(i));
                m.assume("row_is_loaded", !wave.at(i) | known.q.at(i));
                let holds = io.score_o.at(i).eq(here.slice(0..self.score_width));
                m.assert_always("score_holds", !known.q.at(i) | holds);
                let wave_q = m.reg_init("model_wave_q", bit(), 0);
                wave_q.next(wave.at(i) & !io.clear_i);
                m.connect(wave.at(i + 1), wave_q.q);
                // The token waits until the pass has reached the last row.
                let line = m.reg("model_line_q", uint(rows * token_ty.width));
                m.connect(longer.at(i), cat(&[line.q, after]));
                line.next(longer.at(i).slice(0..rows * token_ty.width));
                m.connect(end.at(i), line.q.slice_at((Index::from(rows - 1) - i) * token_ty.width, token_ty.width));
            });

            // Passes of a victim.
            let passes = io.passes_i.unwrap_or(zero);
            let places = 1 << if self.passes > 1 { passes.width() } else { 0 };
            let number = m.reg_init("model_number_q", passes.ty(), 0);
            let arrives = m.wire("model_arrives", wave.at(rows));
            let last = m.wire("model_last", number.q.ge(passes));
            let moves = m.wire("model_moves", arrives | io.clear_i);
            let start = passes.ty().lit(0);
            number.next_when(moves, mux(last | io.clear_i, start, number.q.wrapping_add(1)));
            m.assert_always("victim_in_time", io.victim_valid_o.eq(arrives & last));

            // All tokens of the victim: the tokens of the pass that ends, and the tokens of the passes before.
            let kept = m.regs("model_kept", token_ty, places * rows);
            let all = m.nets("model_all", token_ty, places * rows);
            let counts = m.nets("model_counts", bit(), places * rows);
            m.for_each("model_passes", places, |m, n| {
                m.for_each("model_rows", rows, |m, i| {
                    let (here, place) = (n * rows + i, n.value(passes.width()));
                    let now = m.wire("model_now", number.q.eq(place));
                    kept.next_when(m, here, arrives & now, end.at(i));
                    m.connect(all.at(here), mux(now, end.at(i), kept.q.at(here)));
                    // Below the number of passes so far: "up to the last one" would be constant for the first place.
                    let wide = passes.width() + 1;
                    let so_far = place.extend(wide).lt(number.q.extend(wide).wrapping_add(1));
                    m.connect(counts.at(here), if places > 1 { so_far } else { bit().lit(1) });
                });
            });
            let index_ty = uint(bits_for(u64::from(places * rows) * 2));
            let index =
                |pass: Signal, row: Signal| (pass * rows + row).extend(index_ty.width + 8).truncate(index_ty.width);
            let victim = index(io.victim_pass_o.unwrap_or(zero), io.victim_row_o);
            let victim = m.wire("model_victim", victim);
            let chosen = m.wire("model_chosen", all.at(victim));
            let known = m.wire("model_known_victim", io.victim_valid_o & io.victim_found_o);
            m.assert_always("victim_exists", !known | (victim.lt(places * rows) & counts.at(victim)));
            m.assert_always("victim_may_go", !known | !chosen.msb());
            m.for_each("model_others", places * rows, |m, i| {
                let other = m.wire("model_other", all.at(i));
                let counted = m.wire("model_counted", io.victim_valid_o & counts.at(i));
                let later = victim.le(i.value(index_ty.width));
                let least = chosen.lt(other) | (chosen.eq(other) & later);
                m.assert_always("victim_is_least", !(counted & io.victim_found_o) | least);
                m.assert_always("nobody_may_go", !(counted & !io.victim_found_o) | other.msb());
            });
            m.cover("victim_in_the_last_row", io.victim_valid_o & io.victim_found_o & io.victim_row_o.eq(rows - 1));
            m.cover("no_victim", io.victim_valid_o & !io.victim_found_o);
            m.cover("clear_before_a_victim", io.clear_i & wave.at(rows - 1));
            if let Some(pass) = io.victim_pass_o {
                m.cover("victim_of_an_earlier_pass", io.victim_valid_o & io.victim_found_o & pass.lt(number.q));
            }
        });
    }
}
