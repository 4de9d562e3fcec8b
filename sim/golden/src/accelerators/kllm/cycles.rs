//! Cycles of a job before a memory that never pauses. [`crate::accelerators::cycles`] explains how they are computed.

mod append;
mod lanes;
mod products;
mod quantize;
mod results;
mod scan;
mod timing;
mod tokens;

use crate::accelerators::cycles::{Course, Recurrence, Shell, Turns};
use crate::accelerators::job::Accelerator;
use crate::accelerators::memory::Memory;

use super::{KllmTop, Operation};
use append::Appended;
pub use lanes::Lane;
use products::Product;
use quantize::Quantized;
pub use timing::{Finder, Timing};

/// Operands of a product, used or not.
const OPERANDS: u64 = 6;
/// Operands of an append: token, panels, constants or scales.
const APPENDED: u64 = 3;
/// Operands of a quantizer: rows, codebook, tokens.
const QUANTIZED: u64 = 3;

/// Operations are done, because a product may take tokens that the chain has made.
impl Recurrence<KllmTop> for Timing {
    fn shell(&self) -> &Shell {
        &self.shell
    }

    fn course(
        &self,
        accelerator: &KllmTop,
        operation: &Operation,
        now: u64,
        (memory, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8> {
        let (shapes, mut dmas) = ((self, &accelerator.shape), self.shell.dmas(turns));
        let course = match operation {
            Operation::MatMul(product) => {
                // One cycle more: its commands are asked for together.
                let used = OPERANDS - u64::from(product.addends.is_none());
                let begin = now + self.shell.checks(used, OPERANDS) + 1;
                let flow = Product::new(shapes, product, memory, (begin, &mut dmas));
                let events = product.events(&accelerator.shape, flow.beats(), self.outputs);
                Course::new(begin, dmas, flow).making(events)
            }
            Operation::Vector(rows) => self.shell.rows(&self.unit, rows, now, turns),
            Operation::Quantize(quantize) => {
                assert!(self.finder.is_some(), "a quantizer has something that finds outliers");
                let begin = now + self.shell.checks(QUANTIZED, QUANTIZED) + self.shell.waits();
                let flow = Quantized::new(shapes, (quantize, memory), (begin, &mut dmas));
                Course::new(begin, dmas, flow).making(quantize.events())
            }
            Operation::Append(append) => {
                let begin = now + self.shell.checks(APPENDED, APPENDED) + self.shell.waits();
                let flow = Appended::new(shapes, append, (begin, &mut dmas));
                Course::new(begin, dmas, flow).making(append.events())
            }
        };
        // What it does may end with an error, such as on a memory that holds no operands. Its time is the same.
        accelerator.execute(operation.clone(), memory);
        Ok(course)
    }
}
