//! Cycles of loads, products and steps on rows before a memory that never pauses; what that means is in [`crate::systems::cycles`].
//! Appends and restores have no recurrence: what they take depends on where chunks of a stream begin in its blocks.

mod context;
mod loads;
mod products;
mod results;
mod stalls;
mod store;

use crate::common::shell::job_controller::{Limits, code};
use crate::systems::cycles::{Shell, Spent, Timed, Turns, Unit, end};
use crate::systems::job::{Accelerator, Fields};
use crate::systems::memory::Memory;

use super::{Operation, TitanusCore};
use loads::Loaded;
use products::Multiplied;

/// Operands of a load or a product: rows that are read, and the results.
const OPERANDS: u64 = 2;

/// What the cycles depend on, beside the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The way to memory.
    pub shell: Shell,
    /// Inputs of a beat of the store.
    pub load: u64,
    /// Sums of a beat.
    pub drain: u64,
    /// Cycles of a vector in a macro: bits of an input.
    pub steps: u64,
    /// Cycles from a sum to its result.
    pub results: u64,
    /// Cycles from a probability to its byte.
    pub probabilities: u64,
    /// The vector unit.
    pub unit: Unit,
}

impl Timing {
    /// Cycles of the job at `job`, descriptor by descriptor. Their sum is what the register CYCLES has: from the cycle behind its
    /// start to its last one. `turns` are left from job to job; they are the default after a reset. The accelerator is only looked at.
    ///
    /// # Errors
    /// The code with which the job ends, where a descriptor or an operation is not right; 15 where it appends or restores.
    ///
    /// # Panics
    /// The bus is wider than 64 bytes.
    pub fn job(
        &self,
        accelerator: &TitanusCore,
        limits: Limits,
        job: u64,
        (memory, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Vec<Spent<Operation>>, u8> {
        self.shell.job(&Work { timing: self, accelerator }, limits, job, (memory, turns))
    }
}

struct Work<'a> {
    timing: &'a Timing,
    accelerator: &'a TitanusCore,
}

impl Timed for Work<'_> {
    type Operation = Operation;

    fn opcodes(&self) -> u8 {
        self.accelerator.opcodes()
    }

    fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        let operation = self.accelerator.check(opcode, fields, limits)?;
        let known = !matches!(operation, Operation::Append(_) | Operation::Restore(_));
        known.then_some(operation).ok_or(code::FIELD)
    }

    fn end(&self, operation: &Operation, now: u64, turns: &mut Turns, _memory: &mut dyn Memory) -> u64 {
        let (timing, shape) = (self.timing, &self.accelerator.shape);
        match operation {
            Operation::Load(load) => {
                let begin = now + Shell::checks(1, OPERANDS);
                end(Loaded::new((timing, shape), load, (begin, turns)), turns)
            }
            Operation::Product(product) => {
                let begin = now + Shell::checks(OPERANDS, OPERANDS);
                end(Multiplied::new((timing, shape), product, (begin, turns)), turns)
            }
            Operation::Vector(rows) => timing.shell.rows(&timing.unit, rows, now, turns),
            Operation::Append(_) | Operation::Restore(_) => unreachable!("refused by the check"),
        }
    }
}
