//! `kllm_top`. Its products multiply tokens and weights that are both indices of centroids, and treat outliers
//! separately. It also multiplies 8-bit integers by such weights, quantizes rows of fp16 numbers into tokens, appends
//! tokens to panels of weights, and runs the steps of [`vector_top`](super::vector) on rows.
//!
//! Sums are exact integers, so the order of beats and of panels is no part of this model. Each step after the sums
//! rounds once, to nearest, ties to even. A result that depends on bytes which the bus did not deliver is not computed,
//! so it counts as no overflow either.

mod append;
mod appending;
pub mod cycles;
mod events;
mod layout;
mod multiply;
mod operation;
mod quantize;
mod registers;
mod shape;

use crate::common::shell::job_controller::{Limits, code};

use super::job::{self, Fields};
use super::memory::Memory;
use super::vector::{self, VectorTop};
pub use append::Append;
pub use events::of_beats;
pub use layout::{CODEBOOK_BYTES, CONSTANT_BYTES, HEAD_BYTES, OUTLIER_BYTES, integer_bytes, token_bytes};
pub use operation::{MatMul, Operation, Quantize};
pub use quantize::thresholds;
pub use registers::Device;
pub use shape::Shape;

/// The accelerator.
#[derive(Clone, Debug)]
pub struct KllmTop {
    shape: Shape,
    vector: VectorTop,
    /// Operations overlap.
    overlaps: bool,
}

/// Beats of activations that the lanes take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beats {
    /// All beats: for each panel and token the beats of the token, and the repeated beats. A beat of integers counts
    /// twice, once for high and once for low nibbles.
    pub taken: u64,
    /// Beats that are sent again because a beat has more than one outlier.
    pub repeated: u64,
}

/// An operation that was done, and how many beats it took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Work {
    /// The operation.
    pub operation: Operation,
    /// Beats that the lanes took; undefined after an error.
    pub beats: Beats,
}

impl job::Operation for Work {
    fn out(&self) -> &crate::common::bus::Command {
        self.operation.out()
    }

    fn outs(&self) -> Vec<&crate::common::bus::Command> {
        self.operation.outs()
    }
}

/// An operation that touched memory.
pub type Executed = job::Executed<Work>;
/// The results of a job.
pub type Report = job::Report<Work>;

impl Report {
    /// Beats that the lanes took in the whole job; undefined after an error.
    #[must_use]
    pub fn beats(&self) -> Beats {
        let all = self.executed.iter().map(|executed| executed.operation.beats);
        all.fold(Beats::default(), |sum, one| Beats {
            taken: sum.taken + one.taken,
            repeated: sum.repeated + one.repeated,
        })
    }
}

impl KllmTop {
    /// An accelerator of this shape.
    ///
    /// # Errors
    /// Names the parameter that is out of its range.
    pub fn new(shape: Shape) -> Result<Self, String> {
        for (name, size, least, most) in [
            ("lanes", shape.lanes, 1, 255),
            ("columns", shape.columns, 1, 4095),
            ("inputs", shape.inputs, 2, 254),
            ("groups", shape.groups, 1, shape.lanes.clamp(1, 32)),
            ("centroid_bits", shape.centroid_bits, 2, 16),
            ("buffer", shape.buffer, 2, 65_535),
            // The position of an outlier has 16 bits.
            ("depth", shape.depth, 1, 65_536 / shape.inputs.clamp(2, 254)),
            ("orizuru", shape.orizuru, 0, 65_535),
            ("kmax", shape.kmax, 0, 32_767),
        ] {
            if !(least..=most).contains(&size) {
                return Err(format!("{name} is {size}, allowed: {least} to {most}"));
            }
        }
        if !shape.inputs.is_multiple_of(2) {
            return Err(format!("inputs is {}, allowed: multiples of 2", shape.inputs));
        }
        if !shape.lanes.is_multiple_of(shape.groups) {
            return Err(format!("groups is {}, allowed: divisors of lanes = {}", shape.groups, shape.lanes));
        }
        Ok(Self { shape, vector: VectorTop::new(shape.vector), overlaps: false })
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

/// Largest opcode.
const OPCODES: u8 = 5;
const MATMUL: u8 = 1;
const SCORES: u8 = 2;
const VECTOR: u8 = 3;
const QUANTIZE: u8 = 4;
const APPEND: u8 = 5;

impl job::Accelerator for KllmTop {
    type Operation = Work;
    type Checked = Operation;

    fn address_width(&self) -> u32 {
        self.shape.vector.address_width
    }

    fn opcodes(&self) -> u8 {
        OPCODES
    }

    /// The vector unit, the quantizer and the unit that appends tokens, where they are built in, and the lanes.
    fn engine(&self, opcode: u8) -> Option<u32> {
        let (quantizer, appender) = (self.shape.orizuru > 0, append::is_built(&self.shape.group()));
        let engine = match opcode {
            VECTOR => 0,
            QUANTIZE if quantizer => 1,
            APPEND if appender => 1 + u32::from(quantizer),
            _ => 1 + u32::from(quantizer) + u32::from(appender),
        };
        self.overlaps.then_some(engine)
    }

    fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        match opcode {
            MATMUL => MatMul::check(&self.shape, limits, fields, false).map(Operation::MatMul),
            SCORES => MatMul::check(&self.shape, limits, fields, true).map(Operation::MatMul),
            VECTOR => vector::Operation::check(&self.shape.vector, limits, fields).map(Operation::Vector),
            QUANTIZE if self.shape.orizuru > 0 => Quantize::check(&self.shape, limits, fields).map(Operation::Quantize),
            APPEND if append::is_built(&self.shape.group()) => {
                Append::check(&self.shape.group(), limits, fields).map(Operation::Append)
            }
            // The unit is not built in.
            _ => Err(code::FIELD),
        }
    }

    fn execute(&self, operation: Operation, memory: &mut dyn Memory) -> Executed {
        match operation {
            Operation::MatMul(operation) => self.multiply(operation, memory),
            Operation::Quantize(operation) => self.quantize(operation, memory),
            Operation::Append(operation) => self.append(operation, memory),
            Operation::Vector(operation) => {
                let executed = self.vector.execute(operation, memory);
                executed.map(|operation| Work { operation: Operation::Vector(operation), beats: Beats::default() })
            }
        }
    }
}

#[cfg(test)]
mod tests;
