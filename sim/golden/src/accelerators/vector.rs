//! `vector_top`: a chain of descriptors. Each descriptor runs the steps of a [`VectorUnit`] over rows in memory.
//!
//! The operations of a chain run one after the other, and rows in order. The contract leaves some results open, such as
//! results that overwrite operands, or results before an error. The model has one of the allowed values there, and
//! [`job::Executed::defined`] says so.

pub mod cycles;
pub mod device;
mod events;
mod operation;
mod shape;

use crate::common::bus::Command;
use crate::common::row::vector_unit::{Done, Elements, Norm, Output, VectorUnit};
use crate::common::shell::job_controller::{Limits, code};

use super::job::{self, Codes, Fields};
use super::memory::Memory;
use super::pieces::Loaded;
pub use operation::{Operation, STEP_BITS, Units};
pub use shape::Shape;

/// The accelerator.
#[derive(Clone, Debug)]
pub struct VectorTop {
    shape: Shape,
    unit: VectorUnit,
}

/// An operation that touched memory.
pub type Executed = job::Executed<Operation>;
/// The results of a job.
pub type Report = job::Report<Operation>;

impl VectorTop {
    /// An accelerator of this shape.
    #[must_use]
    pub fn new(shape: Shape) -> Self {
        Self { shape, unit: VectorUnit::new(shape.unit()) }
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

/// The number of elements of a row, from the first on, whose operands are all there. A norm needs the whole row: all
/// elements or none.
fn known(operation: &Operation, x: &Loaded, others: [&Option<Loaded>; 3]) -> usize {
    let all = x.any().len() / 2;
    let elements = |loaded: &Loaded| loaded.first_bytes() * all / loaded.any().len();
    let known = elements(x);
    if operation.steps.norm && known < all {
        return 0;
    }
    others.into_iter().flatten().map(elements).fold(known, usize::min)
}

fn halves(bytes: &[u8]) -> Vec<u16> {
    bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
}

/// Gains and biases in the order of memory: a layer norm has pairs of both.
fn apart(kind: Norm, read: Vec<u16>) -> (Vec<u16>, Vec<u16>) {
    if kind == Norm::LayerNorm { read.chunks(2).map(|pair| (pair[0], pair[1])).unzip() } else { (read, Vec::new()) }
}

/// A row of results as bytes.
fn packed(output: Output, done: &Done) -> Vec<u8> {
    match output {
        Output::Fp16 => done.values.iter().flat_map(|v| v.to_le_bytes()).collect(),
        Output::Int8 => done.values.iter().map(|&v| v as u8).collect(),
        Output::Int4 => {
            done.values.chunks(2).map(|pair| (pair[0] | pair.get(1).copied().unwrap_or(0) << 4) as u8).collect()
        }
    }
}

impl job::Accelerator for VectorTop {
    type Operation = Operation;
    type Checked = Operation;

    fn address_width(&self) -> u32 {
        self.shape.address_width
    }

    fn opcodes(&self) -> u8 {
        1
    }

    fn check(&self, _opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        Operation::check(&self.shape, limits, fields)
    }

    /// Does an operation row by row. It goes on after an error, to find all errors.
    fn execute(&self, operation: Operation, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let mut overflows = 0;
        let gains = operation.gains.as_ref().map(|rows| Loaded::row(rows, 0, memory, &mut codes));
        for row in 0..operation.x.rows {
            let mut load = |rows: &Command| Loaded::row(rows, row, memory, &mut codes);
            let x = load(&operation.x);
            let [addends, factors] = [&operation.addends, &operation.factors].map(|rows| rows.as_ref().map(&mut load));
            let known = known(&operation, &x, [&addends, &factors, &gains]);
            let halves = |loaded: &Option<Loaded>| loaded.as_ref().map_or_else(Vec::new, |l| halves(l.any()));
            let (x, addends, factors) = (&halves(&Some(x)), &halves(&addends), &halves(&factors));
            let (gains, biases) = &apart(operation.steps.kind, halves(&gains));
            let length = operation.length_of(row) as usize;
            let elements = Elements { x, addends, factors, gains, biases, length };
            let done = self.unit.row(operation.steps, operation.scalars, elements);
            // The hardware may report an overflow that comes before an error of the bus instead of the error.
            let lanes = self.shape.lanes as usize;
            let whole = known == x.len();
            let shown = if whole { known.div_ceil(lanes) } else { known / lanes };
            let beats = done.beats(lanes).iter().take(shown).filter(|&&overflow| overflow).count();
            if whole {
                overflows += beats as u64;
            }
            if operation.exact && beats > 0 {
                codes.note(code::OVERFLOW);
            }
            if whole {
                let address = operation.out.address + row * operation.out.stride;
                codes.bus(memory.write(address, &packed(operation.steps.output, &done)));
            }
        }
        let rules = (operation.is_defined(), operation.exact);
        Executed::new(operation, codes.all(), rules, overflows)
    }
}

#[cfg(test)]
mod tests;
