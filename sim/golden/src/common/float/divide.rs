//! Quotients: exact integers of any size, rounded once.

use super::between::Between;
use super::class::Class;
use super::{Float, Rounded};

impl Float {
    /// a / b.
    pub fn divide(self, a: u64, b: u64) -> Rounded {
        let negative = self.is_negative(a) != self.is_negative(b);
        match (self.class(a), self.class(b)) {
            (Class::Nan, _) | (_, Class::Nan) => self.nan_of(&[a, b]),
            (Class::Infinity, Class::Infinity) | (Class::Zero, Class::Zero) => self.undefined(),
            (Class::Infinity, _) => Self::plain(self.format.infinity(negative)),
            (_, Class::Infinity) | (Class::Zero, _) => Self::plain(self.format.zero(negative)),
            (_, Class::Zero) => self.pole(negative),
            (Class::Number(a), Class::Number(b)) => self.nearest(negative, &Between::quotient(&a, &b, self.fine())),
        }
    }
}
