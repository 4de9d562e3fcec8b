//! Proofs of the counter (`ifdef FORMAL`), for any one bin and for all of them together.
//!
//! `watched` is any bin, chosen once. A shadow counts the inputs that belong to it by comparing, as they come. When the
//! column ends, the shadow waits in line, and the drain takes the head of the line. Beats begin and end columns as the
//! ports show it: nothing of the shadow comes from the counter's own control. The count that is drained must be the
//! shadow's. And all drained counts add up to the number of present inputs (in integer mode, to the sum of their
//! integers). So nothing is lost and nothing is counted twice, also by beats that come in the cycle of the swap.

use super::drain::Row;
use super::{Control, Counting, IndexDistributionCounter, IndexDistributionCounterPorts};
use crate::blocks::common::arith::popcount;
use crate::lang::{Module, Signal, bit, bits_for, mux, reduce, uint};

/// What is known of a column without looking into the counter.
struct Shadow {
    /// Count of the watched bin.
    watched: Signal,
    /// Sum of all counts.
    total: Signal,
    /// Present inputs, up to one more than k.
    inputs: Signal,
    integer: Signal,
    half: Signal,
}

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

            let (column, ends) = self.column_so_far(m, io, watched);
            let finishes = m.wire("drain_ends", io.bins.fire() & io.bins.last);
            let (head, waiting) = Self::line(m, ends, finishes);

            let (bin, count) = (io.bins.bin, io.bins.count);
            let is_watched = mux(head.integer, bin.eq(watched_row), bin.eq(watched));
            let right = m.wire("column_within_k", io.bins.valid & head.inputs.le(self.k));
            m.assert_always("bins_belong_to_a_column", !io.bins.valid | waiting);
            m.assert_always("count_is_right", !(right & is_watched) | count.eq(head.watched));
            let drained = m.reg_init("drained_total_q", uint(width), 0);
            let with_this = m.wire("drained_total", drained.q.wrapping_add(count));
            drained.next_when(io.bins.fire(), mux(finishes, drained.q.ty().lit(0), with_this));
            m.assert_always("counts_add_up", !(finishes & right & !head.half) | with_this.eq(head.total));
            m.assert_always("too_many_are_flagged", !io.bins.valid | io.bins.error.eq(head.inputs.gt(self.k)));

            // Bins come in order, and as many as the mode and `half` say.
            let place = m.reg_init("drained_bins_q", bin.ty(), 0);
            place.next_when(io.bins.fire(), mux(finishes, bin.ty().lit(0), place.q.wrapping_add(1)));
            m.assert_always("bins_in_order", !io.bins.valid | bin.eq(place.q));
            let top = |bits: u32| uint(bin.width()).lit((1 << bits) - 1);
            let (all, lower) = (self.a_bits + self.b_bits, self.a_bits + self.b_bits - 1);
            let counted = mux(head.half, top(lower), top(all));
            let added = mux(head.half, top(self.a_bits - 1), top(self.a_bits));
            let last = m.wire("last_place", mux(head.integer, added, counted));
            m.assert_always("last_is_last", !io.bins.valid | io.bins.last.eq(bin.eq(last)));

            // Holds while the column is counted; helps the prover.
            let planes = self.read_row(m, "watched", counting.counts, watched_row);
            let row = Row { planes, log: counting.log, row: watched_row, integer: counting.integer };
            let count = self.count(m, "watched", &row, watched.truncate(self.b_bits));
            let within = column.inputs.le(self.k);
            m.assert_always("shadow_agrees", !(control.open & within) | count.eq(column.watched));

            if self.ping_pong {
                m.cover("counts_while_draining", io.bins.valid & control.fire);
                m.cover("beat_in_the_cycle_of_the_swap", control.swap & control.fire);
            }
            m.cover("too_many", io.bins.valid & io.bins.error);
            // A count of one bit reaches one only.
            if width > 1 {
                m.cover("drains_more_than_one", right & io.bins.count.gt(1) & is_watched);
            }
            if let Some(log) = &counting.log {
                m.cover("logs_an_overflow", log.used.at(0) & control.complete);
            }
        });
    }

    /// The column that comes in, up to the beat before this one; and with this one, when it ends here.
    fn column_so_far(
        &self,
        m: &mut Module,
        io: &IndexDistributionCounterPorts,
        watched: Signal,
    ) -> (Shadow, (Signal, Shadow)) {
        let width = self.count_width();
        let fire = m.wire("shadow_fire", io.indices.fire());
        let open = m.reg_init("shadow_open_q", bit(), 0);
        open.next_when(fire, !io.indices.last);
        let mode = m.reg("shadow_integer_q", bit());
        let integer = m.wire("shadow_integer", mux(open.q, mode.q, io.indices.integer));
        mode.next_when(fire, integer);
        // The count that a beat adds: to the watched bin, and in all.
        let part = |index: Signal| index.slice(self.b_bits..self.a_bits + self.b_bits);
        let (mut here, mut all) = (vec![], vec![]);
        for i in 0..self.inputs {
            let (index, present) = (io.indices.index.at(i), io.indices.present.at(i));
            let value = index.truncate(self.b_bits);
            let value = if self.b_bits < width { value.extend(width) } else { value.truncate(width) };
            let value = mux(integer, value, 1);
            let belongs = mux(integer, part(index).eq(part(watched)), index.eq(watched)) & present;
            here.push(mux(belongs, value, 0));
            all.push(mux(present, value, 0));
        }
        let add = |terms: &[Signal]| reduce(terms, |a, b| a.wrapping_add(b)).unwrap_or_else(|| uint(width).lit(0));
        let mut sum = |name: &str, now: Signal| {
            let total = m.reg(&format!("{name}_q"), now.ty());
            let sum = m.wire(name, mux(open.q, total.q, now.ty().lit(0)).wrapping_add(now));
            total.next_when(fire, sum);
            (total.q, sum)
        };
        let (watched_before, watched) = sum("shadow", add(&here));
        let (total_before, total) = sum("shadow_total", add(&all));
        // Present inputs: more than k stay more than k.
        let ty = uint(bits_for(u64::from(self.k) + u64::from(self.inputs)));
        let present = popcount::ones(m, "shadow_present", &io.indices.present.elements());
        let inputs = m.reg("shadow_inputs_q", ty);
        let many = m.wire("shadow_too_many", open.q & inputs.q.gt(self.k));
        let counted = mux(open.q, inputs.q, ty.lit(0)).wrapping_add(present);
        let counted = m.wire("shadow_inputs", mux(many, inputs.q, counted));
        inputs.next_when(fire, counted);
        let half = io.indices.half;
        let before = Shadow { watched: watched_before, total: total_before, inputs: inputs.q, integer: mode.q, half };
        let with = Shadow { watched, total, inputs: counted, integer, half };
        (before, (fire & io.indices.last, with))
    }

    /// Complete columns in line: the one that is drained at the head, and the next one. Also whether there is one.
    fn line(m: &mut Module, ends: (Signal, Shadow), finishes: Signal) -> (Shadow, Signal) {
        let (ends, column) = ends;
        let length = m.reg_init("columns_in_line_q", uint(2), 0);
        length.next(length.q.wrapping_add(ends).wrapping_sub(finishes));
        let left = m.wire("columns_left", length.q.wrapping_sub(finishes));
        m.assert_always("two_columns_at_most", left.ne(2) | !ends);
        let mut queue = |name: &str, value: Signal| {
            let (head, behind) =
                (m.reg(&format!("head_{name}_q"), value.ty()), m.reg(&format!("behind_{name}_q"), value.ty()));
            let moved = mux(finishes, behind.q, head.q);
            head.next(mux(ends & left.eq(0), value, moved));
            behind.next_when(ends, value);
            head.q
        };
        let head = Shadow {
            watched: queue("watched", column.watched),
            total: queue("total", column.total),
            inputs: queue("inputs", column.inputs),
            integer: queue("integer", column.integer),
            half: queue("half", column.half),
        };
        (head, length.q.any())
    }
}
