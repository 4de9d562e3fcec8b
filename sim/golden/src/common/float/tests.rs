//! The wrappers, and `rustc_apfloat` itself, against exact integer arithmetic, other implementations and known results.

mod directed;
mod exp;
mod flags;
mod functions;
mod table;

use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;
use crate::common::float::FloatFormat::{Bf16, E3m2, E5m2, Fp16, Fp32};
use crate::format::Format;

/// An exact number other than zero: `magnitude` * 2^`exponent`.
#[derive(Clone, Copy, Debug)]
struct Exact {
    negative: bool,
    magnitude: u128,
    exponent: i32,
}

impl Exact {
    /// The value of a finite float; `None` for zeros.
    fn of(format: FloatFormat, bits: u64) -> Option<Self> {
        let f = format.fraction_bits();
        let field = (bits >> f & ((1 << format.exponent_bits()) - 1)) as i32;
        let fraction = u128::from(bits % (1 << f));
        let magnitude = if field == 0 { fraction } else { fraction + (1 << f) };
        let exponent = field.max(1) - bias(format) - f as i32;
        (magnitude != 0).then_some(Self { negative: bits & format.zero(true) != 0, magnitude, exponent })
    }

    fn times(self, other: Self) -> Self {
        let (magnitude, exponent) = (self.magnitude * other.magnitude, self.exponent + other.exponent);
        Self { negative: self.negative ^ other.negative, magnitude, exponent }
    }

    /// The sum; `None` if it is zero. Magnitudes are below 2^48. If a term is more than 70 places smaller, it is
    /// replaced by a term that is 70 places smaller: no format has so many places.
    fn plus(self, other: Self) -> Option<Self> {
        let (high, low) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let distance = high.exponent - low.exponent;
        let low = if distance > 70 { Self { magnitude: 1, exponent: high.exponent - 70, ..low } } else { low };
        let signed = |x: Self, shift: i32| (x.magnitude << shift) as i128 * if x.negative { -1 } else { 1 };
        let sum = signed(high, high.exponent - low.exponent) + signed(low, 0);
        (sum != 0).then(|| Self { negative: sum < 0, magnitude: sum.unsigned_abs(), exponent: low.exponent })
    }

    /// The nearest float, ties to even.
    fn round(self, format: FloatFormat) -> u64 {
        let f = format.fraction_bits() as i32;
        let smallest = 1 - bias(format) - f;
        let top = 127 - self.magnitude.leading_zeros() as i32 + self.exponent;
        let unit = (top - f).max(smallest);
        let kept = if unit > self.exponent {
            let drop = (unit - self.exponent).min(126);
            let (quotient, rest, half) = (self.magnitude >> drop, self.magnitude % (1 << drop), 1 << (drop - 1));
            quotient + u128::from(rest > half || (rest == half && quotient % 2 == 1))
        } else {
            self.magnitude << (self.exponent - unit)
        };
        // The leading one of a normal number adds one to the exponent field.
        let bits = ((unit - smallest) as u64) * (1 << f) + kept as u64;
        format.zero(self.negative) | bits.min(format.infinity(false))
    }
}

fn bias(format: FloatFormat) -> i32 {
    (1 << (format.exponent_bits() - 1)) - 1
}

fn is_finite(format: FloatFormat, bits: u64) -> bool {
    bits & !format.zero(true) < format.infinity(false)
}

/// a * b + c of finite operands by exact arithmetic; IEEE's rules for the sign of zero.
fn exact_fma(format: FloatFormat, a: u64, b: u64, c: u64) -> u64 {
    let negative = |bits: u64| bits & format.zero(true) != 0;
    let product = Exact::of(format, a).zip(Exact::of(format, b)).map(|(a, b)| a.times(b));
    let sum = match (product, Exact::of(format, c)) {
        (Some(product), Some(c)) => product.plus(c),
        (product, c) => product.or(c),
    };
    match sum {
        Some(sum) => sum.round(format),
        // Two zeros keep a common sign; what cancels is positive.
        None => format.zero(product.is_none() && negative(a) != negative(b) && negative(c)),
    }
}

