//! Types of signals: a width in bits and a signedness.

use std::fmt;

use num_bigint::{BigInt, Sign};
use num_traits::{One, Zero};

/// Width (bits) and signedness of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type {
    /// Width in bits, at least 1.
    pub width: u32,
    /// Two's complement when true.
    pub signed: bool,
}

/// Widest signal, and widest array port, in bits: far beyond what synthesis takes, well within what the tools read.
pub const MAX_WIDTH: u32 = 1 << 20;

/// Most elements of all nets of one module, copies made by loops counted.
pub const MAX_ELEMENTS: u32 = 1 << 24;

/// One unsigned bit.
#[must_use]
pub const fn bit() -> Type {
    Type { width: 1, signed: false }
}

/// Unsigned integer of `width` bits.
#[must_use]
pub const fn uint(width: u32) -> Type {
    Type { width, signed: false }
}

/// Two's complement integer of `width` bits.
#[must_use]
pub const fn sint(width: u32) -> Type {
    Type { width, signed: true }
}

/// Bits needed to count from 0 to `max` inclusive (at least 1).
#[must_use]
pub const fn bits_for(max: u64) -> u32 {
    if max == 0 { 1 } else { 64 - max.leading_zeros() }
}

/// Bits needed to address `n` places (at least 1).
#[must_use]
pub const fn index_width(n: u64) -> u32 {
    if n <= 2 { 1 } else { bits_for(n - 1) }
}

impl Type {
    /// Smallest and largest value of the type.
    #[must_use]
    pub fn range(self) -> (BigInt, BigInt) {
        if self.signed {
            let half = BigInt::one() << self.width.saturating_sub(1);
            (-half.clone(), half - 1)
        } else {
            (BigInt::zero(), (BigInt::one() << self.width) - 1)
        }
    }

    /// Whether `value` is representable.
    #[must_use]
    pub fn fits(self, value: &BigInt) -> bool {
        let (low, high) = self.range();
        *value >= low && *value <= high
    }

    /// The value with `value`'s low `width` bits, read as this type.
    #[must_use]
    pub fn wrap(self, value: &BigInt) -> BigInt {
        let modulus = BigInt::one() << self.width;
        let mut low = value % &modulus;
        if low.sign() == Sign::Minus {
            low += &modulus;
        }
        if self.signed && low >= (BigInt::one() << self.width.saturating_sub(1)) {
            low -= modulus;
        }
        low
    }

    /// The smallest type that holds `value`.
    #[must_use]
    pub fn of(value: &BigInt, signed: bool) -> Type {
        let width = if signed {
            let magnitude = if value.sign() == Sign::Minus { -value - 1 } else { value.clone() };
            magnitude.bits() as u32 + 1
        } else {
            (value.bits() as u32).max(1)
        };
        Type { width, signed }
    }

    /// `count` elements of this type, as one port or net array.
    #[must_use]
    pub fn array(self, count: u32) -> ArrayType {
        ArrayType { element: self, count }
    }

    /// This type if `present`, for optional ports.
    #[must_use]
    pub fn when(self, present: bool) -> Option<Type> {
        present.then_some(self)
    }

    pub(crate) fn with_width(self, width: u32) -> Type {
        Type { width, ..self }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", if self.signed { "sint" } else { "uint" }, self.width)
    }
}

/// Element type and number of elements of an array port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayType {
    /// Type of each element.
    pub element: Type,
    /// Number of elements, at least 1.
    pub count: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smallest_types() {
        for (value, unsigned, signed) in [(0, 1, 1), (1, 1, 2), (2, 2, 3), (127, 7, 8), (128, 8, 9), (255, 8, 9)] {
            let value = BigInt::from(value);
            assert_eq!(Type::of(&value, false).width, unsigned, "{value}");
            assert_eq!(Type::of(&value, true).width, signed, "{value}");
        }
        assert_eq!(Type::of(&BigInt::from(-1), true).width, 1);
        assert_eq!(Type::of(&BigInt::from(-128), true).width, 8);
        assert_eq!(Type::of(&BigInt::from(-129), true).width, 9);
    }

    #[test]
    fn wrapping() {
        assert_eq!(sint(4).wrap(&BigInt::from(8)), BigInt::from(-8));
        assert_eq!(uint(4).wrap(&BigInt::from(-1)), BigInt::from(15));
        assert_eq!(sint(1).wrap(&BigInt::from(1)), BigInt::from(-1));
    }

    #[test]
    fn address_widths() {
        assert_eq!((1..=9).map(index_width).collect::<Vec<_>>(), [1, 1, 2, 2, 3, 3, 3, 3, 4]);
        assert_eq!([0, 1, 2, 3, 4, 255, 256].map(bits_for), [1, 1, 2, 2, 3, 8, 9]);
    }
}
