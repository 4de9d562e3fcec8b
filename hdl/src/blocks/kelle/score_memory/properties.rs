//! Proofs of the score memory (`ifdef FORMAL`): its ports show what the contract says, in every cycle.
//!
//! The section keeps scores in registers that are all halved at once. It assumes that no row is missed: between two
//! ageings of its head a row is set, cleared or updated.

use super::{ScoreMemory, ScoreMemoryPorts};
use crate::blocks::common::before;
use crate::blocks::kelle::score_register_file::half;
use crate::lang::{Module, Signal, bit, bits_for, mux, select, sint, uint};

impl ScoreMemory {
    pub(super) fn properties(&self, m: &mut Module, io: &ScoreMemoryPorts) {
        m.formal(|m| {
            let (rows, ty, row_ty) = (self.rows, uint(self.score_width), self.row());
            let part = rows / self.heads;
            let scores = m.regs("model_score", ty, rows);
            let holds = m.regs_init("model_holds", bit(), rows, 0);
            let old = m.regs_init("model_old", bit(), rows, 0);
            let marked = m.reg_init("model_marked_q", bit(), 0);
            let cycle = m.reg_init("model_cycle_q", uint(bits_for(rows.into())), 0);
            let busy = m.wire("model_busy", cycle.q.lt(rows));
            cycle.next_when(busy, cycle.q.wrapping_add(1));
            m.assert_always("busy_for_its_rows", io.busy_o.eq(busy));

            m.comment("One write: a token comes, or goes, or something is added to the score that was read.");
            let read = before(m, "model_read_q", io.read_row_i);
            let comes = m.wire("model_comes", io.set_valid_i & !busy);
            let new = io.set_score_i.map_or(ty.lit(0), |score| m.wire("model_new", score));
            if io.set_score_i.is_some() && self.heads > 1 {
                let of = |row: Signal| {
                    let firsts: Vec<_> = (1..self.heads).map(|h| row.ge(h * part)).collect();
                    firsts.into_iter().fold(uint(8).lit(0), |sum, one| sum.wrapping_add(one.extend(8)))
                };
                let same = m.wire("model_same_head", of(io.set_row_i).eq(of(read)));
                m.assume("a_score_comes_to_the_head_that_was_read", !(comes & new.any()) | same);
            }
            let goes = m.wire("model_goes", io.clear_valid_i & !comes & !busy);
            let there = m.wire("model_there", read.lt(rows) & holds.q.at(read));
            let drops = io.drop_valid_i.map(|drop| m.wire("model_drops", drop & there & !(comes | goes)));
            let asks = io.drop_valid_i.map_or(io.update_valid_i, |drop| io.update_valid_i & !drop);
            let adds = m.wire("model_adds", asks & there & !(comes | goes));
            let dropped = drops.map(|_| m.regs_init("model_dropped", bit(), rows, 0));
            let now = m.wire("model_now", scores.q.at(read));
            let wide = self.score_width.max(self.amount_width) + 2;
            let sum_ty = sint(wide);
            let sum = m.wire("model_sum", now.extend(wide).as_sint().wrapping_add(io.update_amount_i.extend(wide)));
            let most = sum_ty.lit(ty.range().1);
            let exceeds = m.wire("model_exceeds", adds & sum.gt(most));
            let clamped = [(sum.lt(0), ty.lit(0)), (sum.gt(most), ty.lit(ty.range().1))];
            let kept = m.wire("model_kept", select(&clamped, sum.as_uint().truncate(self.score_width)));
            let ages = m.wire("model_ages", io.step_i & (marked.q | exceeds));
            marked.next((marked.q | exceeds) & !io.step_i);
            m.for_each("model_heads", self.heads, |m, h| {
                let mine = io.step_head_i.map_or(ages, |head| ages & head.eq(h.value(head.width())));
                let mine = m.wire("model_mine", mine);
                m.for_each("model_rows", part, |m, k| {
                    let i = h * part + k;
                    let here = i.value(row_ty.width);
                    let set = m.wire("model_set", comes & io.set_row_i.eq(here));
                    let clear = m.wire("model_clear", goes & io.clear_row_i.eq(here));
                    let add = m.wire("model_add", adds & read.eq(here));
                    let total = m.wire("model_total", select(&[(add, kept)], scores.q.at(i)));
                    scores.next(m, i, select(&[(set, mux(mine, half(new), new)), (mine, half(total))], total));
                    holds.next(m, i, (holds.q.at(i) & !clear) | set);
                    let mut renewed = add;
                    if let (Some(drops), Some(dropped)) = (drops, &dropped) {
                        let drop = m.wire("model_drop", drops & read.eq(here));
                        dropped.next(m, i, !set & !clear & (drop | dropped.q.at(i)));
                        renewed = renewed | drop;
                    }
                    old.next(m, i, mux(set, mine & new.any(), mine | (old.q.at(i) & !renewed)));
                    let left = holds.q.at(i) & old.q.at(i) & !(set | clear | renewed);
                    m.assume("no_row_is_left_behind", !(mine & left));
                });
            });

            m.comment("The rows that are read, and the rows that are looked at.");
            m.assert_always("score_is_read", !there | io.score_o.eq(now));
            for k in 0..self.lookups {
                let looked = before(m, &format!("model_looked_{k}_q"), io.look_row_i.at(k));
                let beyond = looked.ge(rows);
                let there = holds.q.at(looked);
                let held = dropped.as_ref().map_or(there, |dropped| there & !dropped.q.at(looked));
                let held = m.wire(&format!("model_held_{k}"), held);
                let high = held & scores.q.at(looked).ge(io.threshold_i);
                m.assert_always(&format!("row_{k}_is_valid"), beyond | io.valid_o.at(k).eq(held));
                m.assert_always(&format!("row_{k}_is_high"), beyond | io.high_o.at(k).eq(high));
            }
            let promoted = m.reg_init("model_promoted_q", bit(), 0);
            let rises = adds & now.lt(io.threshold_i) & kept.ge(io.threshold_i);
            promoted.next(dropped.as_ref().map_or(rises, |dropped| rises & !dropped.q.at(read)));
            let promoted_row = before(m, "model_promoted_row_q", read);
            m.assert_always("promotion_is_told", io.promoted_valid_o.eq(promoted.q));
            m.assert_always("promoted_row", !promoted.q | io.promoted_row_o.eq(promoted_row));

            let twice = m.reg_init("model_twice_q", uint(2), 0);
            twice.next_when(ages & !twice.q.msb(), twice.q.wrapping_add(1));
            m.cover("an_old_score_is_read", there & old.q.at(read) & io.score_o.any());
            m.cover("ages_twice", twice.q.msb() & there & io.score_o.any());
            m.cover("promotes", io.promoted_valid_o);
            if io.set_score_i.is_some() {
                m.cover("a_score_comes_to_a_head_that_aged", comes & new.any() & twice.q.any());
            }
            if let Some(dropped) = &dropped {
                m.cover("a_dropped_score_grows", adds & dropped.q.at(read) & kept.any());
            }
        });
    }
}
