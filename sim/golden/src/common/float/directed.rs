//! Multiplication in all rounding directions: values of `rustc_apfloat`, exceptions by exact arithmetic.

use num_bigint::BigUint;
use rustc_apfloat::Round;

use super::exact::smallest;
use super::semantics::with_semantics;
use super::{Direction, Float, Rounded};
use rustc_apfloat::Float as _;

impl Direction {
    /// The same for `rustc_apfloat`.
    pub(super) fn round(self) -> Round {
        match self {
            Self::NearestEven => Round::NearestTiesToEven,
            Self::NearestAway => Round::NearestTiesToAway,
            Self::TowardZero => Round::TowardZero,
            Self::Down => Round::TowardNegative,
            Self::Up => Round::TowardPositive,
        }
    }
}

impl Float {
    /// a * b, rounded in a direction. A product overflows if its rounding with an exponent of any size is too large,
    /// even if the result is then the largest number.
    pub fn mul_directed(self, direction: Direction, a: u64, b: u64) -> Rounded {
        let round = direction.round();
        let bits = with_semantics!(self.format, S => {
            self.bits(self.operand::<S>(a).mul_r(self.operand::<S>(b), round))
        });
        let mut result = self.judged(bits, &[a, b], || self.exact(a).times(&self.exact(b)));
        if [a, b].iter().all(|&bits| self.format.is_finite(bits)) {
            let product = self.exact(a).times(&self.exact(b));
            // 2 to the power of the largest exponent and 1, in units of the product.
            let bias = (1u32 << (self.format.exponent_bits() - 1)) - 1;
            let limit = BigUint::from(1u8) << (bias + 1 + 2 * smallest(self.format));
            result.flags.overflow |= *product.units.magnitude() >= limit;
        }
        result
    }
}
