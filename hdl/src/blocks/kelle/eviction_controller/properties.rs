//! Proofs of the eviction controller (`ifdef FORMAL`): at its ports it is the list that the contract describes.
//!
//! The section keeps the list in registers, which follow from the transfers at the ports alone. No register of the
//! hardware takes part, and nothing is assumed: clears, walks, new tokens and pauses come in any cycle.

use super::{EvictionController, EvictionControllerPorts};
use crate::lang::{Module, Signal, bit, cat, mux, select, uint};

impl EvictionController {
    pub(super) fn properties(&self, m: &mut Module, io: &EvictionControllerPorts) {
        m.formal(|m| {
            let (slot_ty, count_ty, slots) = (self.slot(), self.count(), self.slots);
            let wide = |s: Signal| s.extend(count_ty.width + 1);
            let zero = bit().lit(0);
            // Of each token: slot, and above it how it is stored.
            let list = m.regs("model", uint(slot_ty.width + 1), slots);
            let count = m.reg_init("model_count_q", count_ty, 0);
            let protected = |at: Signal| {
                let at = at.extend(count_ty.width);
                at.lt(io.sink_i) | (wide(at) + wide(io.window_i)).ge(count.q)
            };

            // A new token.
            let inserts = m.wire("model_inserts", io.insert.valid & io.insert.ready);
            let full = m.wire("model_full", count.q.eq(slots));
            let victim = io.insert.victim;
            let may_go = m
                .wire("model_may_go", io.insert.found & !protected(victim) & victim.extend(count_ty.width).lt(count.q));
            let evicts = m.wire("model_evicts", inserts & full & may_go);
            let appends = m.wire("model_appends", inserts & !full);
            let next_slot = mux(full, list.q.at(victim).slice(0..slot_ty.width), count.q.truncate(slot_ty.width));
            let next_slot = m.wire("model_next_slot", next_slot);
            let token = m.wire("model_token", cat(&[io.insert.recompute, next_slot]));
            m.for_each("model", slots, |m, i| {
                let place = m.wire("model_place", i.value(count_ty.width));
                let new = mux(full, place.eq(slots - 1), place.eq(count.q));
                let later = m.wire("model_later", place + 1);
                let after = list.q.at(later);
                let moves = evicts & place.ge(victim.extend(count_ty.width));
                let value = select(&[((evicts | appends) & new, token), (moves, after)], list.q.at(i));
                list.next(m, i, value);
            });
            count.next(select(&[(io.clear_i, count_ty.lit(0)), (appends, count.q.wrapping_add(1))], count.q));
            m.assert_always("counts_tokens", io.count_o.eq(count.q));

            // A walk: from the cycle after its start an entry in each cycle, until the last one is taken.
            let starts = m.wire("model_starts", io.walk_valid_i & io.walk_ready_o);
            let walks = m.reg_init("model_walks_q", bit(), 0);
            let at = m.reg_init("model_at_q", slot_ty, 0);
            let passes = m.wire("model_passes", io.entry.valid & io.entry.ready);
            let last = m.wire("model_last", (at.q.extend(count_ty.width) + 1).eq(wide(count.q)));
            let goes_on = mux(starts, count.q.any(), walks.q & !(passes & last));
            walks.next(goes_on & !io.clear_i);
            at.next(mux(starts, slot_ty.lit(0), mux(passes, at.q.wrapping_add(1), at.q)));
            let here = m.wire("model_here", list.q.at(at.q));
            m.assert_always("entries_of_a_walk", io.entry.valid.eq(walks.q));
            m.assert_always("entry_is_the_token", !walks.q | cat(&[io.entry.recompute, io.entry.slot]).eq(here));
            m.assert_always("guarded_is_protected", !walks.q | io.entry.guarded.eq(protected(at.q)));
            m.assert_always("last_is_the_youngest", !walks.q | io.entry.last.eq(last));

            // The place of a new token: a cycle later, or two after an eviction; it stays until it is taken.
            let due = m.reg_init("model_due_q", bit(), 0);
            let late = m.reg_init("model_late_q", bit(), 0);
            let expected = m.reg("model_expected_q", uint(slot_ty.width + 2));
            let placed = m.wire("model_placed", io.place.valid & io.place.ready);
            due.next((inserts | (due.q & !placed)) & !io.clear_i);
            late.next(evicts & !io.clear_i);
            expected.next_when(inserts, cat(&[full & !may_go, evicts, next_slot]));
            let refused = m.wire("model_refused", expected.q.msb());
            let got = cat(&[io.place.refused, io.place.evicted, io.place.slot]);
            let same = got.eq(expected.q) | (refused & io.place.refused & !io.place.evicted);
            m.assert_always("place_in_time", io.place.valid.eq(due.q & !late.q));
            m.assert_always("place_of_the_token", !io.place.valid | same);

            // The tokens that are let in.
            let hole = m.reg_init("model_hole_q", bit(), 0);
            hole.next(select(&[(io.clear_i, zero), (evicts, bit().lit(1)), (passes & last, zero)], hole.q));
            let open = m.wire("model_open", !walks.q & !due.q & !io.clear_i);
            m.assert_always("walks_are_let_in", io.walk_ready_o.eq(open));
            m.assert_always("tokens_are_let_in", io.insert.ready.eq(open & !hole.q & !io.walk_valid_i));

            m.cover("walk_with_a_hole", passes & last & hole.q & !here.msb());
            m.cover("refuses_when_full", io.place.valid & io.place.refused);
            m.cover("places_after_an_eviction", placed & io.place.evicted);
            m.cover("clear_in_a_walk", io.clear_i & walks.q & hole.q & at.q.any());
            m.cover("clear_before_a_place", io.clear_i & due.q & late.q);
        });
    }
}
