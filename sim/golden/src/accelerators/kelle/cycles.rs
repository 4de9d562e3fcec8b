//! Cycles of a job before a memory that never pauses. [`crate::accelerators::cycles`] explains how they are computed.
//!
//! The model assumes that accesses to the cache do not wait for refreshes. This holds as long as REFRESH_STALLS is 0.

mod attention;
mod linear;
mod pages;
mod saved;
mod steps;
mod timing;
mod token;

use crate::accelerators::cycles::{Course, Recurrence, Shell, Turns};
use crate::accelerators::job::Accelerator;
use crate::accelerators::memory::Memory;

use super::{KelleTop, Operation};
use attention::Tokens;
use linear::Product;
use saved::{Restored, Saved};
pub use steps::Array;
pub use timing::Timing;

/// Operands of a product, of attention, of a save, or of a restore, used or not.
const OPERANDS: u64 = 4;

/// Operations are done, because times depend on what heads hold.
impl Recurrence<KelleTop> for Timing {
    fn shell(&self) -> &Shell {
        &self.shell
    }

    fn course(
        &self,
        accelerator: &KelleTop,
        operation: &Operation,
        now: u64,
        (memory, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8> {
        let shape = accelerator.shape();
        let dmas = self.shell.dmas(turns);
        // Weights and constants are read before x is there.
        let late = u32::from(self.shell.overlaps() && matches!(operation, Operation::Linear(_)));
        let mut dmas = dmas.holding(late);
        let begin = |used: u64| now + self.shell.checks(used, OPERANDS) + self.shell.waits();
        // Operations without operands.
        let begins = now + self.shell.waits();
        let until = |cycles: u64| Course::until(begins + cycles).begun(begins + 1);
        let course = match operation {
            Operation::Attention(attention) => {
                let mut head = accelerator.head(attention.head);
                let old = head.tokens.len() as u64;
                let again: Vec<bool> = (0..attention.again).map(|slot| head.token_of(slot).is_some()).collect();
                let mut evicted = Vec::new();
                accelerator.watched(attention.clone(), memory, &mut evicted);
                let begin = begin(OPERANDS);
                let events = attention.events(shape, (old, &evicted, &again));
                let tokens = Tokens::new((self, attention), (old, evicted, again), (begin, &mut dmas));
                return Ok(Course::new(begin, dmas, tokens).sharing().making(events));
            }
            Operation::Linear(linear) => {
                let begin = begin(OPERANDS);
                let product = Product::new((self, shape.panel()), linear, (begin, &mut dmas));
                Course::new(begin, dmas, product).late(late).sharing().making(linear.events(shape))
            }
            Operation::Vector(rows) => self.shell.rows(&self.unit, rows, now, turns),
            Operation::Save(save) => {
                let saved = Saved::new(self, save, (begin(1), &mut dmas));
                Course::new(begin(1), dmas, saved).making(save.events(shape))
            }
            Operation::Restore(restore) => {
                let executed = accelerator.execute(operation.clone(), memory);
                if let Some(&code) = executed.codes.first() {
                    return Err(code);
                }
                let tokens = accelerator.head(restore.head).tokens;
                let came = tokens.len() - restore.saved.rows as usize;
                let held = tokens[came..].iter().map(|token| token.slot.is_some()).collect();
                let restored = Restored::new(self, (restore, held), (begin(1), &mut dmas));
                return Ok(Course::new(begin(1), dmas, restored).making(restore.events(shape)));
            }
            // A row of the cache is cleared in each cycle.
            Operation::Clear(clear) => until(1 + clear.heads as u64 * u64::from(shape.slots + 1)),
            Operation::Refresh(_) => until(1),
            // The row, the score and the slot of the token are looked up.
            Operation::Recompute(_) => until(3),
        };
        accelerator.execute(operation.clone(), memory);
        Ok(course)
    }
}

#[cfg(test)]
mod tests;
