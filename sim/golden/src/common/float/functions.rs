//! Division, square roots and conversion to integers: exact integers of any size, rounded once.

use num_bigint::{BigInt, BigUint};

use super::between::Between;
use super::exact::smallest;
use super::{Flags, Float, Rounded};

/// The direction of rounding: where the result lies that is not the exact one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The nearest one; the even one of two.
    NearestEven,
    /// The nearest one; of two the one further from zero.
    NearestAway,
    /// Towards zero.
    TowardZero,
    /// Towards minus infinity.
    Down,
    /// Towards plus infinity.
    Up,
}

/// The integers of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integers {
    /// Width in bits, 1 to 64.
    pub width: u32,
    /// Two's complement; otherwise unsigned.
    pub signed: bool,
    /// What happens to fractions.
    pub direction: Direction,
}

/// What an operand is, beside its sign.
pub(super) enum Class {
    Nan,
    Infinity,
    Zero,
    /// A number, in units of the smallest subnormal one.
    Number(BigUint),
}

const INVALID: Flags =
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

    /// A NaN because of an operand: invalid if that is a signalling one.
    pub(super) fn nan_of(self, operands: &[u64]) -> Rounded {
        let invalid = operands.iter().any(|&bits| self.format.is_signalling(bits));
        Rounded { bits: self.format.nan(), flags: Flags { invalid, ..Flags::default() } }
    }

    /// A result that is not defined.
    fn undefined(self) -> Rounded {
        Rounded { bits: self.format.nan(), flags: INVALID }
    }

    /// The infinity of a finite number divided by zero.
    fn pole(self, negative: bool) -> Rounded {
        let flags = Flags { division_by_zero: true, ..Flags::default() };
        Rounded { bits: self.format.infinity(negative), flags }
    }

    pub(super) fn plain(bits: u64) -> Rounded {
        Rounded { bits, flags: Flags::default() }
    }

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

    /// The integer for a, as raw bits of its width. What is outside of the integers' range, infinities too, gives the
    /// nearest integer in it and is invalid; a NaN gives 0 and is invalid. `inexact` only where it is not invalid.
    pub fn to_int(self, a: u64, to: Integers) -> Rounded {
        let mask = u64::MAX >> (64 - to.width);
        if self.format.is_nan(a) {
            return Rounded { bits: 0, flags: INVALID };
        }
        let (least, most) = if to.signed {
            (-(BigInt::from(1) << (to.width - 1)), BigInt::from(mask >> 1))
        } else {
            (BigInt::ZERO, BigInt::from(mask))
        };
        let raw = |value: &BigInt| (i128::try_from(value).unwrap_or_default() as u64) & mask;
        let outside = |negative: bool| Rounded { bits: raw(if negative { &least } else { &most }), flags: INVALID };
        if !self.format.is_finite(a) {
            return outside(self.is_negative(a));
        }
        let exact = self.exact(a);
        let one = BigInt::from(1) << exact.scale;
        // The shift rounds towards minus infinity.
        let below: BigInt = &exact.units >> exact.scale;
        let rest = &exact.units - &below * &one;
        let twice: BigInt = &rest * 2;
        let up = match to.direction {
            Direction::Down => false,
            Direction::Up => rest != BigInt::ZERO,
            Direction::TowardZero => self.is_negative(a) && rest != BigInt::ZERO,
            Direction::NearestAway => twice > one || (twice == one && !self.is_negative(a)),
            Direction::NearestEven => twice > one || (twice == one && below.bit(0)),
        };
        let value = below + i32::from(up);
        if value < least || value > most {
            return outside(self.is_negative(a));
        }
        let flags = Flags { inexact: rest != BigInt::ZERO, ..Flags::default() };
        Rounded { bits: raw(&value), flags }
    }
}
