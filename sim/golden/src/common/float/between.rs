//! Rounding of real numbers that are known with a lower bound: quotients and roots by exact integer arithmetic.

use num_bigint::BigUint;

use super::exact::smallest;
use super::{Flags, Float, Rounded, Subnormals};

/// `units` * 2^-`scale`. If there is `more`, a number between this value and the next multiple of 2^-`scale`.
#[derive(Clone, Debug)]
pub(super) struct Between {
    pub(super) units: BigUint,
    pub(super) scale: u32,
    pub(super) more: bool,
}

impl Between {
    /// The quotient.
    pub(super) fn quotient(numerator: &BigUint, denominator: &BigUint, scale: u32) -> Self {
        let numerator = numerator << scale;
        let units = &numerator / denominator;
        let more = &units * denominator != numerator;
        Self { units, scale, more }
    }

    /// The square root of a quotient.
    pub(super) fn root(numerator: &BigUint, denominator: &BigUint, scale: u32) -> Self {
        let numerator = numerator << (2 * scale);
        let units = (&numerator / denominator).sqrt();
        let more = &units * &units * denominator != numerator;
        Self { units, scale, more }
    }
}

impl Float {
    /// A scale at which all numbers of the format and the middles between them are different.
    pub(super) fn fine(self) -> u32 {
        smallest(self.format) + 2
    }

    /// The number nearest to `value` or to minus `value`, ties to even. `value` has at least the scale [`Float::fine`].
    pub(super) fn nearest(self, negative: bool, value: &Between) -> Rounded {
        let f = self.format.fraction_bits();
        let below = value.scale - smallest(self.format);
        let bits = u32::try_from((&value.units >> below).bits()).unwrap_or(u32::MAX);
        // Places that a number of this size has less than a subnormal number.
        let coarse = bits.saturating_sub(f + 1);
        let dropped = below + coarse;
        let kept = &value.units >> dropped;
        let half = value.units.bit(u64::from(dropped) - 1);
        let rest = value.more || value.units != (&value.units >> (dropped - 1)) << (dropped - 1);
        let up = half && (rest || kept.bit(0));
        let kept = u64::try_from(kept).unwrap_or(u64::MAX) + u64::from(up);
        // The leading one of a normal number counts as one more in the exponent.
        let magnitude = (u64::from(coarse) << f) + kept;
        let infinity = self.format.infinity(false);
        let overflow = magnitude >= infinity;
        let sign = self.format.zero(negative);
        let flush = !overflow && self.subnormals == Subnormals::Flush && self.format.is_subnormal(magnitude);
        let inexact = half || rest || overflow || flush;
        let magnitude = if flush { 0 } else { magnitude.min(infinity) };
        let flags = Flags { overflow, underflow: inexact && bits <= f, inexact, ..Flags::default() };
        Rounded { bits: sign | magnitude, flags }
    }
}