fn check(format: FloatFormat, a: u64, b: u64, c: u64) {
    let float = Float::ieee(format);
    if [a, b, c].iter().all(|&bits| is_finite(format, bits)) {
        assert_eq!(float.fma(a, b, c).bits, exact_fma(format, a, b, c), "{format}: {a:#x} * {b:#x} + {c:#x}");
        // a + c = a * 1 + c, and a * b = a * b + zero of the product's sign.
        let one = (bias(format) as u64) << format.fraction_bits();
        assert_eq!(float.add(a, c).bits, exact_fma(format, a, one, c), "{format}: {a:#x} + {c:#x}");
        assert_eq!(float.sub(a, c ^ format.zero(true)), float.add(a, c));
        let zero = (a ^ b) & format.zero(true);
        assert_eq!(float.mul(a, b).bits, exact_fma(format, a, b, zero), "{format}: {a:#x} * {b:#x}");
    }
}

#[test]
fn worked_examples() {
    let f = Float::ieee(Fp16);
    // 1 + 2^-11 is in the middle: to even. The fused form sees the bits that the rounded product loses.
    assert_eq!(f.add(0x3c00, 0x1000).bits, 0x3c00);
    assert_eq!(f.add(0x3c01, 0x1000).bits, 0x3c02);
    assert_eq!(f.mul(0x3c01, 0x3c01).bits, 0x3c02);
    assert_eq!(f.fma(0x3c01, 0x3c01, 0xbc02).bits, 0x0010);
    assert_eq!(f.mul_then_add(0x3c01, 0x3c01, 0xbc02).bits, 0x0000);
    assert_eq!(f.convert(0x0001, Fp32).bits, 0x3380_0000);
    assert_eq!(f.compare(0x8000, 0), Some(Ordering::Equal));
    assert_eq!(f.compare(0x7e00, 0), None);
}

#[test]
fn special_cases() {
    let f = Float::ieee(Fp16);
    let (inf, nan, one, zero) = (0x7c00, 0x7e00, 0x3c00, 0);
    let minus = |bits: u64| bits | 0x8000;
    for (result, bits, invalid) in [
        (f.add(inf, minus(inf)), nan, true),
        (f.sub(inf, inf), nan, true),
        (f.add(inf, minus(one)), inf, false),
        (f.add(one, minus(one)), zero, false),
        (f.add(minus(zero), minus(zero)), minus(zero), false),
        (f.add(minus(zero), zero), zero, false),
        (f.mul(zero, minus(inf)), nan, true),
        (f.mul(minus(zero), one), minus(zero), false),
        (f.fma(zero, inf, nan), nan, true),
        (f.fma(one, inf, minus(inf)), nan, true),
        (f.fma(0x7bff, 0x7bff, minus(inf)), minus(inf), false),
        (f.mul_then_add(0x7bff, 0x7bff, minus(inf)), nan, true),
        (f.fma(minus(zero), one, zero), zero, false),
        (f.fma(minus(zero), one, minus(zero)), minus(zero), false),
        // Quiet NaNs lose sign and payload; signalling ones raise invalid.
        (f.add(0xffff, one), nan, false),
        (f.add(0x7c01, one), nan, true),
        (f.convert(0xfc01, Fp16), nan, true),
    ] {
        assert_eq!((result.bits, result.flags.invalid), (bits, invalid), "{result:x?}");
    }
    assert_eq!([Fp16, Bf16, Fp32, E5m2, E3m2].map(FloatFormat::nan), [0x7e00, 0x7fc0, 0x7fc0_0000, 0x7e, 0x1e]);
}

