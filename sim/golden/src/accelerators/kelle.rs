//! `kelle_top`: products of 16-bit activations and 8-bit weights, and the steps of [`vector_top`](super::vector) on
//! rows. It also computes attention of heads whose keys and values stay on chip; the least important tokens are
//! evicted.
//!
//! Sums are exact integers, so the order of tiles and passes is no part of this model. Each step after the sums rounds
//! once, to nearest, ties to even. Heads outlive a job: a [`KelleTop`] holds them, and its clone has its own heads. A
//! result that depends on bytes which the bus did not deliver is not computed, so it counts as no overflow either.

mod attention;
mod cache;
pub mod cycles;
mod events;
mod linear;
mod numbers;
mod operation;
mod registers;
mod replay;
mod shape;
mod state;

use std::cell::RefCell;
use std::ops::RangeInclusive;

use crate::common::row::softmax::Softmax;
use crate::common::shell::job_controller::{Limits, code};

use super::job::{self, Fields, rows};
use super::memory::Memory;
use super::vector::{self, VectorTop};
use cache::Cache;
pub use cache::{Head, Token};
pub use operation::{Attention, Clear, Linear, Operation, Recompute, Refresh, Restore, Save};
pub use registers::Device;
pub use replay::{Event, GROUPS, Read, Replay, Shown};
pub use shape::{CONSTANT_BYTES, HEAD_BYTES, Shape};

/// The accelerator and its state.
#[derive(Clone, Debug)]
pub struct KelleTop {
    shape: Shape,
    vector: VectorTop,
    softmax: Softmax,
    cache: RefCell<Cache>,
    replay: RefCell<Option<Replay>>,
    /// Operations overlap.
    overlaps: bool,
}

/// Counts of an operation other than overflows; undefined after an error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Activations that saturated, or that are no numbers.
    pub saturations: u64,
    /// Evicted tokens.
    pub evictions: u64,
}

/// An operation that was done, and its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The operation.
    pub operation: Operation,
    /// Its counts.
    pub counts: Counts,
}

impl job::Operation for Work {
    fn out(&self) -> &crate::common::bus::Command {
        self.operation.out()
    }

    fn outs(&self) -> Vec<&crate::common::bus::Command> {
        self.operation.outs()
    }

    fn repeats(&self) -> bool {
        self.operation.repeats()
    }
}

/// An operation that was done.
pub type Executed = job::Executed<Work>;
/// The results of a job.
pub type Report = job::Report<Work>;

impl Report {
    /// Counts of the whole job; undefined after an error.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.executed.iter().map(|executed| executed.operation.counts).fold(Counts::default(), |sum, one| Counts {
            saturations: sum.saturations + one.saturations,
            evictions: sum.evictions + one.evictions,
        })
    }
}

impl KelleTop {
    /// An accelerator of this shape. All of its heads are empty.
    ///
    /// # Errors
    /// Names the parameter that is out of its range.
    pub fn new(shape: Shape) -> Result<Self, String> {
        for (name, size, least, most) in [
            ("rows", shape.rows, 1, 65_535),
            ("columns", shape.columns, 1, 65_535),
            ("tokens", shape.tokens, 1, 65_535),
            ("inner", shape.inner, 1, 65_535),
            ("heads", shape.heads, 1, 65_535),
            ("slots", shape.slots, 1, 65_535),
            ("width", shape.width, 1, 65_535),
            ("group", shape.group, 1, 255),
            ("score_lanes", shape.score_lanes, 1, 255),
            ("score_bits", shape.score_bits, 1, 32),
            ("amount_bits", shape.amount_bits, 2, 33),
            ("interval_bits", shape.interval_bits, 1, 32),
            ("recompute", shape.recompute, 0, 64),
        ] {
            if !(least..=most).contains(&size) {
                return Err(format!("{name} is {size}, allowed: {least} to {most}"));
            }
        }
        if !shape.columns.is_power_of_two() {
            return Err(format!("columns is {}, allowed: powers of two", shape.columns));
        }
        if !shape.width.is_multiple_of(shape.columns) {
            return Err(format!("width is {}, allowed: multiples of columns, {}", shape.width, shape.columns));
        }
        let cache = RefCell::new(Cache::new(&shape));
        Ok(Self {
            shape,
            vector: VectorTop::new(shape.vector),
            softmax: Softmax::new(),
            cache,
            replay: RefCell::new(None),
            overlaps: false,
        })
    }

    /// The same accelerator; its engines work at the same time, if `overlaps`.
    #[must_use]
    pub fn with_overlap(self, overlaps: bool) -> Self {
        Self { overlaps, ..self }
    }

    /// The same accelerator with cells that decay. From here on `replay` has the accesses and refreshes.
    #[must_use]
    pub fn replaying(self, replay: Replay) -> Self {
        Self { replay: RefCell::new(Some(replay)), ..self }
    }

