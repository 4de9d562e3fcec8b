//! Products.

use super::semantics::with_semantics;
use super::{Float, Rounded};

impl Float {
    /// a * b.
    pub fn mul(self, a: u64, b: u64) -> Rounded {
        let bits = with_semantics!(self.format, S => self.bits(self.operand::<S>(a) * self.operand::<S>(b)));
        self.judged(bits, &[a, b], || self.exact(a).times(&self.exact(b)))
    }
}
