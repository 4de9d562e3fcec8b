//! Cycles of whole layers, of sizes and models that no simulation reaches.
//!
//! The golden recurrences give the cycles of a descriptor exactly, event by event. A layer of a large model has too
//! many events. But the work of a descriptor is periodic: after its first panels each further panel takes as long as
//! the panel before. So its cycles are the cycles of a few panels, plus a multiple of the cycles of one panel
//! ([`extended`]). This takes milliseconds, and tests compare it with the recurrence. A layer is the sum of its
//! descriptors.

pub mod comparison;
mod costs;
mod described;
pub mod kelle;
pub mod kllm;
pub mod shapes;
pub mod tender;
pub mod titanus;

pub use costs::{Costs, Counts, OfBlock, Part};
pub use described::Described;
pub use golden::accelerators::events::{Event, Events, kind};

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use golden::accelerators::cycles::{Recurrence, Spent, Turns};
use golden::accelerators::job::Accelerator;
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use half::f16;
use host::vector::{self, Integer, Operand, VectorJob};
use host::{Allocator, Chain, Descriptor, Window};

/// Memory that a descriptor may touch. Operands have no content.
pub const WINDOW: Window = Window { base: 0, limit: (1 << 40) - 1, address_width: 40 };

/// The work of a layer for some sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Work {
    /// Sequences side by side.
    pub sequences: u64,
    /// New tokens of each sequence.
    pub tokens: u64,
    /// Tokens that the last new token sees, including itself.
    pub context: u64,
}

/// The cost of a layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Cycles with a memory that never pauses.
    pub cycles: u64,
    /// Bytes written to memory and read from it.
    pub bytes: u64,
    /// Multiply-accumulates.
    pub products: u64,
    /// What takes energy. Empty: nobody counts it.
    pub events: Events,
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.cycles += other.cycles;
        self.bytes += other.bytes;
        self.products += other.products;
        self.events += other.events;
    }
}

impl Cost {
    /// The cost of the same work done so many times.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        let [cycles, bytes, products] = [self.cycles, self.bytes, self.products].map(|each| each * count);
        Self { cycles, bytes, products, events: self.events.times(count) }
    }
}

/// What descriptors take: cycles, and events that take energy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Cycles with a memory that never pauses.
    pub cycles: u64,
    /// Events.
    pub events: Events,
}

impl std::ops::AddAssign for Taken {
    fn add_assign(&mut self, other: Self) {
        self.cycles += other.cycles;
        self.events += other.events;
    }
}

impl<O> From<Spent<O>> for Taken {
    fn from(spent: Spent<O>) -> Self {
        // Bursts depend on where operands lie, and those of a layer lie nowhere.
        let events = spent.events.without(kind::BURST);
        Self { cycles: spent.cycles, events }
    }
}

impl Taken {
    /// All descriptors of a chain.
    #[must_use]
    pub fn all<O>(spent: Vec<Spent<O>>) -> Self {
        spent.into_iter().fold(Self::default(), |mut all, one| {
            all += one.into();
            all
        })
    }

    /// The cost, with bytes of operands and multiply-accumulates.
    #[must_use]
    pub fn cost(self, bytes: u64, products: u64) -> Cost {
        Cost { cycles: self.cycles, bytes, products, events: self.events }
    }

    /// The same plus what comes `times` more often than from `less` to this one.
    fn beyond(&self, less: &Self, times: u64) -> Result<Self> {
        let grows = |what: &str, less: u64, here: u64| {
            let step = here.checked_sub(less).with_context(|| format!("{what}: {less}, and {here} for more"))?;
            Ok::<u64, anyhow::Error>(here + times * step)
        };
        let events = less.events.joined(&self.events, |event, less, here| grows(&event.name, less, here))?;
        Ok(Self { cycles: grows("cycles", less.cycles, self.cycles)?, events })
    }
}

