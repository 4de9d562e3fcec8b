//! Proofs of the refresh controller (`ifdef FORMAL`), for one row that the prover chooses.
//!
//! `safe` is the contract. Intervals, ages and counts are taken from the ports alone. The properties that look inside
//! spell out why it holds, so that an induction finds it. `on_time` adds two counts: the cycles until an overdue row is
//! restored, and the cycles for which it has been overdue. The first follows from the place of the walk and the
//! remaining budget of waiting. Together they are never more than the contract allows.
//!
//! Validity and class of the row come to the ports in the cycles in which it is looked at. In all other cycles the
//! worst is assumed: valid, with the shorter interval. So the proof holds whatever they are.

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
    pub take_hint: Signal,
}

/// The row that is watched.
struct Watched {
    /// It is looked at.
    here: Signal,
    /// The time stamps tell that it is due.
    due: Signal,
}

impl RefreshController {
    pub(super) fn properties(&self, m: &mut Module, io: &RefreshControllerPorts, inner: &Inner) {
        m.formal(|m| {
            let (tick, slack, wait) = (self.tick_log2, self.slack(), self.wait());
            // Age above the interval from which the time stamps tell that the row is due.
            let sure = if tick == 0 { 0 } else { 1u32 << tick };
            // Any row, chosen in the first cycle after reset by an input that does not matter then.
            let chosen = m.reg_init("chosen_q", bit(), 0);
            chosen.next(bit().lit(1));
            let watch = m.reg("watch_q", self.row());
            watch.next_when(!chosen.q, io.promoted_row_i);
            m.assume("watched_row_exists", chosen.q | io.promoted_row_i.lt(self.rows));
            let here = m.wire("watch_here", inner.row.eq(watch.q));
            let valid = m.wire("watch_valid", !here | io.valid_i);
            let access = m.wire("access", io.access_valid_i & io.access_ready_o);
            let written = m.wire("watch_written", access & io.access_write_i & io.access_row_i.eq(watch.q));
            let written_back = m.wire("watch_written_back", io.refresh_write_o & io.refresh_row_o.eq(watch.q));
            let restored = m.wire("watch_restored", written | written_back);

            // Age, from 1 in the cycle after the write. It stops where a row is too old to become valid without a
            // write.
            let longest = (1u64 << self.interval_width) - 1;
            let age_ty = uint(bits_for(longest + slack + 1));
            let age = m.reg("watch_age_q", age_ty);
            age.next(mux(restored, age_ty.lit(1), mux(age.q.eq(age_ty.range().1), age.q, age.q.wrapping_add(1))));
            let known = m.reg_init("watch_known_q", bit(), 0);
            known.next(chosen.q & (restored | (known.q & (valid | age.q.lt(longest)))));
            let (high_interval, low_interval) = self.intervals(m, io);
            let of_class = mux(io.high_i, high_interval, low_interval);
            let shorter = mux(high_interval.lt(low_interval), high_interval, low_interval);
            let units = m.wire("watch_units", mux(here, of_class, shorter));
            let limit = m.wire("watch_limit", units.shl(tick));
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
            let seen = m.wire("watch_seen", since.slice(tick..since.width()).ge(units + u32::from(tick > 0)));
            m.assert_always("on_time", !overdue | (w(run) + left).le(wait + 1));
            m.assert_always("overdue_is_seen", !overdue | seen);
            m.assert_always("walk_in_range", inner.walk.lt(rows) & inner.credit.le(self.patience));
            m.assert_always("row_is_walk", inner.hinted | inner.row.eq(inner.walk));

            // Economy: it was due by its class when it was looked at.
            let was_due = m.reg_init("watch_was_due_q", bit(), 0);
            let is_due = m.wire("watch_is_due", here & counts & age.q.ge(limit));
            was_due.next((was_due.q | is_due) & !restored);
            let due_once = m.wire("watch_due_once", was_due.q | is_due);
            m.assert_always("served_was_due", !(served & known.q) | due_once);
            let refresh = m.wire("refresh", io.refresh_read_o | io.refresh_write_o);
            let refresh_here = m.wire("watch_refresh", refresh & io.refresh_row_o.eq(watch.q));
            m.assert_always("refreshed_was_due", !(refresh_here & known.q) | due_once);
            m.assert_always("refreshed_is_valid", !refresh_here | valid);

            let due = m.wire("watch_sure", counts & age.q.ge(limit + sure));
            self.alone(m, io, &Watched { here, due });

            // The word that is written back was read, and nothing wrote the row since.
            let current = m.reg_init("watch_current_q", bit(), 0);
            let fetched = io.refresh_row_o.eq(watch.q);
            current.next(mux(io.refresh_read_o, fetched, current.q & !written));
            m.assert_always("write_back_is_current", !(written_back & chosen.q) | current.q);
            m.assert_always("writing_is_current", !(inner.writing & here & chosen.q) | current.q);

            // The banks.
            m.assert_always("no_collision", !(access & refresh) & !(io.refresh_read_o & io.refresh_write_o));
            let waited = m.reg_init("waited_q", uint(2), 0);
            waited.next(mux(io.access_ready_o, uint(2).lit(0), waited.q.wrapping_add(1)));
            m.assert_always("short_stalls", waited.q.ne(3));
            m.assert_always("ready_while_checking", io.access_ready_o | inner.reading | inner.writing);
            m.assert_always("stall_ends", !(inner.writing & waited.q.eq(2)));

            // The counters.
            let counter = io.refreshes_o.ty();
            let refreshes = m.reg_init("model_refreshes_q", counter, 0);
            let stalls = m.reg_init("model_stalls_q", counter, 0);
            refreshes.next_when(io.refresh_write_o, refreshes.q.wrapping_add(1));
            stalls.next_when(io.access_valid_i & !io.access_ready_o, stalls.q.wrapping_add(1));
            let same = io.refreshes_o.eq(refreshes.q) & io.stalls_o.eq(stalls.q);
            m.assert_always("counters_count", same);

            let here = m.wire("watch_chosen_here", here & chosen.q);
            m.cover("refreshed_in_an_idle_cycle", io.refresh_write_o & here & !io.access_valid_i);
            m.cover("refreshed_by_force", io.refresh_write_o & here & io.access_valid_i);
            m.cover("overdue_row_is_restored", overdue & io.refresh_write_o & here);
            m.cover("refused", io.config_refused_o);
            if self.patience >= 4 {
                m.cover("written_during_a_refresh", inner.writing & here & restored & access);
                m.cover("hint_is_taken", inner.take_hint);
            } else {
                m.unused(inner.take_hint);
            }
        });
    }

