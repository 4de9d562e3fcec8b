//! Products and sums, rounded once or twice.

use rustc_apfloat::Float as _;

use super::semantics::with_semantics;
use super::{Float, Rounded};

impl Float {
    /// a * b + c, rounded once.
    pub fn fma(self, a: u64, b: u64, c: u64) -> Rounded {
        let bits = with_semantics!(self.format, S => {
            self.bits(self.operand::<S>(a).mul_add(self.operand::<S>(b), self.operand::<S>(c)))
        });
        let mut result = self.judged(bits, &[a, b, c], || self.exact(a).times(&self.exact(b)).plus(&self.exact(c)));
        // 0 * infinity: section 7.2 c) leaves the case open in which the addend is a quiet NaN. Here it is invalid.
        result.flags.invalid |= [(a, b), (b, a)].iter().any(|&(zero, infinity)| {
            let infinite = !self.format.is_finite(infinity) && !self.format.is_nan(infinity);
            infinite && self.flushed(zero) & !self.format.zero(true) == 0
        });
        result
    }

    /// a * b + c with the product rounded (and flushed) first. The flags are the union of both steps.
    pub fn mul_then_add(self, a: u64, b: u64, c: u64) -> Rounded {
        let product = self.mul(a, b);
        let sum = self.add(product.bits, c);
        // A signalling NaN is quiet after the product.
        Rounded { flags: sum.flags.or(product.flags), ..sum }
    }
}
