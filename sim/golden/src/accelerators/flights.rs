//! Operations of a chain that may be in flight at the same time, and the bytes that they use.

use std::ops::RangeInclusive;

/// The same addresses, as ascending ranges that do not touch.
#[must_use]
pub fn merged(mut ranges: Vec<RangeInclusive<u64>>) -> Vec<RangeInclusive<u64>> {
    ranges.sort_by_key(|range| *range.start());
    let mut all: Vec<RangeInclusive<u64>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if *range.start() <= last.end().saturating_add(1) => {
                *last = *last.start()..=*last.end().max(range.end());
            }
            _ => all.push(range),
        }
    }
    all
}

/// Whether some byte is in both.
pub(super) fn meet(a: &[RangeInclusive<u64>], b: &[RangeInclusive<u64>]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.start() <= b.end() && b.start() <= a.end()))
}

/// Bytes that an operation reads and writes.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    pub reads: Vec<RangeInclusive<u64>>,
    pub writes: Vec<RangeInclusive<u64>>,
}

impl Used {
    /// The same bytes, in ranges that do not touch.
    pub fn merged(self) -> Self {
        Self { reads: merged(self.reads), writes: merged(self.writes) }
    }

    /// Whether the order of the two matters.
    pub fn races(&self, other: &Self) -> bool {
        meet(&self.writes, &other.writes) || meet(&self.writes, &other.reads) || meet(&self.reads, &other.writes)
    }
}

/// An operation that may be in flight.
#[derive(Clone, Debug)]
struct Flight {
    engine: u32,
    /// Operations that went after it, up to the next one.
    behind: u64,
    /// Its place among the operations that were done.
    number: usize,
    used: Used,
}

/// All operations that may be in flight when the next one goes.
#[derive(Clone, Debug, Default)]
pub(super) struct Flights(Vec<Flight>);

impl Flights {
    /// An operation comes: all have ended but those that it is independent of, and its engine is free.
    pub fn next(&mut self, engine: Option<u32>, independent: u64) {
        self.0.retain(|flight| flight.behind < independent && Some(flight.engine) != engine);
    }

    /// It goes to its engine. Where operations do not overlap, it ends before the next one.
    pub fn go(&mut self, engine: Option<u32>, number: usize, used: Used) {
        self.0.iter_mut().for_each(|flight| flight.behind += 1);
        self.0.extend(engine.map(|engine| Flight { engine, behind: 0, number, used }));
    }

    /// All have ended.
    pub fn end(&mut self) {
        self.0.clear();
    }

    /// None is in flight.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them may write there.
    pub fn write(&self, bytes: &[RangeInclusive<u64>]) -> bool {
        self.0.iter().any(|flight| meet(&flight.used.writes, bytes))
    }

    /// Numbers of the operations whose order to this one matters.
    pub fn races(&self, used: &Used) -> Vec<usize> {
        self.0.iter().filter(|flight| flight.used.races(used)).map(|flight| flight.number).collect()
    }
}
