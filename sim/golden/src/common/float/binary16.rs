//! fp16 by the host's `f32` and by integers, on raw bits: for models that compute millions of elements and need no
//! exceptions.
//!
//! Each function rounds exactly once, to nearest, ties to even, and every NaN becomes the canonical one. The product of
//! two fp16 numbers is a number of fp32. Their sum may be none; but fp32 has more than twice as many digits and two
//! more, so rounding to fp32 first changes no fp16 sum (S. Figueroa, "When is double rounding innocuous?", 1995). A
//! product with an addend is an integer in units of 2^-48. Tests hold all of them equal to [`Float`](super::Float).

use super::single;
use crate::common::row::{is_special, nearest, units};

/// a * b.
#[must_use]
pub fn mul(a: u16, b: u16) -> u16 {
    single::to_fp16(single::mul(single::from_fp16(a), single::from_fp16(b)))
}

/// a + b.
#[must_use]
pub fn add(a: u16, b: u16) -> u16 {
    single::to_fp16(single::add(single::from_fp16(a), single::from_fp16(b)))
}

/// a * b + c, rounded once.
#[must_use]
pub fn fma(a: u16, b: u16, c: u16) -> u16 {
    if [a, b, c].into_iter().any(is_special) {
        // An infinity or a NaN, which needs no rounding.
        let [a, b, c] = [a, b, c].map(single::from_fp16);
        return single::to_fp16(single::add(single::mul(a, b), c));
    }
    let signed = |bits: u16| {
        let (negative, magnitude) = units(bits);
        if negative { -i128::from(magnitude) } else { magnitude.into() }
    };
    let sum = signed(a) * signed(b) + (signed(c) << 24);
    // A sum of zeros is -0 if both are; all other sums that are 0 are +0.
    let zero = (a ^ b) & c & 0x8000 != 0;
    nearest(if sum == 0 { zero } else { sum < 0 }, sum.unsigned_abs(), -48)
}

/// The nearest integer from `least` to `most`, and the even one of two. Also whether the number is NaN (the integer is
/// 0) or rounds to an integer outside. Both ends are below 2^24 in magnitude.
#[must_use]
pub fn to_int(value: u16, range: (i32, i32)) -> (i32, bool) {
    single::to_int(single::from_fp16(value), range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::float::{Direction, Float, Integers};
    use crate::format::FloatFormat;

    const FLOAT: Float = Float::ieee(FloatFormat::Fp16);

    /// Each number with numbers of all exponents and signs, with its neighbours, and with its negative's neighbours.
    fn pairs() -> impl Iterator<Item = (u16, u16)> {
        (0..=u16::MAX).flat_map(|a| {
            let of_all = (0..64u16).map(move |top| top << 10 | a.wrapping_mul(0x9e37).wrapping_add(top) >> 6);
            let near = [0, 1, 0x400, 0x2800, 0x2c00, 0x3000].map(|step| a.wrapping_add(step));
            of_all.chain(near).chain(near.map(|b| b ^ 0x8000)).map(move |b| (a, b))
        })
    }

    #[test]
    fn sums_and_products_are_those_of_the_library() {
        let mut seen = [0; 3];
        for (a, b) in pairs().filter(|&(a, b)| (a ^ b) % 5 == 0) {
            let (sum, product) = (FLOAT.add(a.into(), b.into()), FLOAT.mul(a.into(), b.into()));
            assert_eq!(u64::from(add(a, b)), sum.bits, "{a:#x} + {b:#x}");
            assert_eq!(u64::from(mul(a, b)), product.bits, "{a:#x} * {b:#x}");
            seen[0] += usize::from(sum.flags.inexact);
            seen[1] += usize::from(product.flags.underflow);
            seen[2] += usize::from(FloatFormat::Fp16.is_nan(sum.bits));
        }
        assert!(seen.iter().all(|&seen| seen > 1000), "{seen:?}");
    }

    #[test]
    fn products_with_addends_are_those_of_the_library() {
        let mut seen = [0; 3];
        for (a, b) in pairs().filter(|&(a, b)| (a ^ b) % 41 == 0) {
            let product = FLOAT.mul(a.into(), b.into()).bits as u16;
            // Addends of another size, some that cancel, and both zeros.
            let other = a.wrapping_mul(0x6b43).wrapping_add(b);
            for c in [other, product ^ 0x8000, product ^ 0x8001, product.wrapping_add(0x2c00), 0, 0x8000] {
                let sum = FLOAT.fma(a.into(), b.into(), c.into());
                assert_eq!(u64::from(fma(a, b, c)), sum.bits, "{a:#x} * {b:#x} + {c:#x}");
                seen[0] += usize::from(sum.flags.inexact);
                seen[1] += usize::from(sum.bits == 0);
                seen[2] += usize::from(sum.bits == 0x8000);
            }
        }
        assert!(seen.iter().all(|&seen| seen > 100), "{seen:?}");
    }

    #[test]
    fn integers_are_those_of_the_library() {
        for value in 0..=u16::MAX {
            for (width, signed) in [(4, true), (8, true), (8, false)] {
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
