//! Refresh controller of 2DRP: keeps the rows of an eDRAM bank group younger than the interval of their score class.
//!
//! It serves the MSB or the LSB banks of the keys or the values: all banks of the group share addresses, so a row is
//! refreshed in all of them at once. A refresh takes the banks for two cycles, which need not follow each other: the
//! row is read into a buffer, and written back from it. A write of the same row in between makes the write-back
//! needless, and the controller leaves it out.
//!
//! # How it works
//! A pointer walks the rows for ever, one row a cycle. It looks up the row's validity and class, and a stamp of the
//! time when the row was last restored. Validity and class come from the score file, which is told the row a cycle
//! ahead, so that it may be a memory. The stamp is in a small RAM beside the controller, written with every write and
//! write-back. A row that is due is refreshed before the pointer moves on.
//!
//! Each half of a refresh waits for a cycle in which nobody wants the banks. Waiting is paid from a budget of
//! `patience` cycles that is renewed with each round. When it is spent, refreshes no longer wait and the access port
//! does (`access_ready_o`). So a round ends after at most 3 `rows` + `patience` cycles, whatever the traffic, and the
//! banks are free at least every third cycle.
//!
//! # Why it is safe
//! Between two looks at a row lie at most two partial rounds. So a row is seen and refreshed at most 3 `rows` + 2
//! `patience` cycles after the cycle in which it became overdue. The reason does not matter: age, promotion, a shorter
//! interval. Stamps count in units of 2^`tick_log2` cycles, so a row may be a unit less a cycle older than its interval
//! before the controller is sure of it. Both together are the slack. It cannot be much smaller: if all rows become
//! overdue at once, no controller restores the last one in fewer than 2 `rows` cycles.
//!
//! A promotion that the score file reports is looked at before the walk goes on. There is one at a time; the walk finds
//! promotions that come meanwhile. These looks are paid from the same budget, so that they cannot delay the round.

mod properties;

use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, Proof, Timing, bit, bits_for, index_width, mux, parameters, ports,
    select, uint,
};

/// Bank cycles of a refresh: read, write back.
pub const REFRESH_CYCLES: u32 = 2;

parameters! {
    /// Elaboration parameters.
    pub struct RefreshController {
        /// Rows of the bank group.
        rows: u32 = 128, in 2..=16_384, tag "m";
        /// Width of a refresh interval in bits.
        interval_width: u32 = 23, in 3..=31, tag "w";
        /// Interval of both classes after reset, in cycles.
        interval: u32 = 43_000, in 4..=0x7fff_ffff, note "2 x rows to 2^interval_width - 1", tag "i";
        /// Cycles that refreshes may wait for the banks in one round; below 4, promotions wait for the walk.
        patience: u32 = 256, in 0..=65_535, tag "p";
        /// Time stamps count in units of 2^tick_log2 cycles.
        tick_log2: u32 = 8, in 0..=16, note "at most interval_width - 2", tag "t";
        /// Width of the counters of refreshes and stalls in bits.
        counter_width: u32 = 32, in 1..=64;
    }
    rules = |p, rules| {
        let (shortest, longest) = (REFRESH_CYCLES * p.rows, (1u32 << p.interval_width) - 1);
        let allowed = format!(
            "{shortest} to {longest}: refreshing {} rows takes {REFRESH_CYCLES} cycles each, and 2^interval_width - 1 is {longest}",
            p.rows
        );
        rules.demand((shortest..=longest).contains(&p.interval), "interval", p.interval, allowed);
        let most = p.interval_width - 2;
        rules.demand(p.tick_log2 <= most, "tick_log2", p.tick_log2, format!("0 to interval_width - 2 = {most}"));
        let (slack, interval) = (p.slack(), u64::from(p.interval));
        rules.doubt(
            slack > interval,
            format!("the slack of {slack} cycles is above the interval of {interval}: a row may be more than twice as old as asked"),
        );
        rules.doubt(
            p.effective(interval) == 0,
            format!("the interval of {interval} cycles is below a unit of the time stamps, 2^{}: it counts as 0", p.tick_log2),
        );
    };
}

