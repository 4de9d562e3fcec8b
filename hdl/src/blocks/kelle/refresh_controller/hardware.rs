//! The rows whose turn it is.

use super::{REFRESH_CYCLES, RefreshController, RefreshControllerPorts};
use crate::lang::{About, Block, Module, Timing, bit, bits_for, mux, select, uint};

impl Block for RefreshController {
    type Ports = RefreshControllerPorts;
    const ABOUT: About = About {
        name: "refresh_controller",
        summary: "two-dimensional adaptive refresh of one eDRAM bank group",
        contract: "The age of a row is the cycles since its last write or write-back; intervals are rounded down to\n\
            multiples of u = 2^tick_log2. A valid row is overdue when its age exceeds the interval of its class +\n\
            u - 1. No row is overdue for more than 3 rows + 2 patience cycles in a row, whatever happens at the\n\
            inputs. With a constant class and interval its age never exceeds interval + slack, slack = 3 rows + 2\n\
            patience + u - 1. An access (valid and ready) and a refresh never meet; ready is low for at most 2\n\
            cycles in a row. A row is refreshed only if it is valid and was due since it was last restored. A row\n\
            that becomes valid must have been written at most 2^interval_width - 1 cycles ago.\n\
            A row that is due alone, with free banks, is read for its refresh at most rows cycles after it is known\n\
            to be due. It is known to be due at age interval with u = 1, at age interval + u otherwise. It is written\n\
            back in the next cycle. A row that is promoted at that age or later and reported, with 8 cycles of\n\
            patience left, is read at most 3 cycles later. Accesses have priority: the refresh of a row that is the\n\
            only valid one waits for them for max(patience, 2) - 2 cycles in its turn, and then they wait for it.\n\
            Reset, at any time: a refresh under way is given up, and rows count from their next write on.",
        reference: "Kelle, sections 4.2 and 5.1, figures 7 and 10",
    };

