//! What is proved of the refresh controller (`ifdef FORMAL`), of one row that the prover chooses.
//!
//! `safe` is the contract. The others spell out why it holds, so that an induction finds it: `on_time` says that the
//! cycles left until an overdue row is restored, counted from where the walk is and what may still be waited, and those
//! for which it has been overdue, are never more than the contract allows.

use super::{RefreshController, RefreshControllerPorts};
use crate::lang::{Module, Signal, bit, bits_for, mux, select, uint};

/// The controller's state, for the properties.
pub(super) struct Inner {
    pub walk: Signal,
    pub row: Signal,
    pub hinted: Signal,
    pub credit: Signal,
    pub reading: Signal,
    pub writing: Signal,
    pub stamp: Signal,
    pub fresh: Signal,
    pub now: Signal,
    pub high_limit: Signal,
    pub low_limit: Signal,
    pub written: Signal,
    pub written_row: Signal,
    pub ready: Signal,
    pub refresh_read: Signal,
    pub refresh_write: Signal,
    pub refused: Signal,
    pub take_hint: Signal,
}

impl RefreshController {
    pub(super) fn properties(&self, m: &mut Module, io: &RefreshControllerPorts, inner: &Inner) {
        m.formal(|m| {
            let (tick, slack, wait) = (self.tick_log2, self.slack(), self.wait());
            // Any row, chosen in the first cycle after reset by an input that does not matter then.
            let chosen = m.reg_init("chosen_q", bit(), 0);
            chosen.next(bit().lit(1));
            let watch = m.reg("watch_q", self.row());
            watch.next_when(!chosen.q, io.promoted_row_i);
            m.assume("watched_row_exists", chosen.q | io.promoted_row_i.lt(self.rows));
            let valid = m.wire("watch_valid", io.valid_i.bit_at(watch.q));
            let high = m.wire("watch_high", io.high_i.bit_at(watch.q));
            let restored = m.wire("watch_restored", inner.written & inner.written_row.eq(watch.q));

            // Age, from 1 in the cycle after the write. It stops where a row is too old to become valid without a write.
            let longest = (1u64 << self.interval_width) - 1;
            let age_ty = uint(bits_for(longest + slack + 1));
            let age = m.reg("watch_age_q", age_ty);
            age.next(mux(restored, age_ty.lit(1), mux(age.q.eq(age_ty.range().1), age.q, age.q.wrapping_add(1))));
            let known = m.reg_init("watch_known_q", bit(), 0);
            known.next(chosen.q & (restored | (known.q & (valid | age.q.lt(longest)))));
            let limit = m.wire("watch_limit", mux(high, inner.high_limit, inner.low_limit).shl(tick));
            let counts = m.wire("watch_counts", valid & known.q);
            let overdue = m.wire("watch_overdue", counts & age.q.gt(limit + ((1u32 << tick) - 1)));
            let run_ty = uint(bits_for(wait + 1));
            let run_before = m.reg_init("watch_run_q", run_ty, 0);
            let run = m.wire("watch_run", mux(overdue, run_before.q.wrapping_add(1), run_ty.lit(0)));
            run_before.next(mux(restored | run.gt(wait), run_ty.lit(0), run));
            m.assert_always("safe", run.le(wait));

            // Stamps tell the age.
            let stamp_ty = inner.stamp.ty();
            let stamp = m.reg("watch_stamp_q", stamp_ty);
            let stamp_now = m.wire("watch_stamp_now", inner.now.slice(tick..tick + stamp_ty.width));
            stamp.next_when(restored, stamp_now);
            let here = m.wire("watch_here", inner.row.eq(watch.q));
            m.assert_always("stamp_is_kept", !(here & known.q & !inner.fresh) | inner.stamp.eq(stamp.q));
            let since = m.wire("watch_since", inner.now.wrapping_sub(stamp.q.shl(tick)));
            // The stamp leaves out the low bits of the time.
            let lost = m.wire("watch_lost", since.extend(since.width().max(age_ty.width)) - age.q);
            m.assert_always("stamp_tells_age", !known.q | (lost.ge(0) & lost.lt(1i64 << tick)));
            m.assert_always("chosen_row_exists", !chosen.q | watch.q.lt(self.rows));
            m.assert_always("known_rows_are_young", !known.q | age.q.le(longest + slack));

            // Cycles until the row is restored, at most.
            let rows = self.rows;
            let wide = uint(bits_for(2 * (wait + 8)));
            let w = |s: Signal| s.extend(wide.width);
            let behind = m.wire("watch_behind", watch.q.lt(inner.walk));
            let distance = mux(
                behind,
                (w(watch.q).wrapping_add(rows)).wrapping_sub(w(inner.walk)),
                w(watch.q).wrapping_sub(w(inner.walk)),
            );
            let distance = m.wire("watch_distance", distance);
            let served = m.wire("watch_served", here & (inner.reading | inner.writing));
            let gone = select(
                &[(inner.reading & !inner.hinted, wide.lit(1)), (inner.writing & !inner.hinted, wide.lit(2))],
                wide.lit(0),
            );
            let walk_left = distance.wrapping_add(distance).wrapping_add(distance).wrapping_add(3).wrapping_sub(gone);
            let renewed = mux(behind, wide.lit(self.patience), wide.lit(0));
            let own_left = mux(inner.reading, wide.lit(2), wide.lit(1));
            let left = mux(served, own_left, walk_left.wrapping_add(renewed)).wrapping_add(w(inner.credit));
            let left = m.wire("watch_left", left);
            let seen = m.wire(
                "watch_seen",
                since.slice(tick..since.width()).ge(mux(high, inner.high_limit, inner.low_limit) + u32::from(tick > 0)),
            );
            m.assert_always("on_time", !overdue | (w(run) + left).le(wait + 1));
            m.assert_always("overdue_is_seen", !overdue | seen);
            m.assert_always("walk_in_range", inner.walk.lt(rows) & inner.credit.le(self.patience));
            m.assert_always("row_is_walk", inner.hinted | inner.row.eq(inner.walk));

            // Economy.
            let was_due = m.reg_init("watch_was_due_q", bit(), 0);
            let is_due = m.wire("watch_is_due", counts & age.q.ge(limit));
            was_due.next((was_due.q | is_due) & !restored);
            let due_once = m.wire("watch_due_once", was_due.q | is_due);
            m.assert_always("served_was_due", !(served & known.q) | due_once);
            m.assert_always("refreshed_was_due", !(inner.refresh_write & here & known.q) | due_once);
            m.assert_always("refreshed_is_valid", !((inner.refresh_read | inner.refresh_write) & here) | valid);

            // What is written back was read, and nothing wrote the row since.
            let current = m.reg_init("watch_current_q", bit(), 0);
            let overwritten = m.wire("watch_overwritten", restored & !inner.refresh_write);
            current.next(mux(inner.refresh_read, here, current.q & !overwritten));
            m.assert_always("write_back_is_current", !(inner.writing & here & chosen.q) | current.q);

            // The banks.
            let access = m.wire("access", io.access_valid_i & inner.ready);
            let refresh = m.wire("refresh", inner.refresh_read | inner.refresh_write);
            m.assert_always("no_collision", !(access & refresh) & !(inner.refresh_read & inner.refresh_write));
            let waited = m.reg_init("waited_q", uint(2), 0);
            waited.next(mux(inner.ready, uint(2).lit(0), waited.q.wrapping_add(1)));
            m.assert_always("short_stalls", waited.q.ne(3));
            m.assert_always("ready_while_checking", inner.ready | inner.reading | inner.writing);
            m.assert_always("stall_ends", !(inner.writing & waited.q.eq(2)));

            let here = m.wire("watch_chosen_here", here & chosen.q);
            m.cover("refreshed_in_an_idle_cycle", inner.refresh_write & here & !io.access_valid_i);
            m.cover("refreshed_by_force", inner.refresh_write & here & io.access_valid_i);
            m.cover("overdue_row_is_restored", overdue & inner.refresh_write & here);
            m.cover("refused", inner.refused);
            if self.patience >= 4 {
                m.cover("written_during_a_refresh", inner.writing & here & restored & access);
                m.cover("hint_is_taken", inner.take_hint);
            } else {
                m.unused(inner.take_hint);
            }
        });
    }
}
