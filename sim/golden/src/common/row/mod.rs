//! Units that work on rows of fp16 numbers: exact integers and rationals, rounded once.

mod exact;
pub mod layer_norm;
pub mod rms_norm;
pub mod rotary_embedding;
pub mod row_frame;
pub mod softmax;
pub mod vector_unit;

pub use exact::{Distance, distance, exact_layer_norm, exact_rms_norm, exact_softmax};
pub use row_frame::{Beat, Row, gate};

/// The canonical NaN.
pub const NAN: u16 = 0x7e00;

/// A finite fp16 number: negative or not, and its magnitude in units of 2^-24.
pub fn units(bits: u16) -> (bool, u64) {
    let (field, fraction) = (u64::from(bits >> 10 & 31), u64::from(bits & 0x3ff));
    let magnitude = if field == 0 { fraction } else { (fraction + 0x400) << (field - 1) };
    (bits >> 15 == 1, magnitude)
}

/// Infinity or NaN.
pub fn is_special(bits: u16) -> bool {
    bits >> 10 & 31 == 31
}

/// NaN.
pub fn is_nan(bits: u16) -> bool {
    is_special(bits) && bits & 0x3ff != 0
}

/// The fp16 number nearest to (-1)^negative * `magnitude` * 2^`exponent`, ties to even.
pub fn nearest(negative: bool, magnitude: u128, exponent: i64) -> u16 {
    let sign = u16::from(negative) << 15;
    let size = i64::from(u128::BITS - magnitude.leading_zeros());
    // The number is below 2^top. Its last place is 2^last, which is at least the last place of subnormal numbers.
    let top = size + exponent;
    let last = (top - 11).max(-24);
    if size == 0 {
        return sign;
    }
    let drop = last - exponent;
    let kept = match drop {
        ..=0 => magnitude << drop.unsigned_abs(),
        1..128 => {
            let (half, below) = (1 << (drop - 1), magnitude >> drop);
            let rest = magnitude - (below << drop);
            below + u128::from(rest > half || (rest == half && below % 2 == 1))
        }
        // All bits are below the last place: less than a half of it, or with 128 bits a half or more.
        _ => u128::from(drop == 128 && magnitude > 1 << 127),
    };
    // The exponent is one more for each place above the subnormal numbers' last place. The leading 1 adds one too.
    let bits = (last + 24) as u128 * 1024 + kept;
    sign | if bits >= 0x7c00 { 0x7c00 } else { bits as u16 }
}

/// An exact result before it is rounded: (-1)^negative * magnitude * 2^exponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unrounded {
    /// Whether it is below 0.
    pub negative: bool,
    /// Integer below 2^80.
    pub magnitude: u128,
    /// Exponent of its unit.
    pub exponent: i64,
}

impl Unrounded {
    /// The nearest fp16 number.
    #[must_use]
    pub fn rounded(&self) -> u16 {
        nearest(self.negative, self.magnitude, self.exponent)
    }

    /// Times an fp16 number, which may be anything, and rounded once.
    #[must_use]
    pub fn gained(&self, gain: u16) -> u16 {
        let negative = self.negative != (gain >> 15 == 1);
        if is_nan(gain) || (is_special(gain) && self.magnitude == 0) {
            return NAN;
        }
        if is_special(gain) {
            return 0x7c00 | u16::from(negative) << 15;
        }
        let magnitude = self.magnitude * u128::from(units(gain).1);
        Self { negative, magnitude, exponent: self.exponent - 24 }.rounded()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::float::Float;
    use crate::format::FloatFormat;

    #[test]
    fn rounds_like_a_conversion() {
        let float = Float::ieee(FloatFormat::Fp32);
        for bits in (0..1u64 << 31).step_by(104_729) {
            if !FloatFormat::Fp32.is_finite(bits) {
                continue;
            }
            let field = (bits >> 23) as i64;
            let fraction = bits & 0x7f_ffff;
            let magnitude = if field == 0 { fraction } else { fraction | 0x80_0000 };
            let rounded = nearest(false, magnitude.into(), field.max(1) - 150);
            assert_eq!(u64::from(rounded), float.convert(bits, FloatFormat::Fp16).bits, "{bits:#x}");
        }
    }
}
