//! Properties of the product (`ifdef FORMAL`), for any finder, any memory that keeps its words, and any array. Every
//! value is multiplied once, either in the array or beside it. The array's operands are rounded to their group's unit,
//! and as many doublings follow as the unit is above the finest. Each result is the sum of its outliers' products and
//! of the array's sum. That sum is taken in the cycle in which the array's contract says that it leaves. The parts'
//! assumptions hold too: rows are filled and used only while there are any.

use super::finding::{Reads, Rows};
use super::multiplying::{Channel, Step};
use super::{DenseSparseProduct, DenseSparseProductPorts};
use crate::lang::{Module, Signal, bit, mux, sint, uint};

impl DenseSparseProduct {
    pub(super) fn properties(
        &self,
        m: &mut Module,
        io: &DenseSparseProductPorts,
        (rows, reads): (&Rows, Reads),
        (channel, step): (&Channel, &Step),
        idle: Signal,
    ) {
        // Shadows of all sums are for small sizes.
        if self.rows * self.columns > 4 || self.channels > 4 || self.activation_width > 4 {
            return;
        }
        m.formal(|m| {
            self.of_memories(m, io, rows, reads);
            self.of_values(m, io, channel);
            self.of_scales(m, io, channel, step);
            let served = self.of_sums(m, io, channel, step, idle);
            m.cover("a_tile_with_outliers", io.product.fire() & io.product.last & served);
            m.cover("outliers_of_all_rows", channel.takes & channel.marked.packed().all());
            m.cover("a_scale_that_rises", io.order_error_o);
        });
    }

    /// Memories keep the words read, and banks stay in place: this is assumed of them.
    fn of_memories(&self, m: &mut Module, io: &DenseSparseProductPorts, rows: &Rows, reads: Reads) {
        let changes = m.reg_init("formal_read_q", bit(), 1);
        changes.next(reads.now);
        for (name, word) in [("values", rows.values), ("masks", rows.masks.packed())] {
            let before = m.reg(&format!("formal_{name}_q"), word.ty());
            before.next(word);
            m.assume(&format!("{name}_stay"), changes.q | word.eq(before.q));
        }
        let going = !io.clear_i;
        for (name, now, given) in [("there", rows.there, reads.release), ("room", rows.room, rows.filled)] {
            let before = m.reg_init(&format!("formal_{name}_q"), bit(), 0);
            before.next(now & !given & going);
            m.assume(&format!("{name}_stays"), !before.q | now);
        }
        m.assert_always("uses_rows_that_are_there", !(reads.now | reads.release) | rows.there);
        m.assert_always("fills_where_there_is_room", !(rows.comes | rows.marks | rows.filled) | rows.room);
        m.assert_always("loads_or_marks", !(rows.comes & rows.marks));
        let beats = m.reg_init("formal_beats_q", uint(8), 0);
        let more = beats.q.wrapping_add(rows.comes.extend(8));
        beats.next(mux(rows.filled | io.clear_i, uint(8).lit(0), more));
        m.assert_always("all_rows_came", !rows.filled | beats.q.eq(self.rows * self.words()));
    }

    /// Every value of a channel once, and the array's share of it.
    fn of_values(&self, m: &mut Module, io: &DenseSparseProductPorts, channel: &Channel) {
        let beside = m.reg_init("formal_beside_q", uint(self.rows), 0);
        let both = m.wire("formal_beside", beside.q | channel.chosen);
        beside.next(mux(channel.takes | io.clear_i, beside.q.ty().lit(0), both));
        m.assert_always("beside_once", !(beside.q & channel.chosen).any());
        m.assert_always("in_the_array_or_beside", !channel.takes | both.eq(channel.marked.packed()));
        m.assert_always("with_its_weights", channel.here | !channel.serves);
        let wide = self.activation_width + (1 << self.shift_width) + 1;
        let unit = m.wire("formal_unit", uint(wide).lit(1).shl_by(channel.scale).as_sint());
        let (low, high) = sint(self.operand_width).range();
        m.for_each("formal_rows", self.rows, |m, r| {
            let (dense, marked) = (channel.dense.at(r), channel.marked.at(r));
            m.assert_always("outliers_are_zero_in_the_array", !(channel.takes & marked) | dense.eq(0));
            let back = dense.extend(wide).shl_by(channel.scale);
            let less = m.wire("formal_less", channel.values.at(r).extend(wide) - back);
            let twice = m.wire("formal_twice", less.shl(1));
            let least = m.wire("formal_minus", -unit);
            let tie = twice.eq(unit) | twice.eq(least);
            let near = (twice.lt(unit) & twice.gt(least)) | (tie & !dense.bit(0));
            let saturated = (dense.eq(high.clone()) & twice.gt(0)) | (dense.eq(low.clone()) & twice.lt(0));
            m.assert_always("rounded_to_nearest_ties_to_even", !channel.takes | marked | near | saturated);
        });
    }

