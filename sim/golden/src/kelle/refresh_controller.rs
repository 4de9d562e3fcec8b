//! 2DRP: the rules for a legal sequence of refreshes.
//!
//! The checker follows the contract, not a controller. Its inputs are the bank's operations in each cycle and the
//! requirements (validity, classes, intervals). It reports whether the rules hold. Any controller can be checked
//! against it.
//!
//! The age of a row is the number of cycles since its last write or write-back. Ages are known to a `unit` of cycles. A
//! valid row is *overdue* in a cycle when its age exceeds the interval of its class by `unit` or more. If the unit is
//! 1, it must exceed the interval by 1. Class and interval are the current ones. The rules:
//!
//! - **safe**: no row is overdue for more than `wait` cycles in a row. For a row whose class and interval stay, this is
//!   "never older than interval + slack" with a slack of `wait` + `unit` - 1. A row that is promoted, or whose interval
//!   is shortened, may be overdue at once; it too is restored within `wait` cycles.
//! - **no collision**: one operation of the bank in a cycle.
//! - **exact**: a write-back brings the value that was read, so nothing wrote the row since.
//! - **economical**: a row is refreshed only when it was due (age at least the interval) since it was last restored, and
//!   only while it is valid.

use std::fmt;

/// Refresh interval of each class of tokens, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// Rows of tokens with high scores.
    pub high: u64,
    /// Rows of tokens with low scores.
    pub low: u64,
}

impl Intervals {
    fn of(self, high: bool) -> u64 {
        if high { self.high } else { self.low }
    }
}

/// The promise of a refresh controller's contract for a bank group, whatever the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Rows of the group.
    pub rows: u64,
    /// Cycles that refreshes may wait for the banks in one round over the rows.
    pub patience: u64,
    /// The unit in which ages are known, in cycles.
    pub unit: u64,
}

impl Limits {
    /// Consecutive cycles for which a row may be overdue. Two rounds lie between two looks at a row. In a round, the
    /// `rows` looks at other rows take one cycle each, and refreshes take two. Their waits for the banks add to this.
    #[must_use]
    pub fn wait(&self) -> u64 {
        3 * self.rows + 2 * self.patience
    }

    /// By how much a row of constant class may be older than its interval. It is overdue from `unit` on.
    #[must_use]
    pub fn slack(&self) -> u64 {
        self.wait() + self.unit - 1
    }

    /// By how much an undisturbed row may be older than its interval when it is read for its refresh. Undisturbed means
    /// that no other row is due and no access wants the banks. The walk over the rows begins in the cycle in which the
    /// age is known to be enough.
    #[must_use]
    pub fn until_read(&self) -> u64 {
        self.rows + if self.unit == 1 { 0 } else { self.unit }
    }

    /// The most cycles from the report of a promotion to the read of an undisturbed row that is older than its new
    /// interval by a unit. Below a patience of 8 nothing is promised.
    pub const UNTIL_PROMOTED_IS_READ: u64 = 3;

    /// The shortest interval that is accepted: a refresh of each row, a read and a write, fits into it.
    #[must_use]
    pub fn shortest_interval(&self) -> u64 {
        2 * self.rows
    }

    /// The intervals that hold when `asked` are offered: whole units, or `None` if they are refused.
    #[must_use]
    pub fn accepted(&self, asked: Intervals) -> Option<Intervals> {
        let whole = |interval: u64| interval - interval % self.unit;
        let possible = asked.high.min(asked.low) >= self.shortest_interval();
        possible.then(|| Intervals { high: whole(asked.high), low: whole(asked.low) })
    }
}

/// The operation of the bank in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The accelerator reads a row.
    Read(usize),
    /// The accelerator writes a whole row.
    Write(usize),
    /// First half of a refresh.
    RefreshRead(usize),
    /// Second half of a refresh.
    RefreshWrite(usize),
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// A row was overdue for too long.
    Late {
        /// The row.
        row: usize,
        /// Consecutive cycles in which it was overdue.
        overdue: u64,
        /// The allowed cycles.
        wait: u64,
    },
    /// A row was refreshed that had not been due since it was last restored.
    Early {
        /// The row.
        row: usize,
        /// Its age.
        age: u64,
    },
    /// A row that is not valid was refreshed.
    Invalid {
        /// The row.
        row: usize,
    },
    /// More than one operation in a cycle.
    Collision {
        /// All of them.
        operations: Vec<Operation>,
    },
    /// A write-back whose value is not the value last read, or is no longer current.
    Stale {
        /// The row.
        row: usize,
    },
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late { row, overdue, wait } => {
                write!(f, "row {row} was overdue for {overdue} cycles, allowed: {wait}")
            }
            Self::Early { row, age } => write!(f, "row {row} was refreshed at age {age} without having been due"),
            Self::Invalid { row } => write!(f, "row {row} was refreshed and is not valid"),
            Self::Collision { operations } => write!(f, "several operations in one cycle: {operations:?}"),
            Self::Stale { row } => write!(f, "a write-back of row {row} without a read of its current value"),
        }
    }
}

