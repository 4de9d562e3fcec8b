//! Cycles of a job before a memory that never pauses. [`crate::accelerators::cycles`] explains how they are computed.

mod known;
mod panels;
mod parts;
mod products;
mod timing;

use crate::accelerators::cycles::{Course, Recurrence, Shell, Turns};
use crate::accelerators::memory::Memory;
use crate::tender::mesh_pe::PeSum;

use super::{Operation, TenderTop};
pub use known::{After, Known};
pub use panels::Array;
use parts::Parts;
use products::Columns;
pub use timing::Timing;

/// Operands of an operation, used or not.
const OPERANDS: u64 = 5;

/// Operations are not done.
impl<S: PeSum<Operand = i64>> Recurrence<TenderTop<S>> for Timing {
    fn shell(&self) -> &Shell {
        &self.shell
    }

    fn course(
        &self,
        accelerator: &TenderTop<S>,
        operation: &Operation,
        now: u64,
        (memory, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8> {
        // Weights, table and constants are read before A is there, and constants before rows to pack.
        let late = match operation {
            Operation::MatMul(_) if self.shell.overlaps() => 0b01,
            Operation::Pack(_) if self.shell.overlaps() => 0b10,
            _ => 0,
        };
        let mut dmas = self.shell.dmas(turns).holding(late);
        // One cycle more: its commands are asked for together.
        Ok(match operation {
            Operation::MatMul(product) => {
                let begin = now + self.shell.checks(5, OPERANDS) + 1;
                let parts = Parts::of(product, memory);
                let events = product.events(&accelerator.shape, parts.of_tile() as u64, memory);
                let flow = Columns::product((self, &accelerator.shape), product, parts, (begin, &mut dmas));
                Course::new(begin, dmas, flow).late(late).making(events)
            }
            Operation::Pack(pack) => {
                // An engine of its own has no other operands.
                let operands = if self.shell.overlaps() { 3 } else { OPERANDS };
                let begin = now + self.shell.checks(3, operands) + 1;
                let flow = Columns::pack((self, &accelerator.shape), pack, (begin, &mut dmas));
                Course::new(begin, dmas, flow).late(late).making(pack.events(&accelerator.shape))
            }
            Operation::Vector(rows) => self.shell.rows(&self.unit, rows, now, turns),
        })
    }
}

#[cfg(test)]
mod tests;