#[test]
fn flushing() {
    let f = Float::flush(Fp16);
    let (smallest, subnormal) = (0x0400, 0x03ff);
    // Operands count as zero without a flag. Results are flushed after IEEE's rounding, with flags.
    assert_eq!(f.add(0x8001, 0x8000), Rounded { bits: 0x8000, flags: Flags::default() });
    assert_eq!(f.mul(subnormal, 0x7bff).bits, 0);
    assert_eq!(f.fma(0x3c00, 0x3c00, 0x8001).bits, 0x3c00);
    assert_eq!(f.compare(0x8001, 0x0001), Some(Ordering::Equal));
    assert!(f.total_less(0x8001, 0x0001));
    let flushed = Flags { underflow: true, inexact: true, ..Flags::default() };
    assert_eq!(f.sub(smallest, 0x0401), Rounded { bits: 0x8000, flags: flushed });
    assert_eq!(f.mul(0xbbff, smallest), Rounded { bits: 0x8400, flags: flushed });
    assert_eq!(f.mul(0xbbfe, smallest), Rounded { bits: 0x8000, flags: flushed });
    // The product is flushed before the addition, if it is rounded before the addition.
    assert_eq!(f.mul_then_add(0x3800, smallest, smallest).bits, smallest);
    assert_eq!(f.fma(0x3800, smallest, smallest).bits, 0x0600);
    assert_eq!(f.convert(0x0001, Fp32).bits, 0);
    assert_eq!(Float::flush(Fp32).convert(0x3380_0000, Fp16), Rounded { bits: 0, flags: flushed });
}

/// All triples of the 6-bit format, all pairs of the 8-bit one.
#[test]
fn small_formats_are_exact() {
    for (a, b) in (0..64).flat_map(|a| (0..64).map(move |b| (a, b))) {
        (0..64).for_each(|c| check(E3m2, a, b, c));
    }
    for (a, b) in (0..256).flat_map(|a| (0..256).map(move |b| (a, b))) {
        check(E5m2, a, b, b ^ 0x80);
    }
}

#[test]
fn integers_are_exact() {
    for format in FloatFormat::ALL {
        let float = Float::ieee(format);
        let edges = (0..=64).flat_map(|bit| (-3..=3).map(move |step| (1i128 << bit) + step));
        for value in (-70_000..=70_000).chain(edges.clone()).chain(edges.map(|value| -value)) {
            let exact = Exact { negative: value < 0, magnitude: value.unsigned_abs(), exponent: 0 };
            let bits = if value == 0 { 0 } else { exact.round(format) };
            let result = float.from_int(value);
            assert_eq!(result.bits, bits, "{format}: {value}");
            assert_eq!(result.flags.overflow, bits & !format.zero(true) == format.infinity(false), "{format}: {value}");
        }
    }
    assert_eq!(Float::ieee(Fp16).from_int(65_519).bits, 0x7bff);
    assert_eq!(Float::ieee(Fp16).from_int(65_520).bits, 0x7c00);
}

/// All values of all formats of up to 16 bits into all formats, and the results of `half`.
#[test]
fn conversions_are_exact() {
    for (from, to) in FloatFormat::ALL.into_iter().flat_map(|from| FloatFormat::ALL.map(|to| (from, to))) {
        let count = 1u64 << from.width().min(16);
        for step in 0..count {
            // For fp32: all high halves, each with one low half.
            let bits = if from == Fp32 { step << 16 | (step * 0x9e5 % 0x1_0000) } else { step };
            let expected = match Exact::of(from, bits) {
                _ if from.is_nan(bits) => to.nan(),
                _ if !is_finite(from, bits) => to.infinity(bits & from.zero(true) != 0),
                Some(value) => value.round(to),
                None => to.zero(bits != 0),
            };
            assert_eq!(Float::ieee(from).convert(bits, to).bits, expected, "{from} to {to}: {bits:#x}");
        }
    }
    for bits in 0..=u16::MAX {
        let value = half::f16::from_bits(bits);
        if !value.is_nan() {
            let wide = u64::from(value.to_f32().to_bits());
            assert_eq!(Float::ieee(Fp16).convert(bits.into(), Fp32).bits, wide);
            assert_eq!(Float::ieee(Fp32).convert(wide, Fp16).bits, u64::from(bits));
        }
    }
}