/// What grows evenly from a size on: by the same amounts for each `period` more. Smaller sizes are counted directly.
///
/// # Errors
/// `of` fails.
pub fn extended(size: u64, (least, period): (u64, u64), of: &mut dyn FnMut(u64) -> Result<Taken>) -> Result<Taken> {
    if size < least + 2 * period {
        return of(size);
    }
    let first = least + (size - least) % period;
    let (a, b) = (of(first)?, of(first + period)?);
    b.beyond(&a, (size - first) / period - 1).with_context(|| format!("from {first}, {period} more"))
}

/// What the descriptors take that were counted so far, by size.
#[derive(Clone, Debug, Default)]
pub struct Counted(RefCell<BTreeMap<[u64; 3], Taken>>);

impl Counted {
    /// What a size takes; it is counted once only.
    ///
    /// # Errors
    /// `count` fails.
    pub fn of(&self, size: [u64; 3], count: impl FnOnce() -> Result<Taken>) -> Result<Taken> {
        if let Some(taken) = self.0.borrow().get(&size) {
            return Ok(taken.clone());
        }
        let taken = count()?;
        self.0.borrow_mut().insert(size, taken.clone());
        Ok(taken)
    }
}

/// Steps on rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Steps {
    /// A norm by the root mean square, times gains.
    RmsNorm,
    /// A norm by the deviation, times gains, plus biases.
    LayerNorm,
    /// Softmax of the whole row.
    Softmax,
    /// Rotation of pairs.
    Rotate,
    /// Rows are added.
    Add,
    /// The activation.
    Activate,
    /// The activation, times other rows.
    Gate,
}

/// The elements of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Numbers {
    /// Floats of 16 bits.
    Fp16,
    /// Integers of 8 bits.
    Int8,
}

impl Numbers {
    /// Bytes of an element.
    fn bytes(self) -> u64 {
        match self {
            Self::Fp16 => 2,
            Self::Int8 => 1,
        }
    }
}

impl Steps {
    /// Rows that are read for each row that is written.
    fn reads(self) -> u64 {
        match self {
            Self::Add | Self::Gate | Self::Rotate => 2,
            _ => 1,
        }
    }
}

/// Addresses of operands that follow each other in the [`WINDOW`].
#[derive(Debug)]
pub struct Room(Allocator);

impl Room {
    /// Nothing is taken.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "an allocator that begins is not an empty value")]
    pub fn new() -> Self {
        Self(Allocator::new(&WINDOW))
    }

    /// Rows at this distance.
    ///
    /// # Errors
    /// The window is full.
    pub fn at(&mut self, rows: u64, stride: u64) -> Result<Operand> {
        let address = self.0.take((rows * stride).max(64))?;
        Ok(Operand { address, stride: stride.try_into()? })
    }

    /// Rows of fp16.
    ///
    /// # Errors
    /// The window is full.
    pub fn rows(&mut self, rows: u64, columns: u64) -> Result<Operand> {
        self.of(Numbers::Fp16, rows, columns)
    }

    fn of(&mut self, numbers: Numbers, rows: u64, columns: u64) -> Result<Operand> {
        self.at(rows, (numbers.bytes() * columns).next_multiple_of(64))
    }
}

/// The descriptor of steps on rows of floats.
fn steps(caps: &vector::Caps, (what, results): (Steps, Numbers), [rows, columns]: [u64; 2]) -> Result<Descriptor> {
    let mut room = Room::new();
    let (x, other) = (room.rows(rows, columns)?, room.rows(rows, columns)?);
    let out = room.of(results, rows, columns)?;
    let pairs = room.rows(1, 2 * columns)?.address;
    let epsilon = vector::Epsilon::units(1)?;
    let job = VectorJob::new(rows.try_into()?, columns.try_into()?, x, out);
    let job = match what {
        Steps::RmsNorm => job.norm_with_gains(epsilon, pairs),
        Steps::LayerNorm => job.layer_norm_with_gains(epsilon, pairs),
        Steps::Softmax => job.softmax(columns.try_into()?),
        Steps::Rotate => job.rotate(other),
        Steps::Add => job.add_rows(other),
        Steps::Activate => job.activate(),
        Steps::Gate => job.activate().multiply_rows(other),
    };
    let job = match results {
        Numbers::Fp16 => job,
        Numbers::Int8 => job.quantize(Integer::Int8, f16::ONE),
    };
    Ok(job.build(caps, &WINDOW)?)
}