ports! {
    /// Ports of [`RefreshController`].
    pub struct RefreshControllerPorts(p: &RefreshController) {
        /// Somebody wants the banks in this cycle.
        access_valid_i: In = bit(),
        /// The banks are free for the access. Does not depend on `access_valid_i`; low for at most 2 cycles in a row.
        access_ready_o: Out = bit(),
        /// The access writes the whole row.
        access_write_i: In = bit(),
        /// Row of the access.
        access_row_i: In = p.row(),
        /// Row that is looked at in the next cycle: where validity and class are in a memory they are read now.
        look_row_o: Out = p.row(),
        /// Row `refresh_row_o` holds a token in this cycle; low where there is no such row. A row that becomes valid
        /// was written at most 2^interval_width - 1 cycles ago, and since reset. Otherwise its age is taken wrongly
        /// until it is next restored, and only its own.
        valid_i: In = bit(),
        /// Its score is high in this cycle.
        high_i: In = bit(),
        /// A row was promoted from low to high: look at it first. While one report waits, others are dropped. A report
        /// that is missing, dropped or wrong, or of a row that does not exist, costs patience at most: the walk comes
        /// by.
        promoted_valid_i: In = bit(),
        /// The promoted row.
        promoted_row_i: In = p.row(),
        /// Take new intervals, from the next cycle on. Both are taken or none.
        config_valid_i: In = bit(),
        /// Interval of rows with high scores, in cycles.
        config_high_i: In = uint(p.interval_width),
        /// Interval of rows with low scores, in cycles.
        config_low_i: In = uint(p.interval_width),
        /// The last intervals offered were too short for any schedule (below 2 x rows), and the ones before hold. Valid
        /// from the cycle after an offer to the next one; low after reset.
        config_refused_o: Out = bit(),
        /// The banks read row `refresh_row_o` into the refresh buffer.
        refresh_read_o: Out = bit(),
        /// The banks write the refresh buffer back to row `refresh_row_o`.
        refresh_write_o: Out = bit(),
        /// Row that is looked at, and of the refresh if there is one. A register: it does not depend on this cycle's
        /// inputs.
        refresh_row_o: Out = p.row(),
        /// Write-backs made since reset, modulo 2^counter_width; each counts from the next cycle on. A refresh that was
        /// given up, since its row was written or went, does not count. Only a reset clears it.
        refreshes_o: Out = uint(p.counter_width),
        /// Cycles since reset in which an access had to wait, modulo 2^counter_width; likewise.
        stalls_o: Out = uint(p.counter_width),
    }
}

impl RefreshController {
    /// Type of a row's address.
    #[must_use]
    pub fn row(&self) -> crate::lang::Type {
        uint(index_width(u64::from(self.rows)))
    }

    /// Consecutive cycles for which a row may be overdue.
    #[must_use]
    pub fn wait(&self) -> u64 {
        3 * u64::from(self.rows) + 2 * u64::from(self.patience)
    }

    /// Cycles by which a row may be older than the interval of its class, when class and interval do not change.
    #[must_use]
    pub fn slack(&self) -> u64 {
        self.wait() + (1 << self.tick_log2) - 1
    }

    /// The interval that is kept when `interval` is asked for: whole units of the time stamps.
    #[must_use]
    pub fn effective(&self, interval: u64) -> u64 {
        interval >> self.tick_log2 << self.tick_log2
    }

    /// The shortest interval that is not refused, in cycles.
    #[must_use]
    pub fn shortest_interval(&self) -> u64 {
        u64::from(REFRESH_CYCLES) * u64::from(self.rows)
    }

    /// Width of a stamp: the oldest row must not look young.
    #[must_use]
    pub fn stamp_width(&self) -> u32 {
        let oldest = (1u64 << self.interval_width) - 1 + self.slack();
        bits_for((oldest >> self.tick_log2) + 2)
    }
}

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

        let inner = properties::Inner {
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

impl CatalogBlock for RefreshController {
    // Two rows without patience are refreshed all the time.
    const SAMPLE: &'static [(&'static str, u32)] = &[
        ("rows", 5),
        ("interval_width", 6),
        ("interval", 20),
        ("patience", 8),
        ("tick_log2", 0),
        ("counter_width", 6),
    ];

    fn configurations() -> Vec<Self> {
        let set = |rows, interval_width, interval, patience, tick_log2, counter_width| Self {
            rows,
            interval_width,
            interval,
            patience,
            tick_log2,
            counter_width,
        };
        vec![set(2, 3, 4, 0, 0, 1), set(7, 8, 20, 9, 2, 8), set(33, 10, 66, 40, 0, 32)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let set = |rows, interval_width, patience, tick_log2| Self {
            rows,
            interval_width,
            interval: REFRESH_CYCLES * rows,
            patience,
            tick_log2,
            counter_width: 1,
        };
        let proof = |block, depth| Proof { block, depth, cover_depth: 40, induction: true };
        vec![proof(set(2, 3, 5, 0), 8), proof(set(3, 4, 0, 1), 8)]
    }
}
