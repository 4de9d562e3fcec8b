//! Classes of operands, and results that need no rounding.

use num_bigint::BigUint;

use super::{Flags, Float, Rounded};

/// The class of an operand, without its sign.
pub(super) enum Class {
    Nan,
    Infinity,
    Zero,
    /// A number, in units of the smallest subnormal number.
    Number(BigUint),
}

pub(super) const INVALID: Flags =
    Flags { invalid: true, division_by_zero: false, overflow: false, underflow: false, inexact: false };

impl Float {
    pub(super) fn class(self, bits: u64) -> Class {
        if self.format.is_nan(bits) {
            return Class::Nan;
        }
        if !self.format.is_finite(bits) {
            return Class::Infinity;
        }
        let units = self.exact(bits).units.magnitude().clone();
        if units == BigUint::ZERO { Class::Zero } else { Class::Number(units) }
    }

    pub(super) fn is_negative(self, bits: u64) -> bool {
        bits & self.format.zero(true) != 0
    }

    /// A NaN because of an operand. It is invalid if that operand is a signalling NaN.
    pub(super) fn nan_of(self, operands: &[u64]) -> Rounded {
        let invalid = operands.iter().any(|&bits| self.format.is_signalling(bits));
        Rounded { bits: self.format.nan(), flags: Flags { invalid, ..Flags::default() } }
    }

    /// A result that is not defined.
    pub(super) fn undefined(self) -> Rounded {
        Rounded { bits: self.format.nan(), flags: INVALID }
    }

    /// The infinity of a finite number divided by zero.
    pub(super) fn pole(self, negative: bool) -> Rounded {
        let flags = Flags { division_by_zero: true, ..Flags::default() };
        Rounded { bits: self.format.infinity(negative), flags }
    }

    pub(super) fn plain(bits: u64) -> Rounded {
        Rounded { bits, flags: Flags::default() }
    }
}