    fn build(&self, m: &mut Module, io: &RefreshControllerPorts) {
        let stamp_ty = uint(self.stamp_width());
        let tick = self.tick_log2;
        m.comment("Time, and the intervals in units of the time stamps.");
        let now = m.reg_init("now_q", uint(tick + stamp_ty.width), 0);
        now.next(now.q.wrapping_add(1));
        let stamp_now = m.wire("stamp_now", now.q.slice(tick..tick + stamp_ty.width));
        let limit_ty = uint(self.interval_width - tick);
        let high_limit = m.reg_init("high_limit_q", limit_ty, self.interval >> tick);
        let low_limit = m.reg_init("low_limit_q", limit_ty, self.interval >> tick);
        let refused = m.reg_init("refused_q", bit(), 0);
        let shortest = self.shortest_interval();
        let feasible = m.wire("feasible", io.config_high_i.ge(shortest) & io.config_low_i.ge(shortest));
        high_limit.next_when(io.config_valid_i & feasible, io.config_high_i.shr(tick));
        low_limit.next_when(io.config_valid_i & feasible, io.config_low_i.shr(tick));
        refused.next_when(io.config_valid_i, !feasible);
        m.connect(io.config_refused_o, refused.q);

        m.comment("The row looked at: the row of the walk, or a row that was promoted.");
        let state = m.fsm("state", &["Check", "Read", "Write"]);
        let walk = m.reg_init("walk_q", self.row(), 0);
        let row = m.reg_init("row_q", self.row(), 0);
        let hinted = m.reg_init("hinted_q", bit(), 0);
        let hint = m.reg_init("hint_q", bit(), 0);
        let hint_row = m.reg("hint_row_q", self.row());
        let fresh = m.reg_init("fresh_q", bit(), 1);
        let credit = m.reg_init("credit_q", uint(bits_for(self.patience.into())), self.patience);
        let stamps = m.memory("stamps", self.rows, stamp_ty.width, stamp_ty.width);
        let row_next = m.net("row_next", self.row());
        let stamp = stamps.read("stamp_q", bit().lit(1), row_next);
        let valid = m.wire("valid", io.valid_i);
        let high = m.wire("high", io.high_i);

        m.comment("The banks: accesses have priority while waiting is paid for.");
        let serving = m.wire("serving", !state.is("Check"));
        // Two cycles of waiting are kept back: with them a promoted row's refresh stays within its budget.
        let urgent = m.wire("urgent", credit.q.lt(3));
        let ready = m.wire("ready", !(serving & urgent));
        let go = m.wire("go", serving & valid & (urgent | !io.access_valid_i));
        let access_write = m.wire("access_write", io.access_valid_i & ready & io.access_write_i);
        let touched = m.wire("touched", access_write & io.access_row_i.eq(row.q));
        let refresh_read = m.wire("refresh_read", go & state.is("Read"));
        let refresh_write = m.wire("refresh_write", go & state.is("Write"));
        m.connect(io.access_ready_o, ready);
        m.connect(io.refresh_read_o, refresh_read);
        m.connect(io.refresh_write_o, refresh_write);
        m.connect(io.refresh_row_o, row.q);
        let written = m.wire("written", access_write | refresh_write);
        let written_row = m.wire("written_row", mux(refresh_write, row.q, io.access_row_i));
        stamps.write(written, written_row, stamp_now);

        m.comment("Is the row due? Its stamp was read in the cycle before; a write since then made it young.");
        let age = m.wire("age", stamp_now.wrapping_sub(stamp));
        let limit = m.wire("limit", mux(high, high_limit.q, low_limit.q));
        let old = if tick == 0 { age.ge(limit) } else { age.gt(limit) };
        let due = m.wire("due", state.is("Check") & valid & old & !fresh.q & !touched);
        let dropped = m.wire("dropped", touched | !valid);
        state.goto("Check", due, "Read");
        state.goto("Read", dropped, "Check");
        state.goto("Read", go, "Write");
        state.goto("Write", dropped | go, "Check");
        let done = m.wire("done", (state.is("Check") & !due) | (serving & dropped) | refresh_write);

        m.comment("The next row to look at, and the remaining budget of waiting.");
        let step = m.wire("step", done & !hinted.q);
        let last = m.wire("last", walk.q.eq(self.rows - 1));
        let walk_next = m.wire("walk_next", mux(last, self.row().lit(0), walk.q.wrapping_add(1)));
        let spend = m.wire("spend", (hinted.q | (serving & !go)) & credit.q.any());
        let left = m.wire("left", mux(spend, credit.q.wrapping_sub(1), credit.q));
        let credit_next = m.wire("credit_next", mux(step & last, credit.q.ty().lit(self.patience), left));
        credit.next(credit_next);
        let take_hint = m.wire("take_hint", step & hint.q & credit_next.ge(4));
        let hint_done = m.wire("hint_done", done & hinted.q);
        let hint_free = m.wire("hint_free", io.promoted_valid_i & (!hint.q | hint_done));
        hint.next(hint_free | (hint.q & !hint_done));
        hint_row.next_when(hint_free, io.promoted_row_i);
        hinted.next(take_hint | (hinted.q & !done));
        walk.next_when(step, walk_next);
        let next = select(&[(take_hint, hint_row.q), (hint_done, walk.q), (step, walk_next)], row.q);
        m.connect(row_next, next);
        m.connect(io.look_row_o, row_next);
        row.next(row_next);
        fresh.next(written & written_row.eq(row_next));

        let counter = uint(self.counter_width);
        let refreshes = m.reg_init("refreshes_q", counter, 0);
        let stalls = m.reg_init("stalls_q", counter, 0);
        refreshes.next_when(refresh_write, refreshes.q.wrapping_add(1));
        stalls.next_when(io.access_valid_i & !ready, stalls.q.wrapping_add(1));
        m.connect(io.refreshes_o, refreshes.q);
        m.connect(io.stalls_o, stalls.q);

        let inner = super::properties::Inner {
            walk: walk.q,
            row: row.q,
            hinted: hinted.q,
            credit: credit.q,
            reading: state.is("Read"),
            writing: state.is("Write"),
            stamp,
            fresh: fresh.q,
            now: now.q,
            take_hint,
        };
        self.properties(m, io, &inner);
    }

    fn timing(&self) -> Timing {
        let round = 3 * u64::from(self.rows) + u64::from(self.patience);
        Timing::new()
            .phase("slack", self.slack(), "by which a row may be older than the interval of its class")
            .phase("overdue", self.wait(), "from a row becoming overdue to its write-back, at most")
            .phase("round", round, "from one look at a row to the next, at most")
            .phase("stall", REFRESH_CYCLES, "from access_ready_o going low to going high, at most")
    }
}
