//! Cycles of a job before a memory that never pauses. [`crate::accelerators::cycles`] explains how they are computed.
//!
//! The model assumes that accesses to the cache do not wait for refreshes. This holds as long as REFRESH_STALLS is 0.

mod attention;
mod linear;
mod pages;
mod steps;
mod timing;
mod token;

use crate::accelerators::cycles::{Course, Recurrence, Shell, Turns, end};
use crate::accelerators::job::Accelerator;
use crate::accelerators::memory::Memory;

use super::{KelleTop, Operation};
use attention::{Saved, Tokens};
use linear::Product;
pub use steps::Array;
pub use timing::Timing;

/// Operands of a product, of attention, or of a save, used or not.
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
        let mut dmas = self.shell.dmas(turns);
        let begin = |used: u64| now + Shell::checks(used, OPERANDS);
        let course = match operation {
            Operation::Attention(attention) => {
                let mut head = accelerator.head(attention.head);
                let old = head.tokens.len() as u64;
                let again: Vec<bool> = (0..attention.again).map(|slot| head.token_of(slot).is_some()).collect();
                let mut evicted = Vec::new();
                accelerator.watched(attention.clone(), memory, &mut evicted);
                let mut tokens = Tokens::new((self, attention), (old, &evicted, &again), (begin(OPERANDS), &mut dmas));
                let ended = end(&mut tokens, &mut dmas, turns);
                let mut events = attention.events(shape, (old, &evicted, &again));
                events += dmas.events();
                return Ok(Course::until(ended).making(events));
            }
            Operation::Linear(linear) => {
                let begin = begin(OPERANDS);
                let product = Product::new((self, shape.panel()), linear, (begin, &mut dmas));
                Course::new(begin, dmas, product).making(linear.events(shape))
            }
            Operation::Vector(rows) => self.shell.rows(&self.unit, rows, now, turns),
            Operation::Save(save) => {
                let saved = Saved::new(self, save, (begin(1), &mut dmas));
                Course::new(begin(1), dmas, saved).making(save.events(shape))
            }
            // A row of the cache is cleared in each cycle.
            Operation::Clear(clear) => Course::until(now + 1 + clear.heads as u64 * u64::from(shape.slots + 1)),
            Operation::Refresh(_) => Course::until(now + 1),
            // The row, the score and the slot of the token are looked up.
            Operation::Recompute(_) => Course::until(now + 3),
        };
        accelerator.execute(operation.clone(), memory);
        Ok(course)
    }
}

#[cfg(test)]
mod tests;
