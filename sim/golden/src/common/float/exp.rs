//! The exponential function by the algorithm of `float_exp`, in integers.
//!
//! The format has f bits of fraction and e bits of exponent. The operand times log2 e becomes a multiple of 2^-(f + 5):
//! rounded down in magnitude and, if it is negative, one less. Its integer part is the exponent of the result. Its
//! fraction r gives 2^r, by a straight line between two places of a table. The line is truncated and rounded once,
//! upwards from the middle.

use num_bigint::{BigInt, BigUint};

use super::between::Between;
use super::class::Class;
use super::exact::smallest;
use super::real::{PLACES, exp, ln_2};
use super::{Float, Rounded};
use crate::format::FloatFormat;

/// Constants of the algorithm in one format.
#[derive(Clone, Debug)]
pub struct ExpTable {
    format: FloatFormat,
    /// Places of the binary logarithm.
    places: u32,
    /// log2 e, with `places` and the bits of the exponent as further places.
    log2_e: u64,
    /// Bits of the fraction that select a place of the table.
    index: u32,
    /// Powers of two at the places, and at 1, with 6 places more than the format.
    powers: Vec<u64>,
}

impl ExpTable {
    /// The constants for `format`, which has at most 16 bits.
    #[must_use]
    pub fn new(format: FloatFormat) -> Self {
        let f = format.fraction_bits();
        let (places, index) = (f + 5, (f + 2) / 2);
        let natural = ln_2();
        let whole = |value: BigInt| u64::try_from(value).unwrap_or(u64::MAX);
        let log2_e = whole((BigInt::from(1) << (PLACES + places + format.exponent_bits())) / &natural);
        let power = |k: u32| whole((exp(&((&natural * k) >> index)) >> (PLACES - f - 7)) + 1) >> 1;
        Self { format, places, log2_e, index, powers: (0..=1 << index).map(power).collect() }
    }

    /// e to the power of a.
    #[must_use]
    pub fn exp(&self, float: Float, a: u64) -> Rounded {
        let (format, negative) = (self.format, float.is_negative(a));
        let f = format.fraction_bits();
        let units = match float.class(a) {
            Class::Nan => return float.nan_of(&[a]),
            Class::Infinity if negative => return Float::plain(format.zero(false)),
            Class::Infinity => return Float::plain(format.infinity(false)),
            Class::Zero => return Float::plain(float.from_int(1).bits),
            Class::Number(units) => units,
        };
        // A number of this size has no finite result other than 0.
        let limit = BigUint::from(1u8) << (format.exponent_bits() + smallest(format));
        let units = units.min(limit);
        let scale = smallest(format) + format.exponent_bits();
        let product = i64::try_from((units * self.log2_e) >> scale).unwrap_or(i64::MAX);
        let logarithm = if negative { -product - 1 } else { product };
        let (exponent, fraction) = (logarithm >> self.places, logarithm & ((1 << self.places) - 1));
        let low = self.places - self.index;
        let place = (fraction >> low) as usize;
        let slope = self.powers[place + 1] - self.powers[place];
        let power = self.powers[place] + ((slope * (fraction as u64 & ((1 << low) - 1))) >> low);
        // In units that are fine enough for the format; the result is never one of them.
        let truncated = BigUint::from(power >> 5);
        let scale = i64::from(f + 1) - exponent;
        let fine = i64::from(float.fine());
        let value = if scale <= fine {
            Between { units: truncated << (fine - scale), scale: float.fine(), more: true }
        } else {
            Between { units: truncated >> (scale - fine), scale: float.fine(), more: true }
        };
        float.nearest(false, &value)
    }
}
