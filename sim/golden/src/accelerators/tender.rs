//! `tender_top`: products of integer matrices with channel groups, fp16 numbers that become operands of such products,
//! and the steps of [`vector_top`](super::vector) on rows.
//!
//! A product takes channels in the order of a table. The table also says when all sums are doubled. Sums become fp32
//! numbers, are scaled and biased, and leave as fp16 or as integers. Each step rounds to nearest, ties to even. The
//! operations of a chain run one after the other, and panels of rows in order. The contract leaves some results open;
//! the model has one of the allowed values there, and [`Executed::defined`](job::Executed::defined) says so. A result
//! that depends on bytes which the bus did not deliver is not computed, so it counts as no overflow either.

pub mod cycles;
mod events;
mod execute;
mod finish;
mod layout;
mod operation;
mod shape;
mod sums;

use std::ops::RangeInclusive;

use crate::common::shell::job_controller::Limits;
use crate::tender::accumulator::{Accumulator, Overflow};
use crate::tender::mesh_pe::PeSum;

use super::job::{self, Fields, rows};
use super::memory::Memory;
use super::vector::{self, VectorTop};
pub use layout::{Layout, OPERAND_WIDTH};
pub use operation::{Finish, MatMul, Operation, Output, Pack};
pub use shape::Shape;

/// The accelerator, with PEs whose sums are `S`.
#[derive(Clone, Debug)]
pub struct TenderTop<S = Accumulator> {
    shape: Shape,
    vector: VectorTop,
    /// A sum that is 0.
    fresh: S,
    /// Operations overlap.
    overlaps: bool,
}

/// An operation that touched memory.
pub type Executed = job::Executed<Operation>;
/// The results of a job.
pub type Report = job::Report<Operation>;

impl TenderTop {
    /// An accelerator of this shape, with Tender's PEs, whose sums wrap.
    ///
    /// # Errors
    /// Names the parameter that is out of its range.
    pub fn new(shape: Shape) -> Result<Self, String> {
        Self::with_sums(shape, Accumulator::new(shape.accumulator_width, Overflow::Wrap)?)
    }
}

impl<S: PeSum<Operand = i64>> TenderTop<S> {
    /// An accelerator of this shape with PEs of another kind. `fresh` is a sum that is 0, with as many bits as the shape
    /// says.
    ///
    /// # Errors
    /// Names the parameter that is out of its range.
    pub fn with_sums(shape: Shape, fresh: S) -> Result<Self, String> {
        for (name, size, least) in [("rows", shape.rows, 2), ("columns", shape.columns, 4)] {
            if !size.is_power_of_two() || !(least..=256).contains(&size) {
                return Err(format!("{name} is {size}, allowed: powers of two from {least} to 256"));
            }
        }
        if !(2..=64).contains(&shape.accumulator_width) {
            return Err(format!("accumulator width is {}, allowed: 2 to 64", shape.accumulator_width));
        }
        Ok(Self { shape, vector: VectorTop::new(shape.vector), fresh, overlaps: false })
    }

    /// The same accelerator; its engines work at the same time, if `overlaps`.
    #[must_use]
    pub fn with_overlap(self, overlaps: bool) -> Self {
        Self { overlaps, ..self }
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Runs the job at `job`. It ends after `limits.max_descriptors` descriptors at the latest.
    pub fn run(&self, limits: Limits, job: u64, memory: &mut dyn Memory) -> Report {
        job::run(self, limits, job, memory)
    }
}

/// Number of operations.
const OPCODES: u8 = 3;
const MATMUL: u8 = 1;
const PACK: u8 = 2;

impl<S: PeSum<Operand = i64>> job::Accelerator for TenderTop<S> {
    type Operation = Operation;
    type Checked = Operation;

    fn address_width(&self) -> u32 {
        self.shape.vector.address_width
    }

    fn opcodes(&self) -> u8 {
        OPCODES
    }

    /// The vector unit, what packs rows, and the array.
    fn engine(&self, opcode: u8) -> Option<u32> {
        let engine = match opcode {
            MATMUL => 2,
            PACK => 1,
            _ => 0,
        };
        self.overlaps.then_some(engine)
    }

    /// Right matrix, table and constants of a product, constants of a packing.
    fn early(&self, operation: &Operation) -> Vec<RangeInclusive<u64>> {
        match operation {
            Operation::MatMul(MatMul { b, table, finish, .. }) => {
                [b, table, &finish.constants].into_iter().flat_map(rows).collect()
            }
            Operation::Pack(Pack { finish, .. }) => rows(&finish.constants).collect(),
            Operation::Vector(_) => Vec::new(),
        }
    }

    fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        match opcode {
            MATMUL => MatMul::check(&self.shape, limits, fields).map(Operation::MatMul),
            PACK => Pack::check(&self.shape, limits, fields).map(Operation::Pack),
            _ => vector::Operation::check(&self.shape.vector, limits, fields).map(Operation::Vector),
        }
    }

    fn execute(&self, operation: Operation, memory: &mut dyn Memory) -> Executed {
        match operation {
            Operation::MatMul(operation) => self.multiply(operation, memory),
            Operation::Pack(operation) => self.pack(operation, memory),
            Operation::Vector(operation) => self.vector.execute(operation, memory).map(Operation::Vector),
        }
    }
}

#[cfg(test)]
mod tests;