impl std::error::Error for Violation {}

#[derive(Clone, Debug, Default)]
struct Row {
    valid: bool,
    high: bool,
    /// Cycle of the last write or write-back; `None` before the first.
    restored: Option<u64>,
    /// From this cycle on, validity, class and interval have their current values.
    settled: u64,
    /// If it was overdue before that as well, the cycle from which on it was.
    overdue_from: Option<u64>,
    /// Whether the row was due since it was restored, under an earlier class or interval.
    was_due: bool,
}

/// Checks a run, cycle by cycle.
#[derive(Clone, Debug)]
pub struct Checker {
    rows: Vec<Row>,
    intervals: Intervals,
    unit: u64,
    wait: u64,
    now: u64,
    reading: Option<usize>,
    refreshes: Vec<u64>,
    longest: u64,
}

impl Checker {
    /// A bank of `rows` invalid rows. Ages are known to `unit` cycles; a row may be overdue for `wait`.
    #[must_use]
    pub fn new(rows: usize, intervals: Intervals, unit: u64, wait: u64) -> Self {
        Self {
            rows: vec![Row::default(); rows],
            intervals,
            unit,
            wait,
            now: 0,
            reading: None,
            refreshes: vec![0; rows],
            longest: 0,
        }
    }

    /// The current cycle.
    #[must_use]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Refreshes completed, by row.
    #[must_use]
    pub fn refreshes(&self) -> &[u64] {
        &self.refreshes
    }

    /// The longest time that a row was overdue, among all looks so far.
    #[must_use]
    pub fn longest_overdue(&self) -> u64 {
        self.longest
    }

    /// Age of a row in the current cycle; `None` if it was never written.
    #[must_use]
    pub fn age(&self, row: usize) -> Option<u64> {
        self.rows[row].restored.map(|at| self.now - at)
    }

    /// From the current cycle on, `row` is valid or not.
    ///
    /// # Errors
    /// The row was overdue for too long before.
    pub fn set_valid(&mut self, row: usize, valid: bool) -> Result<(), Violation> {
        let before = self.intervals;
        if self.rows[row].valid == valid { Ok(()) } else { self.change(row, before, |r| r.valid = valid) }
    }

    /// From the current cycle on, `row` has a high score or a low one.
    ///
    /// # Errors
    /// The row was overdue for too long before.
    pub fn set_class(&mut self, row: usize, high: bool) -> Result<(), Violation> {
        let before = self.intervals;
        if self.rows[row].high == high { Ok(()) } else { self.change(row, before, |r| r.high = high) }
    }

    /// From the current cycle on, other intervals hold.
    ///
    /// # Errors
    /// A row was overdue for too long before.
    pub fn set_intervals(&mut self, intervals: Intervals) -> Result<(), Violation> {
        let before = std::mem::replace(&mut self.intervals, intervals);
        (0..self.rows.len()).try_for_each(|row| self.change(row, before, |_| {}))
    }

    /// Changes the requirements of a row. Until now the intervals were `before`.
    fn change(&mut self, row: usize, before: Intervals, change: impl FnOnce(&mut Row)) -> Result<(), Violation> {
        let after = std::mem::replace(&mut self.intervals, before);
        let (start, due) = (self.overdue_start(row), self.due(row));
        self.look(row, 0)?;
        self.intervals = after;
        change(&mut self.rows[row]);
        let now = self.now;
        self.rows[row].was_due |= due;
        self.rows[row].overdue_from = None;
        self.rows[row].settled = 0;
        // Overdue before and after: a single stretch of time.
        let still = self.overdue_start(row).is_some_and(|s| s <= now);
        self.rows[row].overdue_from = start.filter(|&s| still && s < now);
        self.rows[row].settled = now;
        Ok(())
    }

