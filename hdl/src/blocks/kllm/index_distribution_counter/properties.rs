//! What is proved of the counter (`ifdef FORMAL`), for any one bin and for all of them together.
//!
//! `watched` is any bin, chosen once. A shadow counts the inputs that belong to it by comparing, as they come;
//! when the column ends, the shadow moves along. The count that is drained must be the shadow's. And all drained counts
//! add up to the number of present inputs (in integer mode, to the sum of their integers): nothing is lost, and nothing is
//! counted twice, also by beats that come in the cycle of the swap.

use super::drain::Row;
use super::{Control, Counting, IndexDistributionCounter, IndexDistributionCounterPorts};
use crate::blocks::common::number_format::count_ones;
use crate::lang::{Module, Signal, bit, bits_for, mux, reduce, uint};

impl IndexDistributionCounter {
    pub(super) fn properties(
        &self,
        m: &mut Module,
        io: &IndexDistributionCounterPorts,
        control: &Control,
        counting: &Counting,
    ) {
        m.formal(|m| {
            let width = self.count_width();
            // Chosen by the solver in the first cycle. (A register that only holds would be optimised away.)
            let chosen = m.reg_init("chosen_q", bit(), 0);
            chosen.next(true);
            let choice = m.reg("choice_q", uint(self.a_bits + self.b_bits));
            choice.next_when(!chosen.q, io.indices.index.at(0));
            let watched = m.wire("watched", mux(chosen.q, choice.q, io.indices.index.at(0)));
            let watched_row = watched.slice(self.b_bits..self.a_bits + self.b_bits);
            let integer = io.indices.integer;

            let draining = if self.ping_pong { io.bins.valid } else { control.complete };
            // What a beat adds: to the watched bin, and in all.
            let (index, present) = (io.indices.index, io.indices.present);
            let add = |terms: &[Signal]| reduce(terms, |a, b| a.wrapping_add(b)).unwrap_or_else(|| uint(width).lit(0));
            let mut watched_terms = vec![];
            let mut all_terms = vec![];
            let mut ones = vec![];
            for i in 0..self.inputs {
                let (index, present) = (index.at(i), present.at(i) & control.fire);
                let value = index.truncate(self.b_bits);
                let value = if self.b_bits < width { value.extend(width) } else { value.truncate(width) };
                let value = mux(integer, value, 1);
                let in_row = index.slice(self.b_bits..self.a_bits + self.b_bits).eq(watched_row);
                let here = mux(integer, in_row, index.eq(watched)) & present;
                watched_terms.push(mux(here, value, 0));
                all_terms.push(mux(present, value, 0));
                ones.push(present);
            }
            let now = m.wire("watched_now", add(&watched_terms));
            let all_now = m.wire("all_now", add(&all_terms));
            let mut sum = |name: &str, ty, now: Signal| {
                let total = m.reg_init(name, ty, 0);
                let before = mux(control.clear, total.q.ty().lit(0), total.q);
                let hold = if self.ping_pong { bit().lit(0) } else { draining };
                total.next(mux(hold, total.q, before.wrapping_add(now)));
                (before, total.q)
            };
            let (_, shadow) = sum("shadow_q", uint(width), now);
            let (_, total) = sum("total_q", uint(width), all_now);
            let wide = bits_for(u64::from(self.k) + u64::from(self.inputs));
            let present_now = count_ones(&ones);
            let present_now =
                if present_now.width() < wide { present_now.extend(wide) } else { present_now.truncate(wide) };
            let (inputs_before, _) = sum("inputs_q", uint(wide), present_now);
            m.assume("column_within_k", inputs_before.wrapping_add(present_now).le(self.k));
            let open = m.reg_init("open_q", bit(), 0);
            open.next(mux(control.fire, !io.indices.last, open.q));
            m.assume("one_mode_a_column", !(open.q & control.fire) | integer.eq(counting.integer));

            // Moves along with the column.
            let (mut shadow_out, mut total_out) = (shadow, total);
            if self.ping_pong {
                let mut keep = |name: &str, value: Signal| {
                    let kept = m.reg(name, value.ty());
                    kept.next_when(control.swap, value);
                    kept.q
                };
                shadow_out = keep("shadow_out_q", shadow);
                total_out = keep("total_out_q", total);
            }
            let (bin, count) = (io.bins.bin, io.bins.count);
            let (mode, half) = self.mode_of_drain(m, counting, control);
            let is_watched = mux(mode, bin.eq(watched_row), bin.eq(watched));
            m.assert_always("count_is_right", !(io.bins.valid & is_watched) | count.eq(shadow_out));
            let drained = m.reg_init("drained_total_q", uint(width), 0);
            let with_this = m.wire("drained_total", drained.q.wrapping_add(count));
            let end = m.wire("drain_ends", io.bins.fire() & io.bins.last);
            drained.next_when(io.bins.fire(), mux(end, drained.q.ty().lit(0), with_this));
            m.assert_always("counts_add_up", !(end & !half) | with_this.eq(total_out));

            // Holds while the column is counted; helps the prover.
            let planes = self.read_row(m, "watched", counting.counts, watched_row);
            let row = Row { planes, log: counting.log, row: watched_row, integer: counting.integer };
            let count = self.count(m, "watched", &row, watched.truncate(self.b_bits));
            let started = m.reg_init("counting_q", bit(), 0);
            started.next(control.fire | (started.q & !control.swap));
            let counts_now = if self.ping_pong { started.q } else { started.q & !draining };
            m.assert_always("shadow_agrees", !counts_now | count.eq(shadow));

            if self.ping_pong {
                m.cover("counts_while_draining", draining & control.fire);
                m.cover("beat_in_the_cycle_of_the_swap", control.swap & control.fire);
            }
            // A single input counts one at a time, and a column of one element has no more.
            if count.width() > 1 {
                m.cover("drains_more_than_one", io.bins.valid & count.gt(1) & is_watched);
            }
            if let Some(log) = counting.log {
                m.cover("logs_an_overflow", log.used.at(0) & control.complete);
            }
        });
    }

    /// Mode and half of the column that is drained, kept independently of the drain.
    fn mode_of_drain(&self, m: &mut Module, counting: &Counting, control: &Control) -> (Signal, Signal) {
        if !self.ping_pong {
            return (counting.integer, counting.half);
        }
        let mut keep = |name: &str, value: Signal| {
            let kept = m.reg(name, value.ty());
            kept.next_when(control.swap, value);
            kept.q
        };
        (keep("mode_out_q", counting.integer), keep("half_out_q", counting.half))
    }
}
