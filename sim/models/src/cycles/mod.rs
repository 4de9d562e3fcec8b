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

use std::cell::RefCell;
use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use half::f16;
use host::vector::{self, Integer, Operand, VectorJob};
use host::{Allocator, Chain, Descriptor, Window};

/// Memory that a descriptor may touch. Operands have no content.
const WINDOW: Window = Window { base: 0, limit: (1 << 40) - 1, address_width: 40 };

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
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Cycles with a memory that never pauses.
    pub cycles: u64,
    /// Bytes written to memory and read from it.
    pub bytes: u64,
    /// Multiply-accumulates.
    pub products: u64,
}

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.cycles += other.cycles;
        self.bytes += other.bytes;
        self.products += other.products;
    }
}

impl Cost {
    /// The cost of the same work done so many times.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self { cycles: self.cycles * count, bytes: self.bytes * count, products: self.products * count }
    }
}

/// A count that grows evenly from a size on: by the same amount for each `period` more. Smaller sizes are counted
/// directly.
///
/// # Errors
/// `of` fails.
pub fn extended(size: u64, (least, period): (u64, u64), of: &mut dyn FnMut(u64) -> Result<u64>) -> Result<u64> {
    if size < least + 2 * period {
        return of(size);
    }
    let first = least + (size - least) % period;
    let (a, b) = (of(first)?, of(first + period)?);
    let step = b.checked_sub(a).with_context(|| format!("{first} take {a} cycles, {period} more {b}"))?;
    Ok(a + (size - first) / period * step)
}

/// Cycles of the descriptors counted so far, by size.
#[derive(Clone, Debug, Default)]
struct Counted(RefCell<BTreeMap<[u64; 3], u64>>);

impl Counted {
    /// Cycles of a size, which are counted once only.
    fn of(&self, size: [u64; 3], count: impl FnOnce() -> Result<u64>) -> Result<u64> {
        if let Some(&cycles) = self.0.borrow().get(&size) {
            return Ok(cycles);
        }
        let cycles = count()?;
        self.0.borrow_mut().insert(size, cycles);
        Ok(cycles)
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

/// Addresses of operands that follow each other.
struct Room(Allocator);

impl Room {
    fn new() -> Self {
        Self(Allocator::new(&WINDOW))
    }

    fn at(&mut self, rows: u64, stride: u64) -> Result<Operand> {
        let address = self.0.take((rows * stride).max(64))?;
        Ok(Operand { address, stride: stride.try_into()? })
    }

    fn rows(&mut self, rows: u64, columns: u64) -> Result<Operand> {
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
fn parts(whole: u64, most: u64) -> impl Iterator<Item = (u64, u64)> {
    [(most, whole / most), (whole % most, 1)].into_iter().filter(|(size, count)| size * count > 0)
}

/// Columns that chains give a vector unit at most; longer rows are cut.
fn longest(caps: &vector::Caps) -> u64 {
    (u64::from(caps.lanes) * u64::from(caps.max_beats) / 64 * 64).max(64)
}

/// Cycles and bytes of steps on rows. Rows for elementwise steps may be longer than the unit takes.
fn rows_cost(
    caps: &vector::Caps,
    (what, results): (Steps, Numbers),
    [rows, columns]: [u64; 2],
    counted: &Counted,
    alone: &dyn Fn(Descriptor) -> Result<u64>,
) -> Result<Cost> {
    let most = u64::from(caps.lanes) * u64::from(caps.max_beats);
    let mut cycles = 0;
    for first in (0..columns).step_by(most as usize) {
        let part = most.min(columns - first);
        cycles += extended(rows, (8, 8), &mut |rows| {
            let key = [16 * results as u64 + what as u64, rows, part];
            counted.of(key, || alone(steps(caps, (what, results), [rows, part])?))
        })?;
    }
    Ok(Cost { cycles, bytes: rows * columns * (2 * what.reads() + results.bytes()), products: 0 })
}

/// A chain of descriptors, in memory.
fn chain(descriptors: Vec<Descriptor>) -> Result<(Limits, u64, SparseMemory)> {
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

/// The recurrence refused a descriptor.
fn refused(code: u8) -> anyhow::Error {
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
            Ok(100 + 7 * (n / 4) + n % 4)
        };
        let exact = |n: u64| 100 + 7 * (n / 4) + n % 4;
        for n in [0, 5, 11, 12, 13, 1_000_003] {
            assert_eq!(extended(n, (4, 4), &mut of).unwrap(), exact(n), "{n}");
        }
        assert!(asked.iter().all(|&n| n < 12), "{asked:?}");
        assert!(extended(3, (0, 1), &mut |_| Err(refused(5))).is_err());
    }
}
