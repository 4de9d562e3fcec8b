//! Reciprocal square roots: exact integers of any size, rounded once.

use num_bigint::BigUint;

use super::between::Between;
use super::class::Class;
use super::exact::smallest;
use super::{Float, Rounded};

impl Float {
    /// 1 divided by the square root of a, rounded once (IEEE 754-2019, section 9.2: rSqrt).
    pub fn rsqrt(self, a: u64) -> Rounded {
        match self.class(a) {
            Class::Nan => self.nan_of(&[a]),
            Class::Zero => self.pole(self.is_negative(a)),
            _ if self.is_negative(a) => self.undefined(),
            Class::Infinity => Self::plain(self.format.zero(false)),
            Class::Number(a) => {
                let one = BigUint::from(1u8) << smallest(self.format);
                self.nearest(false, &Between::root(&one, &a, self.fine()))
            }
        }
    }
}
