//! 2DRP: a reference schedule, and the number of its refreshes.
//!
//! Each valid row is refreshed when its age reaches the interval of its class: not earlier, and later only when the
//! bank is busy. Among rows that are due, the row that has been due longest goes first. A row that a promotion made
//! overdue has been due since its age passed the new interval.

use super::refresh_controller::{Intervals, Operation};

/// A step of decoding, in terms of the rows of a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The row that the new token takes.
    pub written: usize,
    /// For each row, whether its score is high.
    pub high: Vec<bool>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    restored: u64,
    high: bool,
}

/// Chooses refreshes for a bank in which accesses go first.
#[derive(Clone, Debug)]
pub struct Reference {
    rows: Vec<Option<Row>>,
    intervals: Intervals,
    now: u64,
    reading: Option<usize>,
}

impl Reference {
    /// A bank of `rows` invalid rows.
    #[must_use]
    pub fn new(rows: usize, intervals: Intervals) -> Self {
        Self { rows: vec![None; rows], intervals, now: 0, reading: None }
    }

    /// From now on `row` has a high score or a low one.
    pub fn set_class(&mut self, row: usize, high: bool) {
        if let Some(row) = &mut self.rows[row] {
            row.high = high;
        }
    }

    /// One cycle. Returns the bank's operation: the access if there is one, otherwise a refresh. A write makes its row
    /// valid; if the row was not valid before, it gets a low score.
    pub fn cycle(&mut self, access: Option<Operation>) -> Option<Operation> {
        let operation = access.or_else(|| self.refresh());
        if let Some(Operation::Write(row) | Operation::RefreshWrite(row)) = operation {
            let high = self.rows[row].is_some_and(|r| r.high);
            self.rows[row] = Some(Row { restored: self.now, high });
            // The value read before is no longer the row's current value.
            self.reading = self.reading.filter(|&r| r != row);
        }
        if let Some(Operation::RefreshRead(row)) = operation {
            self.reading = Some(row);
        }
        self.now += 1;
        operation
    }

    fn refresh(&self) -> Option<Operation> {
        if let Some(row) = self.reading {
            return Some(Operation::RefreshWrite(row));
        }
        let since = |row: &Row| row.restored + if row.high { self.intervals.high } else { self.intervals.low };
        let due = |(at, row): (usize, &Option<Row>)| row.map(|r| (since(&r), at)).filter(|d| d.0 <= self.now);
        self.rows.iter().enumerate().filter_map(due).min().map(|(_, row)| Operation::RefreshRead(row))
    }
}

/// Counts the refreshes of an ideal schedule, in which each row is refreshed exactly when its age reaches its interval.
/// It works event by event, for long traces in which most cycles have no event. A refresh that is due in the cycle of
/// an event comes before the event.
#[derive(Clone, Debug)]
pub struct Counter {
    rows: Vec<Option<Row>>,
    intervals: Intervals,
    refreshes: u64,
}

impl Counter {
    /// A bank of `rows` invalid rows.
    #[must_use]
    pub fn new(rows: usize, intervals: Intervals) -> Self {
        Self { rows: vec![None; rows], intervals, refreshes: 0 }
    }

    /// Refreshes up to the last event.
    #[must_use]
    pub fn refreshes(&self) -> u64 {
        self.refreshes
    }

    /// Advances a row to cycle `now`.
    fn advance(&mut self, row: usize, now: u64) {
        let intervals = self.intervals;
        let Some(r) = &mut self.rows[row] else { return };
        let interval = if r.high { intervals.high } else { intervals.low };
        let times = (now - r.restored) / interval;
        self.refreshes += times;
        r.restored += times * interval;
    }

    /// A row is written. From then on it is valid, with a low score.
    pub fn write(&mut self, row: usize, now: u64) {
        self.advance(row, now);
        self.rows[row] = Some(Row { restored: now, high: false });
    }

    /// Sets the class of a row. A row that is overdue under a shorter interval is refreshed at once.
    pub fn set_class(&mut self, row: usize, high: bool, now: u64) {
        self.advance(row, now);
        let interval = if high { self.intervals.high } else { self.intervals.low };
        let Some(r) = &mut self.rows[row] else { return };
        r.high = high;
        if now - r.restored >= interval {
            self.refreshes += 1;
            r.restored = now;
        }
    }

