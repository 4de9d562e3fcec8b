//! Cycles of a job before a memory that never pauses. [`crate::systems::cycles`] explains how they are computed.
//!
//! The model assumes that accesses to the cache do not wait for refreshes. This holds as long as REFRESH_STALLS is 0.

mod attention;
mod linear;
mod pages;
mod steps;
mod token;

use std::cell::RefCell;

use crate::common::shell::job_controller::Limits;
use crate::systems::cycles::{Frame, Recurrence, Shell, Spent, Timed, Turns, Unit, end};
use crate::systems::job::{Accelerator, Fields};
use crate::systems::memory::Memory;

use super::{ATTENTION, Attention, KelleTop, Operation, RECOMPUTE, Recompute, SAVE, Save};
use attention::{Saved, Tokens};
use linear::Product;
pub use steps::Array;

/// Operands of a product, of attention, or of a save, used or not.
const OPERANDS: u64 = 4;

/// The parameters of the cycles, besides the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The path to memory.
    pub shell: Shell,
    /// The array.
    pub array: Array,
    /// Rows of weights that wait for the array.
    pub weights: i64,
    /// Cycles from a number to its integer.
    pub integer: u64,
    /// Cycles from a sum to its fp16 number.
    pub sum: u64,
    /// The softmax of scores.
    pub softmax: Frame,
    /// The vector unit.
    pub unit: Unit,
}

/// Operations are done, so heads then have the same content as after the job.
impl Recurrence<KelleTop> for Timing {
    type Operation = Operation;

    fn job(
        &self,
        accelerator: &KelleTop,
        limits: Limits,
        job: u64,
        (memory, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Vec<Spent<Operation>>, u8> {
        let heads = accelerator.shape.heads as usize;
        let tokens = (0..heads).map(|head| accelerator.head(head).tokens.len() as u64).collect();
        let work = Work { timing: self, accelerator, tokens: RefCell::new(tokens) };
        self.shell.job(&work, limits, job, (memory, turns))
    }
}

struct Work<'a> {
    timing: &'a Timing,
    accelerator: &'a KelleTop,
    /// Tokens of each head after the operations that were checked so far. The operations are done later.
    tokens: RefCell<Vec<u64>>,
}

impl Timed for Work<'_> {
    type Operation = Operation;

    fn opcodes(&self) -> u8 {
        self.accelerator.opcodes()
    }

    fn check(&self, opcode: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        let (shape, mut tokens) = (self.accelerator.shape(), self.tokens.borrow_mut());
        let operation = match opcode {
            SAVE if shape.save => Save::check(shape, limits, fields, |head| tokens[head]).map(Operation::Save)?,
            // Which tokens will have a slot is unknown here. Chains are assumed to be valid.
            ATTENTION => Attention::check(shape, limits, fields).map(Operation::Attention)?,
            RECOMPUTE if shape.recompute > 0 => {
                Recompute::check(shape, fields, |head| tokens[head]).map(Operation::Recompute)?
            }
            _ => self.accelerator.check(opcode, fields, limits)?,
        };
        match &operation {
            Operation::Attention(attention) => {
                let head = &mut tokens[attention.head];
                *head = (*head + attention.queries.rows).min(attention.budget as u64);
            }
            Operation::Clear(clear) => tokens[clear.first..clear.first + clear.heads].fill(0),
            _ => {}
        }
        Ok(operation)
    }

    fn end(&self, operation: &Operation, now: u64, turns: &mut Turns, memory: &mut dyn Memory) -> u64 {
        let (timing, accelerator) = (self.timing, self.accelerator);
        let shape = accelerator.shape();
        let begin = |used: u64| now + Shell::checks(used, OPERANDS);
        let ended = match operation {
            Operation::Attention(attention) => {
                let mut head = accelerator.head(attention.head);
                let old = head.tokens.len() as u64;
                let again: Vec<bool> = (0..attention.again).map(|slot| head.token_of(slot).is_some()).collect();
                let mut evicted = Vec::new();
                accelerator.watched(attention.clone(), memory, &mut evicted);
                let tokens = Tokens::new((timing, attention), (old, &evicted, &again), (begin(OPERANDS), turns));
                return end(tokens, turns);
            }
            Operation::Linear(linear) => {
                end(Product::new((timing, shape.panel()), linear, (begin(OPERANDS), turns)), turns)
            }
            Operation::Vector(rows) => timing.shell.rows(&timing.unit, rows, now, turns),
            Operation::Save(save) => end(Saved::new(timing, save, (begin(1), turns)), turns),
            // A row of the cache is cleared in each cycle.
            Operation::Clear(clear) => now + 1 + clear.heads as u64 * u64::from(shape.slots + 1),
            Operation::Refresh(_) => now + 1,
            // The row, the score and the slot of the token are looked up.
            Operation::Recompute(_) => now + 3,
        };
        accelerator.execute(operation.clone(), memory);
        ended
    }
}

#[cfg(test)]
mod tests;
