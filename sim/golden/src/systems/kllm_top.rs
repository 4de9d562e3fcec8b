//! `kllm_top`: products of tokens and weights that are both indices of centroids, with outliers beside; products of 8-bit
//! integers and such weights; rows of fp16 numbers that become tokens; tokens that are put into panels of weights; and the
//! steps of [`vector_top`](super::vector_top) on rows.
//!
//! Sums are integers and lose nothing, so the order of beats and of panels is no part of this model; each step behind them
//! rounds once, to nearest, ties to even. What depends on bytes that the bus did not give is not computed, so it is no
//! overflow either.

mod append;
pub mod cycles;
mod layout;
mod multiply;
mod operation;
mod quantize;
mod registers;

use crate::common::shell::job_controller::{Limits, code};

use super::job::{self, Fields};
use super::memory::Memory;
use super::vector_top::{self, VectorTop};
pub use append::Append;
pub use layout::{CODEBOOK_BYTES, CONSTANT_BYTES, HEAD_BYTES, OUTLIER_BYTES, integer_bytes, token_bytes};
pub use operation::{MatMul, Operation, Quantize};
pub use quantize::thresholds;
pub use registers::Device;

/// How the accelerator was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Lanes.
    pub lanes: u32,
    /// Channels of a lane.
    pub columns: u32,
    /// Groups of lanes: as many panels in memory, one of each, are one of all lanes.
    pub groups: u32,
    /// Positions of a beat: even.
    pub inputs: u32,
    /// Bits of a centroid.
    pub centroid_bits: u32,
    /// Words of a bank of weights: only the registers say so.
    pub buffer: u32,
    /// Beats of the longest token.
    pub depth: u32,
    /// Values among which outliers are found at once; 0: nothing makes tokens.
    pub orizuru: u32,
    /// Outliers of a token on each side, at most.
    pub kmax: u32,
    /// Its vector unit, and the bus.
    pub vector: vector_top::Shape,
}

impl Shape {
    /// Channels of a panel.
    #[must_use]
    pub fn channels(&self) -> u64 {
        u64::from(self.lanes) * u64::from(self.columns)
    }

    /// A group of lanes, whose panels are those in memory.
    #[must_use]
    pub fn group(&self) -> Self {
        Self { lanes: self.lanes / self.groups, groups: 1, ..*self }
    }

    /// Positions of the longest token.
    #[must_use]
    pub fn inner(&self) -> u64 {
        u64::from(self.depth) * u64::from(self.inputs)
    }
}

/// The accelerator.
#[derive(Clone, Debug)]
pub struct KllmTop {
    shape: Shape,
    vector: VectorTop,
}

/// Beats of activations that the lanes take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beats {
    /// All of them: for each panel and token those of the token, and the repeated ones; of integers two for all nibbles.
    pub taken: u64,
    /// Those that are sent again because a beat has more than one outlier.
    pub repeated: u64,
}

/// An operation that was done, and what it took.
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
/// What a job did.
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
    /// The accelerator of a shape.
    ///
    /// # Errors
    /// Names what is out of its range.
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
        Ok(Self { shape, vector: VectorTop::new(shape.vector) })
    }

    /// Its shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Checks an operation.
    ///
    /// # Errors
    /// The code of the first check that fails.
    pub fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        match opcode {
            MATMUL => MatMul::check(&self.shape, limits, fields, false).map(Operation::MatMul),
            SCORES => MatMul::check(&self.shape, limits, fields, true).map(Operation::MatMul),
            VECTOR => vector_top::Operation::check(&self.shape.vector, limits, fields).map(Operation::Vector),
            QUANTIZE if self.shape.orizuru > 0 => Quantize::check(&self.shape, limits, fields).map(Operation::Quantize),
            APPEND if append::is_built(&self.shape.group()) => {
                Append::check(&self.shape.group(), limits, fields).map(Operation::Append)
            }
            // Not built.
            _ => Err(code::FIELD),
        }
    }

    /// Runs the job at `job`. It ends after `limits.max_descriptors` descriptors at the latest.
    pub fn run(&self, limits: Limits, job: u64, memory: &mut dyn Memory) -> Report {
        job::run(self, limits, job, memory)
    }
}

/// Largest number of an operation.
const OPCODES: u8 = 5;
const MATMUL: u8 = 1;
const SCORES: u8 = 2;
const VECTOR: u8 = 3;
const QUANTIZE: u8 = 4;
const APPEND: u8 = 5;

impl job::Accelerator for KllmTop {
    type Operation = Work;

    fn address_width(&self) -> u32 {
        self.shape.vector.address_width
    }

    fn opcodes(&self) -> u8 {
        OPCODES
    }

    fn perform(
        &self,
        opcode: u8,
        fields: Fields<'_>,
        limits: &Limits,
        memory: &mut dyn Memory,
    ) -> Result<Executed, u8> {
        Ok(self.execute(self.check(opcode, fields, limits)?, memory))
    }
}

impl KllmTop {
    /// Does an operation.
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