/// All pairs of the 8-bit format, and all 16-bit values with a few others.
#[test]
fn order_is_that_of_the_values() {
    let check = |format: FloatFormat, a: u64, b: u64| {
        let value = |bits: u64| f32::from_bits(Float::ieee(format).convert(bits, Fp32).bits as u32);
        assert_eq!(Float::ieee(format).compare(a, b), value(a).partial_cmp(&value(b)), "{format}: {a:#x} {b:#x}");
        let order = Format::Float(format).total_cmp(a, b);
        assert_eq!(Float::ieee(format).total_less(a, b), order == Ordering::Less, "{format}: {a:#x} {b:#x}");
        // totalOrder is total.
        let (below, above) = (Float::flush(format).total_less(a, b), Float::flush(format).total_less(b, a));
        assert!(below ^ above || (a == b && !below));
    };
    for (a, b) in (0..256).flat_map(|a| (0..256).map(move |b| (a, b))) {
        check(E5m2, a, b);
    }
    for format in [Fp16, Bf16] {
        for a in 0..0x1_0000 {
            for b in [a, a ^ 0x8000, a ^ 1, 0, 0x8000, 0x7c00, 0xfe01, 0x7f81, 0x0001] {
                check(format, a, b);
            }
        }
    }
}

/// The host's binary32 operations round once.
fn check_against_host(a: u32, b: u32, c: u32) {
    let [x, y, z] = [a, b, c].map(f32::from_bits);
    let float = Float::ieee(Fp32);
    let [a, b, c] = [a, b, c].map(u64::from);
    for (result, host) in [
        (float.add(a, b), x + y),
        (float.sub(a, b), x - y),
        (float.mul(a, b), x * y),
        (float.fma(a, b, c), x.mul_add(y, z)),
    ] {
        let expected = if host.is_nan() { 0x7fc0_0000 } else { host.to_bits() };
        assert_eq!(result.bits, u64::from(expected), "{a:#x} {b:#x} {c:#x}");
    }
}

/// Operands whose exponents are close, so that they overlap in a sum.
fn close(format: FloatFormat) -> impl Strategy<Value = (u64, u64, u64)> {
    let top = (1i64 << format.exponent_bits()) - 1;
    let near = i64::from(format.fraction_bits()) * 2 + 6;
    (0..top, 0..top, -near..=near, any::<[u64; 3]>()).prop_map(move |(ea, eb, distance, random)| {
        let ec = (ea + eb - top / 2 + distance).clamp(0, top - 1);
        let [a, b, c] = [(ea, random[0]), (eb, random[1]), (ec, random[2])].map(|(exponent, random)| {
            let sign = random & format.zero(true);
            let fraction = (random >> 32) % (1 << format.fraction_bits());
            sign | (exponent as u64) << format.fraction_bits() | fraction
        });
        (a, b, c)
    })
}

proptest! {
    #![proptest_config(seeds::proptest(20_000))]

    #[test]
    fn fp16_is_exact((a, b, c) in close(Fp16)) {
        check(Fp16, a, b, c);
    }

    #[test]
    fn bf16_is_exact((a, b, c) in close(Bf16)) {
        check(Bf16, a, b, c);
    }

    #[test]
    fn fp32_is_exact((a, b, c) in close(Fp32)) {
        check(Fp32, a, b, c);
        check_against_host(a as u32, b as u32, c as u32);
    }

    #[test]
    fn fp32_is_the_hosts(a: u32, b: u32, c: u32) {
        check_against_host(a, b, c);
    }
}
