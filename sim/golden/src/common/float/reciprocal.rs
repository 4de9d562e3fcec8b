//! Reciprocals: exact integers of any size, rounded once.

use num_bigint::BigUint;

use super::between::Between;
use super::class::Class;
use super::exact::smallest;
use super::{Float, Rounded};

impl Float {
    /// 1 / a.
    pub fn reciprocal(self, a: u64) -> Rounded {
        let negative = self.is_negative(a);
        match self.class(a) {
            Class::Nan => self.nan_of(&[a]),
            Class::Infinity => Self::plain(self.format.zero(negative)),
            Class::Zero => self.pole(negative),
            Class::Number(a) => {
                let one = BigUint::from(1u8) << smallest(self.format);
                self.nearest(negative, &Between::quotient(&one, &a, self.fine()))
            }
        }
    }
}
