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

mod hardware;
mod properties;

use crate::lang::{CatalogBlock, In, Out, Proof, bit, bits_for, index_width, parameters, ports, uint};

/// Bank cycles of a refresh: read, write back.
pub const REFRESH_CYCLES: u32 = 2;

parameters! {
    /// Elaboration parameters.
    pub struct RefreshController {
        /// Rows of the bank group.
        rows: u32 = 128, in 2..=131_072, tag "m";
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