    /// The first cycle of the stretch in which `row` is overdue, or will be if nothing changes.
    fn overdue_start(&self, row: usize) -> Option<u64> {
        let r = &self.rows[row];
        let restored = r.restored.filter(|_| r.valid)?;
        Some(r.overdue_from.unwrap_or((restored + self.intervals.of(r.high) + self.unit).max(r.settled)))
    }

    /// Checks a row up to the current cycle (and `more` cycles beyond).
    fn look(&mut self, row: usize, more: u64) -> Result<(), Violation> {
        let overdue = self.overdue_start(row).map_or(0, |start| (self.now + more).saturating_sub(start));
        self.longest = self.longest.max(overdue);
        if overdue > self.wait {
            return Err(Violation::Late { row, overdue, wait: self.wait });
        }
        Ok(())
    }

    fn due(&self, row: usize) -> bool {
        let r = &self.rows[row];
        r.was_due || r.restored.is_some_and(|at| self.now - at >= self.intervals.of(r.high))
    }

    fn restore(&mut self, row: usize) -> Result<(), Violation> {
        // The current cycle still counts as overdue.
        self.look(row, 1)?;
        let now = self.now;
        let r = &mut self.rows[row];
        (r.restored, r.was_due, r.overdue_from) = (Some(now), false, None);
        Ok(())
    }

    /// One cycle with all operations of the bank in it.
    ///
    /// # Errors
    /// A broken rule.
    pub fn cycle(&mut self, operations: &[Operation]) -> Result<(), Violation> {
        match *operations {
            [] | [Operation::Read(_)] => {}
            [Operation::Write(row)] => {
                self.restore(row)?;
                self.reading = self.reading.filter(|&r| r != row);
            }
            [Operation::RefreshRead(row)] => {
                if !self.rows[row].valid {
                    return Err(Violation::Invalid { row });
                }
                if !self.due(row) {
                    return Err(Violation::Early { row, age: self.age(row).unwrap_or(0) });
                }
                self.reading = Some(row);
            }
            [Operation::RefreshWrite(row)] => {
                if self.reading.take() != Some(row) {
                    return Err(Violation::Stale { row });
                }
                if !self.rows[row].valid {
                    return Err(Violation::Invalid { row });
                }
                self.restore(row)?;
                self.refreshes[row] += 1;
            }
            _ => return Err(Violation::Collision { operations: operations.to_vec() }),
        }
        self.now += 1;
        Ok(())
    }