    /// Flipped bits that were read in a replay; 0 without a replay.
    ///
    /// # Errors
    /// Names the first access that differs from the accesses of the jobs.
    pub fn replayed(&self) -> Result<u64, String> {
        self.replay.borrow().as_ref().map_or(Ok(0), Replay::end)
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The current content of a head.
    ///
    /// # Panics
    /// There is no such head.
    #[must_use]
    pub fn head(&self, head: usize) -> Head {
        self.cache.borrow().heads[head].clone()
    }

    /// Intervals and threshold, if an operation has set them.
    #[must_use]
    pub fn refresh(&self) -> Option<Refresh> {
        self.cache.borrow().refresh
    }

    /// A soft reset: all heads are empty. Intervals and threshold stay.
    pub fn soft_reset(&self) {
        let heads = &mut self.cache.borrow_mut().heads;
        heads.iter_mut().for_each(|head| *head = Head::default());
    }

    /// Runs the job at `job`. It ends after `limits.max_descriptors` descriptors at the latest.
    pub fn run(&self, limits: Limits, job: u64, memory: &mut dyn Memory) -> Report {
        job::run(self, limits, job, memory)
    }
}

/// An operation without operands.
fn done(operation: Operation) -> Executed {
    let operation = Work { operation, counts: Counts::default() };
    Executed { operation, codes: Vec::new(), defined: true, certain: true, overflows: 0, sum_overflows: 0 }
}

/// Largest opcode: without recomputation, and with it.
const OPCODES: [u8; 2] = [7, 8];
const LINEAR: u8 = 1;
const ATTENTION: u8 = 2;
const VECTOR: u8 = 3;
const CLEAR: u8 = 4;
const REFRESH: u8 = 5;
const SAVE: u8 = 6;
const RESTORE: u8 = 7;
const RECOMPUTE: u8 = 8;

impl job::Accelerator for KelleTop {
    type Operation = Work;
    type Checked = Operation;

    fn address_width(&self) -> u32 {
        self.shape.vector.address_width
    }

    fn opcodes(&self) -> u8 {
        OPCODES[usize::from(self.shape.recompute > 0)]
    }

    /// The vector unit, linear layers, heads.
    fn engine(&self, opcode: u8) -> Option<u32> {
        let engine = match opcode {
            VECTOR => 0,
            LINEAR => 1,
            _ => 2,
        };
        self.overlaps.then_some(engine)
    }

    /// Weights and constants of a linear layer.
    fn early(&self, operation: &Operation) -> Vec<RangeInclusive<u64>> {
        let Operation::Linear(Linear { panels, constants, .. }) = operation else { return Vec::new() };
        [panels, constants].into_iter().flat_map(rows).collect()
    }

    fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        let shape = &self.shape;
        match opcode {
            LINEAR => Linear::check(shape, limits, fields).map(Operation::Linear),
            ATTENTION => {
                let attention = Attention::check(shape, limits, fields)?;
                let head = &self.cache.borrow().heads[attention.head];
                if head.stays_away(attention.again) { Err(code::FIELD) } else { Ok(Operation::Attention(attention)) }
            }
            VECTOR => vector::Operation::check(&shape.vector, limits, fields).map(Operation::Vector),
            CLEAR => Clear::check(shape, fields).map(Operation::Clear),
            REFRESH => Refresh::check(shape, fields).map(Operation::Refresh),
            SAVE if shape.save => {
                let cache = self.cache.borrow();
                let tokens = |head: usize| cache.heads[head].tokens.len() as u64;
                Save::check(shape, limits, fields, tokens).map(Operation::Save)
            }
            RESTORE if shape.save => {
                let cache = self.cache.borrow();
                let tokens = |head: usize| cache.heads[head].tokens.len() as u64;
                Restore::check(shape, limits, fields, tokens).map(Operation::Restore)
            }
            RECOMPUTE if shape.recompute > 0 => {
                let cache = self.cache.borrow();
                let recompute = Recompute::check(shape, fields, |head| cache.heads[head].tokens.len() as u64)?;
                let Head { tokens, slots_unknown, .. } = &cache.heads[recompute.head];
                let taken = tokens.iter().any(|token| token.slot == Some(recompute.slot));
                let refused = !slots_unknown && (taken || tokens[recompute.position].slot.is_some());
                if refused { Err(code::FIELD) } else { Ok(Operation::Recompute(recompute)) }
            }
            // The unit is not built in.
            _ => Err(code::FIELD),
        }
    }

    fn execute(&self, operation: Operation, memory: &mut dyn Memory) -> Executed {
        match operation {
            Operation::Linear(linear) => self.multiply(linear, memory),
            Operation::Attention(attention) => self.attend(attention, memory),
            Operation::Vector(rows) => {
                let executed = self.vector.execute(rows, memory);
                executed.map(|rows| Work { operation: Operation::Vector(rows), counts: Counts::default() })
            }
            Operation::Clear(clear) => {
                self.cache.borrow_mut().clear(clear);
                done(Operation::Clear(clear))
            }
            Operation::Refresh(refresh) => {
                self.cache.borrow_mut().refresh = Some(refresh);
                done(Operation::Refresh(refresh))
            }
            Operation::Save(save) => self.save(save, memory),
            Operation::Restore(restore) => self.restore(restore, memory),
            Operation::Recompute(recompute) => self.keep(recompute),
        }
    }

    fn forget(&self, work: &Work) {
        let mut cache = self.cache.borrow_mut();
        // A head that an error has emptied is known.
        match &work.operation {
            Operation::Attention(attention) => cache.heads[attention.head].doubt(),
            Operation::Restore(restore) => {
                let head = &mut cache.heads[restore.head];
                head.doubt();
                // Its rows say which slots are in use.
                head.slots_unknown |= head.unknown && self.shape.recompute > 0;
            }
            _ => {}
        }
    }

    fn remembers(&self) -> bool {
        true
    }

    /// Heads stay as they are if no operation changes heads.
    fn timed_out(&self, operations: &[Executed]) -> bool {
        let reads = |e: &Executed| {
            matches!(e.operation.operation, Operation::Linear(_) | Operation::Vector(_) | Operation::Save(_))
        };
        operations.iter().all(reads)
    }
}

#[cfg(test)]
mod tests;
