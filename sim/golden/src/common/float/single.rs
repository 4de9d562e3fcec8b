//! fp32 by the host's `f32`, on raw bits: for models that compute millions of elements and need no exceptions.
//!
//! Each function rounds exactly once, to nearest, ties to even. IEEE 754 demands this of sums and products of binary32
//! numbers and of conversions of integers and to binary16, with subnormals. Rust promises IEEE 754 for `f32`, in the
//! default environment, without fused or wider intermediate results. Only x86 without SSE2 is excepted, and it is
//! refused below. The sign and payload of a NaN are open: here every NaN becomes the canonical one. `half` also rounds
//! a conversion to binary16 once, in hardware (F16C, FEAT_FP16) or in integers. A test holds all of them equal to
//! [`Float`](super::Float).

use half::f16;

#[cfg(all(target_arch = "x86", not(target_feature = "sse2")))]
compile_error!("f32 rounds twice in x87 registers");

/// The canonical NaN.
pub const NAN: u32 = 0x7fc0_0000;

fn bits(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// a + b.
#[must_use]
pub fn add(a: u32, b: u32) -> u32 {
    bits(f32::from_bits(a) + f32::from_bits(b))
}

/// a * b.
#[must_use]
pub fn mul(a: u32, b: u32) -> u32 {
    bits(f32::from_bits(a) * f32::from_bits(b))
}

/// a * b, rounded down.
#[must_use]
pub fn mul_down(a: u32, b: u32) -> u32 {
    // Exact: 48 digits, and exponents that f64 has.
    let exact = f64::from(f32::from_bits(a)) * f64::from(f32::from_bits(b));
    let nearest = exact as f32;
    bits(if f64::from(nearest) > exact { nearest.next_down() } else { nearest })
}

/// The float nearest to an integer.
#[must_use]
pub fn from_int(value: i128) -> u32 {
    // Processors convert integers of 64 bits at once.
    i64::try_from(value).map_or(value as f32, |value| value as f32).to_bits()
}

/// The same value in fp32. Each value of fp16 has one.
#[must_use]
pub fn from_fp16(value: u16) -> u32 {
    bits(f16::from_bits(value).to_f32())
}

/// The nearest value of fp16.
#[must_use]
pub fn to_fp16(value: u32) -> u16 {
    let value = f32::from_bits(value);
    if value.is_nan() { 0x7e00 } else { f16::from_f32(value).to_bits() }
}

/// The largest value of fp16 that is not above.
#[must_use]
pub fn to_fp16_down(value: u32) -> u16 {
    let (exact, nearest) = (f32::from_bits(value), to_fp16(value));
    match nearest {
        _ if f16::from_bits(nearest).to_f32() <= exact || exact.is_nan() => nearest,
        // Zeros have negative numbers below them.
        0 => 0x8001,
        1..=0x7fff => nearest - 1,
        _ => nearest + 1,
    }
}

/// The nearest integer, and the even one of two: [`f32::round_ties_even`], which is slow on processors that may lack an
/// instruction for it.
fn round_ties_even(value: f32) -> f32 {
    /// Numbers from here on are integers, and so are sums with it.
    const INTEGERS: f32 = 8_388_608.0;
    let magnitude = value.abs();
    if magnitude < INTEGERS { ((magnitude + INTEGERS) - INTEGERS).copysign(value) } else { value }
}

/// The nearest integer from `least` to `most`, and the even one of two. Also whether the value is NaN (the integer is
/// 0) or rounds to an integer outside. Both ends are below 2^24 in magnitude.
#[must_use]
pub fn to_int(value: u32, (least, most): (i32, i32)) -> (i32, bool) {
    let value = f32::from_bits(value);
    if value.is_nan() {
        return (0, true);
    }
    // This is exact, and so are the ends.
    let rounded = round_ties_even(value);
    let nearest = rounded.clamp(least as f32, most as f32);
    (nearest as i32, nearest != rounded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::float::{Direction, Float, Integers};
    use crate::format::FloatFormat;

    const FLOAT: Float = Float::ieee(FloatFormat::Fp32);

    /// All exponents and signs, with fractions at both ends and around the middle, and a few more.
    fn values() -> Vec<u32> {
        let fractions = [0, 1, 2, 0x1fff, 0x2000, 0x3f_ffff, 0x40_0000, 0x40_0001, 0x2a_aaaa, 0x7f_fffe, 0x7f_ffff];
        let mut values = Vec::new();
        for top in 0..512u32 {
            let other = top.wrapping_mul(0x9e37_79b9) >> 9;
            values.extend(fractions.iter().chain([&other]).map(|fraction| top << 23 | fraction));
        }
        values
    }

    #[test]
    fn sums_and_products_are_those_of_the_library() {
        let values = values();
        let mut seen = [0; 2];
        for (k, &a) in values.iter().enumerate() {
            // Partners of all kinds, and neighbours in magnitude, where sums cancel.
            let far = (0..12).map(|j| values[(k * 31 + j * 509) % values.len()]);
            let near =
                [0, 1, 12, 13, 25, 12 * 24, 12 * 25].map(|j| values[(k + j) % values.len()] ^ (j as u32 & 1) << 31);
            for b in far.chain(near) {
                let (sum, product) = (add(a, b), mul(a, b));
                assert_eq!(u64::from(sum), FLOAT.add(a.into(), b.into()).bits, "{a:#x} + {b:#x}");
                assert_eq!(u64::from(product), FLOAT.mul(a.into(), b.into()).bits, "{a:#x} * {b:#x}");
                seen[0] += usize::from(FloatFormat::Fp32.is_subnormal(product.into()));
                seen[1] += usize::from(FloatFormat::Fp32.is_nan(sum.into()));
            }
        }
        assert!(seen[0] > 100 && seen[1] > 100, "{seen:?}");
    }

    #[test]
    fn conversions_are_those_of_the_library() {
        let steps = (0..1u64 << 32).step_by(65_537).map(|bits| bits as u32);
        for value in values().into_iter().chain(steps) {
            assert_eq!(u64::from(to_fp16(value)), FLOAT.convert(value.into(), FloatFormat::Fp16).bits, "{value:#x}");
        }
        let half = Float::ieee(FloatFormat::Fp16);
        for value in 0..=u16::MAX {
            assert_eq!(u64::from(from_fp16(value)), half.convert(value.into(), FloatFormat::Fp32).bits, "{value:#x}");
        }
    }

    #[test]
    fn directed_ones_are_those_of_the_library() {
        let values = values();
        let mut seen = 0;
        for (k, &a) in values.iter().enumerate() {
            let half = to_fp16_down(a);
            let expected = FLOAT.convert_directed(Direction::Down, a.into(), FloatFormat::Fp16).bits;
            assert_eq!(u64::from(half), expected, "{a:#x}");
            for b in (0..24).map(|j| values[(k * 31 + j * 509) % values.len()]) {
                let product = FLOAT.mul_directed(Direction::Down, a.into(), b.into());
                assert_eq!(u64::from(mul_down(a, b)), product.bits, "{a:#x} * {b:#x}");
                seen += usize::from(product.flags.inexact && product.bits >> 31 == 1);
            }
        }
        assert!(seen > 1000, "{seen}");
    }

    #[test]
    fn integers_are_those_of_the_library() {
        for shift in 0..76 {
            for low in [-3i128, -1, 0, 1, 2, 5] {
                for value in [1i128, 3, 0x155_5555, 0x1ff_ffff].map(|top| (top << shift) + low) {
                    for value in [value, -value] {
                        assert_eq!(u64::from(from_int(value)), FLOAT.from_int(value).bits, "{value}");
                    }
                }
            }
        }
        // Every half and its neighbours.
        let halves = (-600..600).flat_map(|k| {
            let bits = (k as f32 / 2.0).to_bits();
            [bits, bits.wrapping_add(1), bits.wrapping_sub(1)]
        });
        for value in values().into_iter().chain(halves) {
            for (width, signed) in [(4, true), (4, false), (8, true), (8, false)] {
                let ends = if signed { (-1 << (width - 1), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) };
                let expected =
                    FLOAT.to_int(value.into(), Integers { width, signed, direction: Direction::NearestEven });
                let (integer, outside) = to_int(value, ends);
                let raw = integer as u64 & ((1 << width) - 1);
                assert_eq!((raw, outside), (expected.bits, expected.flags.invalid), "{value:#x} {width} {signed}");
            }
        }
    }
}