    /// A row that is alone, in banks that nobody wants, is read for its refresh in time.
    fn alone(&self, m: &mut Module, io: &RefreshControllerPorts, watched: &Watched) {
        // A report may wait for long.
        let reported = m.reg_init("alone_reported_q", bit(), 0);
        reported.next(reported.q | io.promoted_valid_i);
        let only = m.wire("alone_valid", watched.here | !io.valid_i);
        let alone = m.wire("alone", only & watched.due & !io.access_valid_i & !reported.q & !io.promoted_valid_i);
        let begun = io.refresh_read_o | io.refresh_write_o;
        let run_ty = uint(bits_for(u64::from(self.rows) + 1));
        let run = m.reg_init("alone_run_q", run_ty, 0);
        let late = m.wire("alone_late", run.q.ge(self.rows) & alone & !begun);
        run.next(mux(alone & !begun & !late, run.q.wrapping_add(1), run_ty.lit(0)));
        m.assert_always("alone_is_soon", !late);
        m.cover("alone_as_late_as_allowed", run.q.ge(self.rows) & alone & io.refresh_read_o);
    }

    /// The intervals of the configurations so far, as the contract has it, in whole units of the time stamps.
    fn intervals(&self, m: &mut Module, io: &RefreshControllerPorts) -> (Signal, Signal) {
        let tick = self.tick_log2;
        let ty = uint(self.interval_width - tick);
        let high = m.reg_init("model_high_q", ty, self.interval >> tick);
        let low = m.reg_init("model_low_q", ty, self.interval >> tick);
        let refused = m.reg_init("model_refused_q", bit(), 0);
        let least = 2 * self.rows;
        let taken = m.wire("model_taken", !(io.config_high_i.lt(least) | io.config_low_i.lt(least)));
        high.next_when(io.config_valid_i & taken, io.config_high_i.shr(tick));
        low.next_when(io.config_valid_i & taken, io.config_low_i.shr(tick));
        refused.next_when(io.config_valid_i, !taken);
        m.assert_always("refusal_is_told", io.config_refused_o.eq(refused.q));
        (high.q, low.q)
    }
}
