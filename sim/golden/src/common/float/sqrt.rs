//! Square roots: exact integers of any size, rounded once.

use num_bigint::BigUint;

use super::between::Between;
use super::class::Class;
use super::exact::smallest;
use super::{Float, Rounded};

impl Float {
    /// The square root of a.
    pub fn sqrt(self, a: u64) -> Rounded {
        match self.class(a) {
            Class::Nan => self.nan_of(&[a]),
            Class::Zero => Self::plain(self.format.zero(self.is_negative(a))),
            _ if self.is_negative(a) => self.undefined(),
            Class::Infinity => Self::plain(self.format.infinity(false)),
            Class::Number(a) => {
                let one = BigUint::from(1u8) << smallest(self.format);
                self.nearest(false, &Between::root(&a, &one, self.fine()))
            }
        }
    }
}
