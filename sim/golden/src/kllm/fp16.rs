//! fp16 numbers as KLLM's algorithm uses them: raw bits in a `u64`, arithmetic that rounds once, exact integers.
//!
//! Every finite fp16 number is an integer times 2^-24 ([`units`]). So products and their sums are integers times 2^-48
//! or 2^-96, and "equal in rational arithmetic" is an equality of `i128`.

use rustc_apfloat::ieee::{Double, Half};
use rustc_apfloat::{Float as _, FloatConvert as _, Round};

use super::error::KllmError;
use crate::common::float::{Float, FloatFormat, binary16, single};
use crate::common::row;
use crate::format::Format;

/// fp16 with subnormals.
pub const FP16: Float = Float::ieee(FloatFormat::Fp16);
/// fp32 with subnormals.
pub const FP32: Float = Float::ieee(FloatFormat::Fp32);
/// 1.0.
pub const ONE: u64 = 0x3c00;
/// The bits of 65504, the largest finite number.
pub const LARGEST: u64 = 0x7bff;

/// The value, exactly.
pub fn value(bits: u64) -> f64 {
    Format::FP16.value(bits)
}

/// Whether `bits` is neither an infinity nor a NaN.
pub fn is_finite(bits: u64) -> bool {
    bits & 0x7c00 != 0x7c00
}

/// A finite number times 2^24, as an integer; `None` for infinities and NaNs.
pub fn units(bits: u64) -> Option<i128> {
    is_finite(bits).then(|| {
        let (negative, magnitude) = row::units(bits as u16);
        if negative { -i128::from(magnitude) } else { magnitude.into() }
    })
}

/// [`units`] of all of `bits`.
///
/// # Errors
/// [`KllmError::NotFinite`] with the position in `what`.
pub fn all_units(bits: &[u64], what: &'static str) -> Result<Vec<i128>, KllmError> {
    bits.iter().enumerate().map(|(index, &x)| units(x).ok_or(KllmError::NotFinite { what, index })).collect()
}

/// The fp16 number nearest to `x`, ties to even; one rounding.
///
/// This is not `half::f16::from_f64`, which goes through f32 or cuts off low bits, and so can round twice.
pub fn from_f64(x: f64) -> u64 {
    let nearest = x as f32;
    // An inexact number towards zero, with its last digit set, rounds on as the exact number does: fp32 has more than
    // two digits more than fp16.
    let odd = if x.is_nan() || f64::from(nearest) == x {
        nearest
    } else {
        let toward_zero = nearest.to_bits() - u32::from(f64::from(nearest).abs() > x.abs());
        f32::from_bits(toward_zero | 1)
    };
    single::to_fp16(odd.to_bits()).into()
}

/// [`from_f64`] as a number of the crate `half`.
pub fn half(x: f64) -> half::f16 {
    half::f16::from_bits(from_f64(x) as u16)
}

/// The largest fp16 number that is not above `x`: rounding toward minus infinity.
pub fn from_f64_down(x: f64) -> u64 {
    convert(x, Round::TowardNegative)
}

/// x as an fp16 number, in any direction.
fn convert(x: f64, round: Round) -> u64 {
    let mut loses_info = false;
    let half: Half = Double::from_bits(u128::from(x.to_bits())).convert_r(round, &mut loses_info).value;
    if half.is_nan() { FloatFormat::Fp16.nan() } else { half.to_bits() as u64 }
}

/// a * b, rounded to nearest even.
pub fn mul(a: u64, b: u64) -> u64 {
    binary16::mul(a as u16, b as u16).into()
}

/// a + b, rounded to nearest even.
pub fn add(a: u64, b: u64) -> u64 {
    binary16::add(a as u16, b as u16).into()
}

/// a * b + c, rounded once, to nearest even.
pub fn fma(a: u64, b: u64, c: u64) -> u64 {
    binary16::fma(a as u16, b as u16, c as u16).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_exact() {
        assert_eq!(units(ONE), Some(1 << 24));
        assert_eq!(units(0x0001), Some(1));
        assert_eq!(units(0xfbff), Some(-65504 << 24));
        assert_eq!((units(0x7c00), units(0xfc00), units(0x7e00)), (None, None, None));
        assert_eq!(all_units(&[0, 0x7c00], "x"), Err(KllmError::NotFinite { what: "x", index: 1 }));
    }

    #[test]
    fn conversion_of_every_number_is_the_identity_both_ways() {
        for bits in (0..=0xffff).filter(|&bits| is_finite(bits)) {
            assert_eq!((from_f64(value(bits)), from_f64_down(value(bits))), (bits, bits));
            if bits < 0x7bff {
                // Just above the middle of two neighbours, where a conversion through f32 is wrong.
                let (low, high) = (value(bits), value(bits + 1));
                let middle = f64::midpoint(low, high);
                assert_eq!(from_f64(middle.next_up()), bits + 1);
                assert_eq!(from_f64(middle), bits + bits % 2);
                assert_eq!(from_f64(middle.next_down()), bits);
                assert_eq!(from_f64_down(high.next_down()), bits);
                assert_eq!(from_f64_down(-low.next_up()), 0x8000 | (bits + 1));
            }
        }
        assert_eq!((from_f64(1e6), from_f64_down(1e6), from_f64_down(-1e6)), (0x7c00, 0x7bff, 0xfc00));
    }

    #[test]
    fn roundings_of_doubles_are_those_of_the_library() {
        let fractions = [0, 1, 1 << 28, 1 << 29, (1 << 29) - 1, 1 << 41, 3 << 41, (1 << 41) + 1, (1 << 42) - 1];
        for top in 0..=0xffff_u64 {
            for low in fractions {
                // All signs and exponents, and the highest digits.
                let x = f64::from_bits(top << 48 | (top.wrapping_mul(0x9e37) % 64) << 42 | low);
                assert_eq!(from_f64(x), convert(x, Round::NearestTiesToEven), "{x:e}");
            }
        }
        assert_eq!((from_f64(f64::MAX), from_f64(-f64::MIN_POSITIVE), from_f64(f64::NAN)), (0x7c00, 0x8000, 0x7e00));
    }
}