    /// Units of the array's sums.
    fn of_scales(&self, m: &mut Module, io: &DenseSparseProductPorts, channel: &Channel, step: &Step) {
        let takes = channel.takes;
        let at = m.reg_init("formal_channel_q", uint(8), 0);
        let (begins, ends) = (at.q.eq(0), m.wire("formal_last", at.q.eq(self.channels - 1)));
        let next = mux(takes, mux(ends, uint(8).lit(0), at.q.wrapping_add(1)), at.q);
        at.next(mux(io.clear_i, uint(8).lit(0), next));
        let least = m.reg("formal_least_q", channel.scale.ty());
        let shift = io.weight.shift;
        // Weights that wait stay, as on every stream.
        let waits = m.reg_init("formal_waits_q", bit(), 0);
        waits.next(io.weight.valid & !io.weight.ready & !io.clear_i);
        let before = m.reg("formal_shift_q", shift.ty());
        before.next(shift);
        m.assume("weights_stay", !waits.q | (io.weight.valid & shift.eq(before.q)));
        let due = m.wire("formal_due", mux(begins | shift.lt(least.q), shift, least.q));
        least.next_when(takes, due);
        m.assert_always("the_least_scale_so_far", !takes | channel.scale.eq(due));
        m.assert_always("begins_with_a_channel", !step.moves | step.first.eq(takes & begins));
        let sums = m.reg("formal_scale_q", channel.scale.ty());
        sums.next_when(step.moves, mux(takes, due, sums.q.wrapping_sub(1)));
        m.assert_always("doubled_to_its_scale", !takes | begins | sums.q.eq(due));
        let finest = mux(takes, due.eq(0), sums.q.eq(1));
        m.assert_always("ends_at_the_finest_scale", !(step.moves & step.last) | finest);
        let all = mux(takes, ends, begins);
        m.assert_always("ends_behind_all_channels", !(step.moves & step.last) | all);
        m.assert_always("a_step_is_one_of_both", !step.moves | (takes ^ step.doubles));
    }

    /// Results as they are due. Returns whether the tile has outliers.
    fn of_sums(
        &self,
        m: &mut Module,
        io: &DenseSparseProductPorts,
        channel: &Channel,
        step: &Step,
        idle: Signal,
    ) -> Signal {
        let (count, none) = (uint(8), uint(8).lit(0));
        let (rows, columns, width) = (self.rows, self.columns, self.sum_width());
        let since = m.reg_init("formal_since_q", count, 0);
        let later = mux(since.q.any() & !since.q.all(), since.q.wrapping_add(1), since.q);
        let begun = mux(step.moves & step.last, count.lit(1), later);
        since.next(mux(idle | io.clear_i, none, begun));
        let given = m.reg_init("formal_given_q", count, 0);
        let goes = m.wire("formal_goes", io.product.fire());
        given.next(mux(idle | io.clear_i, none, mux(goes, given.q.wrapping_add(1), given.q)));
        for r in 0..rows {
            let mine = channel.serves & channel.row.eq(r);
            let shown = m.wire(&format!("formal_shown_{r}"), io.product.valid & given.q.eq(r));
            for c in 0..columns {
                let name = |what: &str| format!("formal_{what}_{r}_{c}");
                let sum = m.reg(&name("sum"), sint(width));
                let product = m.wire(&name("product"), channel.values.at(r) * io.weight.weights.at(c));
                let leaves = since.q.eq(2 * columns + r - c);
                let beside = mux(mine, product.extend(width), 0);
                let dense = mux(leaves, step.results.at(r).extend(width), 0);
                let more = m.wire(&name("more"), sum.q.wrapping_add(beside).wrapping_add(dense));
                sum.next(mux(idle, sint(width).lit(0), more));
                m.assert_always(&format!("sum_{r}_{c}"), !shown | io.product.sums.at(c).eq(sum.q));
            }
        }
        let valid = io.product.valid;
        m.assert_always("rows_of_a_tile", !valid | (given.q.lt(rows) & io.product.last.eq(given.q.eq(rows - 1))));
        let waited = m.reg_init("formal_waited_q", bit(), 0);
        waited.next(valid & !io.product.ready & !io.clear_i);
        let sums = m.wire("formal_sums", io.product.sums.packed());
        let before = m.reg("formal_sums_q", sums.ty());
        before.next(sums);
        m.assert_always("results_stay", !waited.q | (valid & sums.eq(before.q)));
        m.cover("cleared_while_sums_leave", since.q.any() & io.clear_i);
        let served = m.reg_init("formal_served_q", bit(), 0);
        served.next((served.q | channel.serves) & !idle);
        served.q
    }
}
