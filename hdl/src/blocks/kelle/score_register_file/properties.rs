//! Proofs of the score file (`ifdef FORMAL`): its ports show what the contract says, in every cycle.
//!
//! The section keeps each row on its own, with a sum of its own, made of the inputs alone.

use super::{ScoreRegisterFile, ScoreRegisterFilePorts};
use crate::lang::{Module, bit, mux, select, sint, uint};

impl ScoreRegisterFile {
    pub(super) fn properties(&self, m: &mut Module, io: &ScoreRegisterFilePorts) {
        m.formal(|m| {
            let (rows, score_ty, row_ty) = (self.rows, uint(self.score_width), self.row());
            let total_ty = sint(self.score_width.max(self.amount_width) + 2);
            let score = m.regs("model_score", score_ty, rows);
            let valid = m.regs_init("model_valid", bit(), rows, 0);
            let saturated = m.reg_init("model_saturated_q", bit(), 0);
            let top = score_ty.range().1;
            let over = m.nets("model_over", bit(), rows);
            let rises = m.nets("model_rises", bit(), rows);
            let any_over = m.wire("model_any_over", over.packed().any());
            let ages = m.wire("model_ages", io.step_i & (saturated.q | any_over));
            // Row i is one of head h.
            let mine = (self.heads > 1).then(|| {
                let mine = m.grid("model_mine", bit(), self.heads, rows);
                m.for_each("model_head", self.heads, |m, h| {
                    m.for_each("model_row", rows, |m, i| {
                        let (first, here) = (h.value(row_ty.width) * rows, i.value(row_ty.width) * self.heads);
                        m.connect(mine.at((h, i)), here.ge(first) & here.lt(first + rows));
                    });
                });
                mine
            });
            m.for_each("model", rows, |m, i| {
                let (old, here) = (score.q.at(i), i.value(row_ty.width));
                let held = valid.q.at(i);
                let set = io.set_valid_i & io.set_row_i.eq(here);
                let clear = io.clear_valid_i & io.clear_row_i.eq(here);
                let update = m.wire("model_update", io.update_valid_i & io.update_row_i.eq(here) & held);
                let wide = old.extend(total_ty.width).as_sint();
                let total = m.wire("model_total", wide.wrapping_add(io.update_amount_i.extend(total_ty.width)));
                let exceeds = m.wire("model_exceeds", total.gt(top.clone()));
                let inside = total.as_uint().truncate(self.score_width);
                let sum = select(&[(total.lt(0), score_ty.lit(0)), (exceeds, score_ty.lit(top.clone()))], inside);
                let sum = m.wire("model_sum", mux(update, sum, old));
                m.connect(over.at(i), update & exceeds);
                let low = old.lt(io.threshold_i);
                m.connect(rises.at(i), update & low & sum.ge(io.threshold_i));
                let half = if self.score_width == 1 { score_ty.lit(0) } else { sum.shr(1).extend(self.score_width) };
                let ages = match io.step_head_i.zip(mine) {
                    None => ages,
                    Some((head, mine)) => ages & mine.at((head, i)),
                };
                score.next(m, i, select(&[(set, score_ty.lit(0)), (ages, half)], sum));
                valid.next(m, i, select(&[(set, bit().lit(1)), (clear, bit().lit(0))], held));
                m.assert_always("valid_rows", io.valid_o.at(i).eq(held));
                m.assert_always("high_rows", io.high_o.at(i).eq(held & !low));
                let read = held & io.read_row_i.eq(here);
                m.assert_always("score_is_read", !read | io.read_score_o.eq(old));
            });
            saturated.next((saturated.q | any_over) & !io.step_i);
            m.assert_always("saturation_is_told", io.saturated_o.eq(saturated.q));
            let promoted = m.reg_init("model_promoted_q", bit(), 0);
            let promoted_row = m.reg("model_promoted_row_q", row_ty);
            promoted.next(rises.packed().any());
            promoted_row.next(io.update_row_i);
            m.assert_always("promotion_is_told", io.promoted_valid_o.eq(promoted.q));
            let same_row = io.promoted_row_o.eq(promoted_row.q);
            m.assert_always("promoted_row", !io.promoted_valid_o | same_row);

            // Ageing keeps the order of scores. The rows are any two.
            let kept = m.reg_init("model_kept_q", bit(), 0);
            kept.next(score.q.at(0).le(score.q.at(1)) & !io.update_valid_i & !io.set_valid_i);
            m.assert_always("ageing_keeps_order", !kept.q | score.q.at(0).le(score.q.at(1)));

            m.cover("saturates", io.saturated_o);
            m.cover("scores_age", ages & score.q.at(0).any());
            m.cover("promotes", io.promoted_valid_o);
            m.cover("set_against_clear", io.set_valid_i & io.clear_valid_i & io.set_row_i.eq(io.clear_row_i));
        });
    }
}