    /// Advances all rows to cycle `now`.
    pub fn finish(&mut self, now: u64) {
        (0..self.rows.len()).for_each(|row| self.advance(row, now));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::refresh_controller::Checker;
    use super::*;

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        /// The reference schedule is legal. Its slack: all rows may become due at once, and each takes two free cycles.
        #[test]
        fn is_legal(
            events in prop::collection::vec((0..4u8, 0..4usize, any::<bool>()), 200..600),
            high in 8..20u64,
            low in 20..60u64,
        ) {
            let intervals = Intervals { high, low };
            let mut reference = Reference::new(4, intervals);
            // At least every other cycle is free.
            let mut checker = Checker::new(4, intervals, 1, 4 * 2 * 2 + 2);
            for (at, (kind, row, high)) in events.into_iter().enumerate() {
                let access = match kind {
                    _ if at % 2 == 0 => None,
                    0 => Some(Operation::Write(row)),
                    1 => Some(Operation::Read(row)),
                    2 => {
                        reference.set_class(row, high);
                        if reference.rows[row].is_some() {
                            checker.set_class(row, high).unwrap();
                        }
                        None
                    }
                    _ => None,
                };
                let operation = reference.cycle(access);
                let list: Vec<_> = operation.into_iter().collect();
                prop_assert!(checker.cycle(&list).is_ok(), "{list:?}");
                if let Some(Operation::Write(row)) = operation {
                    checker.set_valid(row, true).unwrap();
                }
            }
            prop_assert!(checker.finish().is_ok());
        }

        /// The count is the same, event by event or cycle by cycle.
        #[test]
        fn counts_are_those_of_every_cycle(
            events in prop::collection::vec((0..12u64, 0..3usize, 0..4u8), 1..60),
            high in 1..8u64,
            low in 8..40u64,
        ) {
            let intervals = Intervals { high, low };
            let (mut counter, mut rows) = (Counter::new(3, intervals), [None::<Row>; 3]);
            let (mut now, mut expected) = (0, 0);
            let due = |row: &Row, now| now - row.restored >= if row.high { high } else { low };
            for (pause, at, event) in events {
                for _ in 0..pause {
                    now += 1;
                    for row in rows.iter_mut().flatten().filter(|row| due(row, now)) {
                        (row.restored, expected) = (now, expected + 1);
                    }
                }
                if event < 2 {
                    counter.write(at, now);
                    rows[at] = Some(Row { restored: now, high: false });
                } else {
                    counter.set_class(at, event == 2, now);
                    if let Some(row) = &mut rows[at] {
                        row.high = event == 2;
                        if due(row, now) {
                            (row.restored, expected) = (now, expected + 1);
                        }
                    }
                }
                let mut so_far = counter.clone();
                so_far.finish(now);
                prop_assert_eq!(so_far.refreshes(), expected);
            }
        }

        /// On an idle bank the schedule takes as many refreshes as the counter counts.
        #[test]
        fn counts_agree(high in 20..30u64, low in 30..90u64, is_high in any::<bool>(), cycles in 100..500u64) {
            let intervals = Intervals { high, low };
            let (mut reference, mut counter) = (Reference::new(1, intervals), Counter::new(1, intervals));
            reference.cycle(Some(Operation::Write(0)));
            counter.write(0, 0);
            reference.set_class(0, is_high);
            counter.set_class(0, is_high, 1);
            let mut done = 0;
            for _ in 0..cycles {
                done += u64::from(matches!(reference.cycle(None), Some(Operation::RefreshWrite(_))));
            }
            counter.finish(cycles);
            // A real refresh takes a cycle more than an ideal one, so the next interval starts a cycle later.
            let drift = counter.refreshes() / if is_high { high } else { low };
            prop_assert!(counter.refreshes() - done <= 1 + drift);
        }
    }

    #[test]
    fn longest_due_goes_first() {
        let mut r = Reference::new(2, Intervals { high: 10, low: 50 });
        r.cycle(Some(Operation::Write(1)));
        r.cycle(Some(Operation::Write(0)));
        (0..30).for_each(|_| assert_eq!(r.cycle(None), None));
        r.set_class(0, true);
        r.set_class(1, true);
        let got: Vec<_> = (0..4).filter_map(|_| r.cycle(None)).collect();
        use Operation::{RefreshRead, RefreshWrite};
        assert_eq!(got, [RefreshRead(1), RefreshWrite(1), RefreshRead(0), RefreshWrite(0)]);
    }

    #[test]
    fn counted_by_hand() {
        let mut c = Counter::new(2, Intervals { high: 10, low: 100 });
        c.write(0, 0);
        c.set_class(0, true, 35);
        assert_eq!(c.refreshes(), 1, "overdue at once");
        c.finish(66);
        assert_eq!(c.refreshes(), 1 + 3);
    }

    #[test]
    fn counted_at_the_edges() {
        let counter = || {
            let mut c = Counter::new(2, Intervals { high: 10, low: 100 });
            c.write(0, 7);
            c
        };
        let finish = |mut c: Counter, now| {
            c.finish(now);
            c.refreshes()
        };
        // In cycle 107 the age is 100, and again in cycle 207.
        assert_eq!([106, 107, 206, 207].map(|now| finish(counter(), now)), [0, 1, 1, 2]);
        // A refresh that is due in the cycle of a write comes before the write. The write makes the row young.
        let mut c = counter();
        c.write(0, 107);
        assert_eq!([107, 206, 207].map(|now| finish(c.clone(), now)), [1, 1, 2]);
        // A promotion in the cycle in which the age reaches the shorter interval refreshes the row. One cycle earlier
        // it does not.
        for (now, at_once) in [(16, 0), (17, 1)] {
            let mut c = counter();
            c.set_class(0, true, now);
            assert_eq!(c.refreshes(), at_once);
            assert_eq!([17, 26, 27].map(|now| finish(c.clone(), now)), [1, 1, 2]);
        }
        // A promoted row keeps the time of its last refresh: 107, then 117 and 127.
        let mut c = counter();
        c.set_class(0, true, 109);
        assert_eq!([109, 116, 117, 127].map(|now| finish(c.clone(), now)), [1, 1, 2, 3]);
        // A demoted row waits longer. A row that is written again has a low score.
        let mut c = counter();
        c.set_class(0, true, 8);
        c.set_class(0, false, 9);
        assert_eq!([106, 107].map(|now| finish(c.clone(), now)), [0, 1]);
        let mut c = counter();
        c.set_class(0, true, 8);
        c.write(0, 9);
        assert_eq!([108, 109].map(|now| finish(c.clone(), now)), [0, 1]);
        // Rows that were never written are not refreshed.
        let mut c = counter();
        c.set_class(1, true, 8);
        assert_eq!(finish(c, 50), 0);
    }
}