    /// Checks the rows that were not restored lately.
    ///
    /// # Errors
    /// A row that is overdue for too long.
    pub fn finish(&mut self) -> Result<(), Violation> {
        (0..self.rows.len()).try_for_each(|row| self.look(row, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Operation::{Read, RefreshRead, RefreshWrite, Write};

    #[test]
    fn limits_of_the_contract() {
        let limits = Limits { rows: 128, patience: 256, unit: 256 };
        assert_eq!((limits.wait(), limits.slack(), limits.shortest_interval()), (896, 1151, 256));
        let accepted = |high, low| limits.accepted(Intervals { high, low }).map(|i| (i.high, i.low));
        assert_eq!(accepted(43_000, 512), Some((42_752, 512)));
        assert_eq!(accepted(256, 256), Some((256, 256)));
        assert_eq!((accepted(255, 43_000), accepted(43_000, 255)), (None, None));
        let exact = Limits { rows: 2, patience: 0, unit: 1 };
        assert_eq!((exact.wait(), exact.slack(), exact.shortest_interval()), (6, 6, 4));
        assert_eq!(exact.accepted(Intervals { high: 5, low: 7 }), Some(Intervals { high: 5, low: 7 }));
    }

    fn quiet(c: &mut Checker, cycles: u64) {
        (0..cycles).for_each(|_| c.cycle(&[]).unwrap());
    }

    fn checker() -> Checker {
        let mut c = Checker::new(2, Intervals { high: 10, low: 40 }, 1, 5);
        c.cycle(&[Write(0)]).unwrap();
        c.set_valid(0, true).unwrap();
        c
    }

    #[test]
    fn a_row_may_be_interval_and_slack_old() {
        let mut c = checker();
        // Written in cycle 0: in cycle 40 it is due, in 41 overdue, and restored in cycle 45 for 5 cycles overdue.
        quiet(&mut c, 43);
        c.cycle(&[RefreshRead(0)]).unwrap();
        assert_eq!(c.now(), 45);
        let mut late = c.clone();
        c.cycle(&[RefreshWrite(0)]).unwrap();
        assert_eq!((c.longest_overdue(), c.refreshes()[0]), (5, 1));
        late.cycle(&[Read(1)]).unwrap();
        assert_eq!(late.cycle(&[RefreshWrite(0)]), Err(Violation::Late { row: 0, overdue: 6, wait: 5 }));
    }

    #[test]
    fn a_promoted_row_has_slack_from_its_promotion() {
        let mut c = checker();
        quiet(&mut c, 29);
        // Age 30: overdue at once under the short interval.
        c.set_class(0, true).unwrap();
        quiet(&mut c, 5);
        c.finish().unwrap();
        let mut late = c.clone();
        quiet(&mut late, 1);
        assert!(matches!(late.finish(), Err(Violation::Late { row: 0, overdue: 6, .. })));
        // Demoted and promoted within a cycle, it is overdue without a break.
        let mut both = c.clone();
        both.set_intervals(Intervals { high: 10, low: 12 }).unwrap();
        both.set_class(0, false).unwrap();
        quiet(&mut both, 1);
        assert!(matches!(both.finish(), Err(Violation::Late { row: 0, overdue: 6, .. })));
        // Demoted in time, it is no longer overdue. But it was due, so it may be refreshed.
        c.set_class(0, false).unwrap();
        c.finish().unwrap();
        c.cycle(&[RefreshRead(0)]).unwrap();
        c.cycle(&[RefreshWrite(0)]).unwrap();
    }

    #[test]
    fn what_was_due_is_not_due_any_more_when_it_was_restored() {
        // Overdue while it was promoted, and then demoted: due, though younger than its interval.
        let was_due = || {
            let mut c = checker();
            quiet(&mut c, 14);
            c.set_class(0, true).unwrap();
            c.set_class(0, false).unwrap();
            c
        };
        let mut refreshed = was_due();
        refreshed.cycle(&[RefreshRead(0)]).unwrap();
        refreshed.cycle(&[RefreshWrite(0)]).unwrap();
        assert_eq!(refreshed.cycle(&[RefreshRead(0)]), Err(Violation::Early { row: 0, age: 1 }));
        let mut written = was_due();
        written.cycle(&[Write(0)]).unwrap();
        quiet(&mut written, 38);
        assert_eq!(written.clone().cycle(&[RefreshRead(0)]), Err(Violation::Early { row: 0, age: 39 }));
        quiet(&mut written, 1);
        written.cycle(&[RefreshRead(0)]).unwrap();
    }

    #[test]
    fn shorter_intervals_are_like_promotions() {
        let mut c = checker();
        quiet(&mut c, 20);
        c.set_intervals(Intervals { high: 5, low: 8 }).unwrap();
        quiet(&mut c, 6);
        assert!(matches!(c.finish(), Err(Violation::Late { overdue: 6, .. })));
    }

    #[test]
    fn coarse_ages() {
        // Written in cycle 0 with a unit of 4: overdue from age 14 on.
        let mut c = Checker::new(1, Intervals { high: 10, low: 10 }, 4, 5);
        c.cycle(&[Write(0)]).unwrap();
        c.set_valid(0, true).unwrap();
        quiet(&mut c, 18);
        c.finish().unwrap();
        assert_eq!((c.now(), c.longest_overdue()), (19, 5));
        quiet(&mut c, 1);
        assert!(c.finish().is_err());
    }

    #[test]
    fn wrong_refreshes() {
        let mut c = checker();
        assert_eq!(c.cycle(&[RefreshRead(0)]), Err(Violation::Early { row: 0, age: 1 }));
        assert_eq!(c.cycle(&[RefreshRead(1)]), Err(Violation::Invalid { row: 1 }));
        assert_eq!(c.cycle(&[RefreshWrite(0)]), Err(Violation::Stale { row: 0 }));
        assert!(matches!(c.cycle(&[Read(0), RefreshRead(0)]), Err(Violation::Collision { .. })));
        quiet(&mut c, 40);
        c.cycle(&[RefreshRead(0)]).unwrap();
        c.cycle(&[Write(0)]).unwrap();
        assert_eq!(c.cycle(&[RefreshWrite(0)]), Err(Violation::Stale { row: 0 }));
    }

    #[test]
    fn invalid_rows_are_nobodys_business() {
        let mut c = checker();
        quiet(&mut c, 30);
        c.set_valid(0, false).unwrap();
        quiet(&mut c, 1000);
        c.finish().unwrap();
    }
}
