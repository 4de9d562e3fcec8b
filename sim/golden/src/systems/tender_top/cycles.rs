//! Cycles of a job before a memory that never pauses. [`crate::systems::cycles`] explains how they are computed.

mod known;
mod pages;
mod panels;
mod parts;
mod products;

use std::cell::RefCell;

use crate::common::shell::job_controller::Limits;
use crate::systems::cycles::{Recurrence, Shell, Spent, Timed, Turns, Unit, end};
use crate::systems::job::{Accelerator, Fields};
use crate::systems::memory::Memory;
use crate::tender::mesh_pe::PeSum;

use super::{Operation, TenderTop};
pub use known::Known;
pub use panels::Array;
use parts::Parts;
use products::Columns;

/// Operands of an operation, used or not.
const OPERANDS: u64 = 5;

/// The parameters of the cycles, besides the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The path to memory.
    pub shell: Shell,
    /// The array.
    pub array: Array,
    /// Whether the sums of parts are added after the output buffer.
    pub explicit: bool,
    /// Cycles of a sum in the arithmetic of results.
    pub result: u64,
    /// Columns of a page of the turn buffer.
    pub strip: u64,
    /// The vector unit.
    pub unit: Unit,
}

/// Results of operations are not computed.
impl<S: PeSum<Operand = i64>> Recurrence<TenderTop<S>> for Timing {
    type Operation = Operation;

    fn job(
        &self,
        accelerator: &TenderTop<S>,
        limits: Limits,
        job: u64,
        (memory, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Vec<Spent<Operation>>, u8> {
        self.job_after(&mut Known::default(), accelerator, limits, job, (memory, turns))
    }
}

impl Timing {
    /// [`Recurrence::job`] after other jobs of the same accelerator, whose operations are known.
    ///
    /// # Errors
    /// The code with which the job ends, if a descriptor or an operation is not valid.
    ///
    /// # Panics
    /// The bus is wider than 64 bytes.
    pub fn job_after<S: PeSum<Operand = i64>>(
        &self,
        known: &mut Known,
        accelerator: &TenderTop<S>,
        limits: Limits,
        job: u64,
        state: (&mut dyn Memory, &mut Turns),
    ) -> Result<Vec<Spent<Operation>>, u8> {
        let known = RefCell::new(known);
        self.shell.job(&Work { timing: self, accelerator, known }, limits, job, state)
    }
}

struct Work<'a, S> {
    timing: &'a Timing,
    accelerator: &'a TenderTop<S>,
    known: RefCell<&'a mut Known>,
}

impl<S> Work<'_, S> {
    fn compute(&self, operation: &Operation, now: u64, turns: &mut Turns, memory: &mut dyn Memory) -> u64 {
        let timing = self.timing;
        // One cycle more: its commands are asked for together.
        match operation {
            Operation::MatMul(product) => {
                let begin = now + Shell::checks(5, OPERANDS) + 1;
                end(Columns::product(timing, product, Parts::of(product, memory), (begin, turns)), turns)
            }
            Operation::Pack(pack) => {
                end(Columns::pack(timing, pack, now + Shell::checks(3, OPERANDS) + 1, turns), turns)
            }
            Operation::Vector(rows) => timing.shell.rows(&timing.unit, rows, now, turns),
        }
    }
}

impl<S: PeSum<Operand = i64>> Timed for Work<'_, S> {
    type Operation = Operation;

    fn opcodes(&self) -> u8 {
        self.accelerator.opcodes()
    }

    fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        self.accelerator.check(opcode, fields, limits)
    }

    fn end(&self, operation: &Operation, now: u64, turns: &mut Turns, memory: &mut dyn Memory) -> u64 {
        // The parts of a product are in its table, which is in memory.
        if matches!(operation, Operation::MatMul(product) if product.explicit) {
            return self.compute(operation, now, turns, memory);
        }
        let compute = |turns: &mut Turns| self.compute(operation, now, turns, memory);
        self.known.borrow_mut().end((self.timing, operation), now, turns, compute)
    }
}

#[cfg(test)]
mod tests;
