//! Bursts on the bus and reads of the cache, and in which cycles they were.

use std::cell::RefCell;
use std::ops::Range;
use std::rc::Rc;

use sim::Sim;
use sim::bus::{MemoryTiming, Partner};

use jobs::hardware::Hardware;

/// A burst.
#[derive(Clone, Copy, Debug)]
struct Burst {
    address: u64,
    bytes: u64,
    write: bool,
    /// Cycle of its last beat.
    last: u64,
}

/// A row of the cache is read.
#[derive(Clone, Copy, Debug)]
struct Read {
    now: u64,
    row: usize,
    value: bool,
}

/// Accesses that were seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    now: u64,
    beat_bytes: u64,
    bursts: Vec<Burst>,
    reads: Vec<Read>,
}

impl Seen {
    /// Forgets all of it.
    pub fn forget(&mut self) {
        self.bursts.clear();
        self.reads.clear();
    }

    fn bursts(&self, place: &Range<u64>, write: bool) -> impl Iterator<Item = &Burst> {
        let (start, end) = (place.start, place.end);
        self.bursts
            .iter()
            .filter(move |burst| burst.write == write && burst.address < end && start < burst.address + burst.bytes)
    }

    /// Cycle of the last beat of a place that was written, or read.
    #[must_use]
    pub fn last(&self, place: &Range<u64>, write: bool) -> Option<u64> {
        self.bursts(place, write).map(|burst| burst.last).max()
    }

    /// The last beat that was read before cycle `end`.
    #[must_use]
    pub fn last_ahead(&self, place: &Range<u64>, end: u64) -> Option<u64> {
        self.bursts(place, false).map(|burst| burst.last).filter(|&last| last < end).max()
    }

    /// Cycles of the first and the last beat of a place that is read in so many equal parts, one after the other.
    #[must_use]
    pub fn reads(&self, place: &Range<u64>, parts: usize) -> Option<Vec<(u64, u64)>> {
        let bytes = (place.end - place.start) / parts as u64;
        let part = |number: u64| {
            let start = place.start + number * bytes;
            let bursts: Vec<&Burst> = self.bursts(&(start..start + bytes), false).collect();
            let first = bursts.iter().map(|burst| burst.last + 1 - burst.bytes / self.beat_bytes).min()?;
            Some((first, bursts.iter().map(|burst| burst.last).max()?))
        };
        (0..parts as u64).map(part).collect()
    }

    /// Cycles of the first and the last read of keys or values in these rows of the cache.
    #[must_use]
    pub fn cached(&self, rows: Range<usize>, value: bool) -> Option<(u64, u64)> {
        let reads = || self.reads.iter().filter(|read| read.value == value && rows.contains(&read.row));
        Some((reads().map(|read| read.now).min()?, reads().map(|read| read.now).max()?))
    }
}

/// Looks at the bus and at the cache of an accelerator with a `retention_model` from now on.
///
/// # Errors
/// It has no such ports.
pub fn watch(hardware: &mut Hardware<'_>, beat_bytes: u64) -> anyhow::Result<Rc<RefCell<Seen>>> {
    let seen = Rc::new(RefCell::new(Seen { beat_bytes, ..Seen::default() }));
    hardware.memory.timed_by(Box::new(Traffic(Rc::clone(&seen))));
    let ports = Ports::find(hardware.sim)?;
    hardware.watch(Box::new(Watcher { ports, seen: Rc::clone(&seen) }));
    Ok(seen)
}

/// Holds nothing up.
struct Traffic(Rc<RefCell<Seen>>);

impl MemoryTiming for Traffic {
    fn ask(&mut self, address: u64, bytes: u64, write: bool) -> u64 {
        let mut seen = self.0.borrow_mut();
        // A write is asked for with its last beat; of a read that is known when it is answered.
        let last = seen.now;
        seen.bursts.push(Burst { address, bytes, write, last });
        seen.bursts.len() as u64 - 1
    }

    fn done(&self, _: u64) -> u64 {
        u64::MAX
    }

    fn answered(&mut self, number: u64) {
        let mut seen = self.0.borrow_mut();
        let now = seen.now;
        if let Some(burst) = seen.bursts.get_mut(number as usize).filter(|burst| !burst.write) {
            burst.last = now;
        }
    }

    fn cycle(&mut self) {
        self.0.borrow_mut().now += 1;
    }

    fn reset(&mut self) {}
}

struct Watcher {
    ports: Ports,
    seen: Rc<RefCell<Seen>>,
}

impl Partner for Watcher {
    fn drive(&mut self, _: &mut Sim) -> sim::Result<()> {
        Ok(())
    }

    fn sample(&mut self, sim: &Sim) -> sim::Result<bool> {
        let up = |port| sim.peek_u64(port) != 0;
        if up(self.ports.access) && !up(self.ports.write) {
            let mut seen = self.seen.borrow_mut();
            let (now, row) = (seen.now, sim.peek_u64(self.ports.row) as usize);
            seen.reads.push(Read { now, row, value: up(self.ports.value) });
        }
        Ok(false)
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn state(&self) -> String {
        String::new()
    }
}

sim::handles! {
    struct Ports {
        access: Out = "cache_access_o",
        write: Out = "cache_write_o",
        value: Out = "cache_value_o",
        row: Out = "cache_row_o",
    }
}
