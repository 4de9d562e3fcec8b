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

/// Bytes that an operation reads and writes, and parts of the accelerator's state.
#[derive(Clone, Debug, Default)]
pub(super) struct Used {
    pub reads: Vec<RangeInclusive<u64>>,
    /// Bytes that it may read before the operations have ended that it depends on.
    pub early: Vec<RangeInclusive<u64>>,
    pub writes: Vec<RangeInclusive<u64>>,
    /// State that operations of several engines use: what it reads, and what it writes.
    pub shared: [Vec<RangeInclusive<u64>>; 2],
}

impl Used {
    /// The same bytes, in ranges that do not touch.
    pub fn merged(self) -> Self {
        let Self { reads, early, writes, shared } = self;
        Self { reads: merged(reads), early: merged(early), writes: merged(writes), shared: shared.map(merged) }
    }

    /// Whether the order of the two matters.
    pub fn races(&self, other: &Self) -> bool {
        let race = |[reads, writes]: [&[RangeInclusive<u64>]; 2], [read, written]: [&[RangeInclusive<u64>]; 2]| {
            meet(writes, written) || meet(writes, read) || meet(reads, written)
        };
        race([&self.reads, &self.writes], [&other.reads, &other.writes])
            || race(self.shared.each_ref().map(Vec::as_slice), other.shared.each_ref().map(Vec::as_slice))
    }

    /// Whether the other one writes what this one may read early.
    pub fn is_early_for(&self, other: &Self) -> bool {
        meet(&self.early, &other.writes)
    }
}

/// Of how many operations right before it an operation is independent, and its operands that are read early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub independent: u64,
    /// As many at least.
    pub early: u64,
}

impl Order {
    pub fn new(independent: u8, early: u8) -> Self {
        Self { independent: independent.into(), early: early.max(independent).into() }
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
    /// It does not end.
    stuck: bool,
}

/// All operations that may be in flight when the next one goes. An operation that waits for others counts as one.
#[derive(Clone, Debug, Default)]
pub(super) struct Flights(Vec<Flight>);

impl Flights {
    /// An operation comes: its engine is free.
    pub fn next(&mut self, engine: Option<u32>) {
        // Without engines an operation ends before the next one.
        self.0.retain(|flight| engine.is_some_and(|engine| flight.engine != engine));
    }

    /// It goes to its engine. Where operations do not overlap, it ends before the next one.
    pub fn go(&mut self, engine: Option<u32>, number: usize, used: Used) {
        self.0.iter_mut().for_each(|flight| flight.behind += 1);
        self.0.extend(engine.map(|engine| Flight { engine, behind: 0, number, used, stuck: false }));
    }

    /// All have ended.
    pub fn end(&mut self) {
        self.0.clear();
    }

    /// The last one does not end: it failed, or waits for one that does not end.
    pub fn stick(&mut self) {
        self.0.iter_mut().next_back().into_iter().for_each(|flight| flight.stuck = true);
    }

    /// Whether an engine has an operation that does not end.
    pub fn is_stuck(&self, engine: Option<u32>) -> bool {
        self.0.iter().any(|flight| flight.stuck && Some(flight.engine) == engine)
    }

    /// Whether the next operation waits for one that does not end.
    pub fn hold(&self, independent: u64) -> bool {
        self.0.iter().any(|flight| flight.stuck && flight.behind >= independent)
    }

    /// Whether one of them may write there.
    pub fn write(&self, bytes: &[RangeInclusive<u64>]) -> bool {
        self.0.iter().any(|flight| meet(&flight.used.writes, bytes))
    }

    /// Numbers of the operations whose order to the next one matters: those that it does not wait for, and where it reads
    /// early what they write.
    pub fn races(&self, order: Order, used: &Used) -> Vec<usize> {
        let races = |flight: &&Flight| {
            (flight.behind < order.independent && flight.used.races(used))
                || (flight.behind < order.early && used.is_early_for(&flight.used))
        };
        self.0.iter().filter(races).map(|flight| flight.number).collect()
    }
}
