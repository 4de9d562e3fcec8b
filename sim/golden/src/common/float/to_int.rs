//! Conversion to integers: exact integers of any size, rounded once.

use num_bigint::BigInt;

use super::class::INVALID;
use super::{Flags, Float, Rounded};

/// The direction of rounding: where an inexact result lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The nearest one; the even one of two.
    NearestEven,
    /// The nearest one; of two, the one further from zero.
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
    /// How fractions are rounded.
    pub direction: Direction,
}

impl Float {
    /// The integer for a, as raw bits of its width. A value outside of the range, such as an infinity, gives the
    /// nearest integer of the range and is invalid. A NaN gives 0 and is invalid. `inexact` is only set if the result
    /// is not invalid.
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
