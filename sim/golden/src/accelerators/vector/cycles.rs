//! Cycles of a job before a memory that never pauses. [`crate::accelerators::cycles`] explains how they are computed.

use crate::accelerators::cycles::{Course, Recurrence, Shell, Turns, Unit};
use crate::accelerators::memory::Memory;

use super::{Operation, VectorTop};

/// The parameters of the cycles, besides the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The path to memory.
    pub shell: Shell,
    /// The vector unit.
    pub unit: Unit,
}

/// Operations are not done.
impl Recurrence<VectorTop> for Timing {
    fn shell(&self) -> &Shell {
        &self.shell
    }

    fn course(
        &self,
        _: &VectorTop,
        operation: &Operation,
        now: u64,
        (_, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8> {
        Ok(self.shell.rows(&self.unit, operation, now, turns))
    }
}
