//! Proofs of the unit (`ifdef FORMAL`): beats and the fields that go along with them. The arithmetic is not proved
//! here: its units have proofs of their own.

use super::{ScalingUnit, ScalingUnitPorts};
use crate::lang::{Module, Signal, bit, bits_for, cat, mux, uint};

impl ScalingUnit {
    /// All beats inside as a queue of the section's own: the values that a beat must show when it leaves.
    pub(super) fn properties(&self, m: &mut Module, io: &ScalingUnitPorts, begins: Signal) {
        // Small enough for a solver.
        if self.columns > 1 || self.dense_width > 2 || self.arithmetic() > 5 {
            return;
        }
        m.formal(|m| {
            let clear = io.clear_i;
            m.assert_always("nothing_taken_while_cleared", !(clear & (io.sums.fire() | io.factors.fire())));
            m.assert_always("taken_together", io.sums.fire().eq(io.factors.fire()) & io.sums.fire().eq(begins));
            let waits = m.reg_init("formal_waits_q", bit(), 0);
            waits.next(io.results.valid & !io.results.ready & !clear);
            let word = cat(&[io.results.values.packed(), io.results.error, io.results.last]);
            let shown = m.reg("formal_shown_q", word.ty());
            shown.next(word);
            m.assert_always("offer_stays", !waits.q | (io.results.valid & word.eq(shown.q)));

            // Places: one for each beat inside, the oldest one first.
            let places = self.arithmetic() + 2;
            // One bit more than they need, to show that there are never more.
            let ty = uint(bits_for(places.into()) + 1);
            let count = m.reg_init("formal_count_q", ty, 0);
            let leaves = m.wire("formal_leaves", io.results.fire());
            let after = m.wire("formal_after", count.q.wrapping_sub(leaves.extend(ty.width)));
            let next = after.wrapping_add(begins.extend(ty.width));
            count.next(mux(clear, ty.lit(0), next));
            let none = io.sums.special | self.is_special(io.sums.scale);
            let marks = m.wire("formal_marks", cat(&[none, io.sums.error, io.sums.last]));
            let queue: Vec<_> = (0..places).map(|i| m.reg(&format!("formal_place_{i}_q"), uint(3))).collect();
            for (i, place) in (0u32..).zip(&queue) {
                let behind = queue.get(i as usize + 1).map_or(place.q, |behind| behind.q);
                let moved = mux(leaves, behind, place.q);
                place.next(mux(begins & after.eq(i), marks, moved));
            }
            m.assert_always("none_too_many", count.q.le(places));
            m.assert_always("leaves_only_what_came", !io.results.valid | count.q.any());
            let first = queue[0].q;
            let goes_along = first.slice(0..2).eq(cat(&[io.results.error, io.results.last]));
            m.assert_always("marks_of_its_beat", !io.results.valid | goes_along);
            let (value, overflow) = (io.results.values.at(0), io.results.overflow.at(0));
            let is_none = !io.results.valid | !first.bit(2) | (value.eq(self.nan()) & overflow);
            m.assert_always("no_value_of_its_beat", is_none);
            m.assert_always("overflow_tells", overflow.eq(self.is_special(value)));

            m.cover("full", count.q.eq(places));
            m.cover("leaves_full", io.results.valid & leaves & count.q.eq(places));
            m.cover("has_no_value", io.results.valid & first.bit(2));
            m.cover("cleared_with_beats", clear & count.q.gt(2));
        });
    }
}