/// Divides a whole into parts of up to `most`: the sizes, and how many parts have each size.
pub fn parts(whole: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    [(most, whole / most), (whole % most, 1)].into_iter().filter(|(size, count)| size * count > 0)
}

/// Columns that chains give a vector unit at most; longer rows are cut.
fn longest(caps: &vector::Caps) -> u64 {
    (u64::from(caps.lanes) * u64::from(caps.max_beats) / 64 * 64).max(64)
}

/// Cycles and bytes of steps on rows. Rows for elementwise steps may be longer than the unit takes. `alone` counts a
/// descriptor.
///
/// # Errors
/// A descriptor that the unit does not do; `alone` fails.
pub fn rows_cost(
    caps: &vector::Caps,
    (what, results): (Steps, Numbers),
    [rows, columns]: [u64; 2],
    counted: &Counted,
    alone: &dyn Fn(Descriptor) -> Result<Taken>,
) -> Result<Cost> {
    let most = u64::from(caps.lanes) * u64::from(caps.max_beats);
    let mut taken = Taken::default();
    for first in (0..columns).step_by(most as usize) {
        let part = most.min(columns - first);
        taken += extended(rows, (8, 8), &mut |rows| {
            let key = [16 * results as u64 + what as u64, rows, part];
            counted.of(key, || alone(steps(caps, (what, results), [rows, part])?))
        })?;
    }
    Ok(taken.cost(rows * columns * (2 * what.reads() + results.bytes()), 0))
}

/// A chain of descriptors in memory: its limits, its address, the memory.
///
/// # Errors
/// The chain has no place.
pub fn chain(descriptors: Vec<Descriptor>) -> Result<(Limits, u64, SparseMemory)> {
    // After all operands.
    let job = (1 << 39) + (1 << 38);
    let (limits, memory) = chain_at(descriptors, job)?;
    Ok((limits, job, memory))
}

/// A chain of descriptors in memory, from an address on.
fn chain_at(descriptors: Vec<Descriptor>, job: u64) -> Result<(Limits, SparseMemory)> {
    let most = descriptors.len().try_into()?;
    let chain = descriptors.into_iter().fold(Chain::new(), Chain::then);
    let image = chain.place(job, &WINDOW, most)?;
    let mut memory = SparseMemory::new();
    memory.store(image.address, &image.bytes);
    Ok((Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: most }, memory))
}

/// What a descriptor takes by a recurrence when nothing else runs.
///
/// # Errors
/// The recurrence refuses it.
pub fn alone<A: Accelerator>(timing: &impl Recurrence<A>, golden: &A, descriptor: Descriptor) -> Result<Taken> {
    let (limits, job, mut memory) = chain(vec![descriptor])?;
    let spent = timing.job(golden, limits, job, (&mut memory, &mut Turns::default())).map_err(refused)?;
    Ok(Taken::all(spent))
}

/// The recurrence refused a descriptor.
#[must_use]
pub fn refused(code: u8) -> anyhow::Error {
    anyhow!("a descriptor ends with error {code}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_evenly_is_extended() {
        let mut asked = Vec::new();
        let mut of = |n: u64| {
            asked.push(n);
            let events =
                Events::default().with(Event::new("beat", kind::BUS, 8), n).with(Event::new("row", "row", 0), n / 4);
            Ok(Taken { cycles: 100 + 7 * (n / 4) + n % 4, events })
        };
        let exact = |n: u64| 100 + 7 * (n / 4) + n % 4;
        for n in [0, 5, 11, 12, 13, 1_000_003] {
            let taken = extended(n, (4, 4), &mut of).unwrap();
            let events = ["beat", "row"].map(|name| taken.events.count(name));
            assert_eq!((taken.cycles, events), (exact(n), [n, n / 4]), "{n}");
        }
        assert!(asked.iter().all(|&n| n < 12), "{asked:?}");
        assert!(extended(3, (0, 1), &mut |_| Err(refused(5))).is_err());
    }
}
