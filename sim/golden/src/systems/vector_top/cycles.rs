//! Cycles of a job before a memory that never pauses. [`crate::systems::cycles`] explains how they are computed.

use crate::common::shell::job_controller::Limits;
use crate::systems::cycles::{Recurrence, Shell, Spent, Timed, Turns, Unit};
use crate::systems::job::{Accelerator, Fields};
use crate::systems::memory::Memory;

use super::{Operation, VectorTop};

/// The parameters of the cycles, besides the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The path to memory.
    pub shell: Shell,
    /// The vector unit.
    pub unit: Unit,
}

/// Results of operations are not computed.
impl Recurrence<VectorTop> for Timing {
    type Operation = Operation;

    fn job(
        &self,
        accelerator: &VectorTop,
        limits: Limits,
        job: u64,
        (memory, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Vec<Spent<Operation>>, u8> {
        self.shell.job(&Work { timing: self, accelerator }, limits, job, (memory, turns))
    }
}

struct Work<'a> {
    timing: &'a Timing,
    accelerator: &'a VectorTop,
}

impl Timed for Work<'_> {
    type Operation = Operation;

    fn opcodes(&self) -> u8 {
        self.accelerator.opcodes()
    }

    fn check(&self, _opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        Operation::check(self.accelerator.shape(), limits, fields)
    }

    fn end(&self, operation: &Operation, now: u64, turns: &mut Turns, _: &mut dyn Memory) -> u64 {
        self.timing.shell.rows(&self.timing.unit, operation, now, turns)
    }
}
