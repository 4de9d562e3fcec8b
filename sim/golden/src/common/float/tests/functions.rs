//! Division, roots and conversion to integers: the distance to the exact value, a library, the host, and known cases.

use std::cmp::Ordering;

use num_bigint::BigUint;

use super::*;
use crate::common::float::exact::smallest;
use crate::common::float::semantics::with_semantics;
use crate::common::float::{Direction, Integers};

const NONE: Flags =
    Flags { invalid: false, division_by_zero: false, overflow: false, underflow: false, inexact: false };
const INEXACT: Flags = Flags { inexact: true, ..NONE };
const UNDERFLOW: Flags = Flags { underflow: true, ..INEXACT };
const OVERFLOW: Flags = Flags { overflow: true, ..INEXACT };
const INVALID: Flags = Flags { invalid: true, ..NONE };
const POLE: Flags = Flags { division_by_zero: true, ..NONE };

/// A positive float in units of the smallest subnormal number. Infinity has the value of the number that would come
/// next.
fn units(format: FloatFormat, bits: u64) -> BigUint {
    let f = format.fraction_bits();
    let (field, fraction) = (bits >> f, BigUint::from(bits % (1 << f)));
    if field == 0 { fraction } else { (fraction + (1u64 << f)) << (field - 1) }
}

/// Checks that a positive result is the float nearest to an exact value. `order` compares the exact value with a number
/// of half units of the smallest subnormal number. Returns the exceptions that must have been raised.
fn check_nearest(format: FloatFormat, bits: u64, order: impl Fn(&BigUint) -> Ordering) -> Flags {
    let here = units(format, bits);
    let even = bits.is_multiple_of(2);
    let inside = |order: Ordering, side: Ordering| order == side || (order == Ordering::Equal && even);
    if bits > 0 {
        let middle = &here + units(format, bits - 1);
        assert!(inside(order(&middle), Ordering::Greater), "{format} {bits:#x} is too large");
    }
    let overflow = bits == format.infinity(false);
    if !overflow {
        let middle = &here + units(format, bits + 1);
        assert!(inside(order(&middle), Ordering::Less), "{format} {bits:#x} is too small");
    }
    let inexact = overflow || order(&(&here * 2u8)) != Ordering::Equal;
    let normal = BigUint::from(2u8) << format.fraction_bits();
    Flags { overflow, underflow: inexact && order(&normal) == Ordering::Less, inexact, ..NONE }
}

/// All numbers of a format of up to 16 bits.
fn numbers(format: FloatFormat) -> std::ops::Range<u64> {
    1..format.infinity(false)
}

#[test]
fn roots_are_nearest() {
    for format in [Fp16, Bf16, E5m2, E3m2] {
        let (float, scale) = (Float::ieee(format), smallest(format));
        for a in numbers(format) {
            let x = units(format, a);
            // (x 2^-s) against (h 2^-(s+1))^2, and the inverse against it.
            let root = float.sqrt(a);
            let square = &x << (scale + 2);
            let flags = check_nearest(format, root.bits, |half| square.cmp(&(half * half)));
            assert_eq!((root.flags, flags.underflow), (flags, false), "{format} {a:#x}");
            let inverse = float.rsqrt(a);
            let one = BigUint::from(1u8) << (3 * scale + 2);
            let flags = check_nearest(format, inverse.bits, |half| one.cmp(&(half * half * &x)));
            assert_eq!((inverse.flags, flags.underflow), (flags, false), "{format} {a:#x}");
        }
    }
}

#[test]
fn reciprocals_are_nearest_and_odd() {
    for format in [Fp16, Bf16, E5m2, E3m2] {
        let (float, scale) = (Float::ieee(format), smallest(format));
        let minus = format.zero(true);
        for a in numbers(format) {
            let result = float.reciprocal(a);
            let (x, one) = (units(format, a), BigUint::from(1u8) << (2 * scale + 1));
            let flags = check_nearest(format, result.bits, |half| one.cmp(&(half * &x)));
            assert_eq!(result.flags, flags, "{format} {a:#x}");
            assert_eq!(float.reciprocal(a | minus), Rounded { bits: result.bits | minus, flags });
            let unit = (bias(format) as u64) << format.fraction_bits();
            assert_eq!(float.divide(unit, a), result);
        }
    }
}

/// A quotient against the library, and its flags against the exact distance.
fn check_quotient(format: FloatFormat, a: u64, b: u64) {
    let float = Float::ieee(format);
    let library = with_semantics!(format, S => float.bits(float.operand::<S>(a) / float.operand::<S>(b)));
    let result = float.divide(a, b);
    assert_eq!(result.bits, library, "{format}: {a:#x} / {b:#x}");
    let minus = format.zero(true);
    let [x, y] = [a, b].map(|bits| bits & !minus);
    let is_number = |bits| numbers(format).contains(&bits);
    if is_number(x) && is_number(y) {
        let (x, y) = (units(format, x) << (smallest(format) + 1), units(format, y));
        let flags = check_nearest(format, result.bits & !minus, |half| x.cmp(&(half * &y)));
        assert_eq!(result.flags, flags, "{format}: {a:#x} / {b:#x}");
        let flushed = Float::flush(format).divide(a, b);
        if [a, b].iter().all(|&bits| !format.is_subnormal(bits)) {
            let expected = if format.is_subnormal(result.bits) {
                Rounded { bits: result.bits & minus, flags: UNDERFLOW }
            } else {
                result
            };
            assert_eq!(flushed, expected, "{format}: {a:#x} / {b:#x}");
        }
    }
}

#[test]
fn quotients_are_nearest() {
    for format in [E5m2, E3m2] {
        let all = 0..1u64 << format.width();
        for (a, b) in all.clone().flat_map(|a| all.clone().map(move |b| (a, b))) {
            check_quotient(format, a, b);
        }
    }
    // Odd strides reach all fractions.
    for (a, b) in (0..0x1_0000u64).step_by(509).flat_map(|a| (0..0x1_0000).step_by(1021).map(move |b| (a, b))) {
        check_quotient(Fp16, a, b);
        check_quotient(Bf16, a, b);
    }
}

proptest! {
    #![proptest_config(seeds::proptest(256))]

    #[test]
    fn the_host_agrees(a: u32, b: u32) {
        let [x, y] = [a, b].map(f32::from_bits);
        let canonical = |host: f32| u64::from(if host.is_nan() { 0x7fc0_0000 } else { host.to_bits() });
        let float = Float::ieee(Fp32);
        check_quotient(Fp32, a.into(), b.into());
        prop_assert_eq!(float.divide(a.into(), b.into()).bits, canonical(x / y));
        prop_assert_eq!(float.reciprocal(a.into()).bits, canonical(1.0 / x));
        prop_assert_eq!(float.sqrt(a.into()).bits, canonical(x.sqrt()));
    }
}

#[test]
fn special_operands() {
    let f = Float::ieee(Fp16);
    let (inf, nan, quiet, signalling, one) = (0x7c00, 0x7e00, 0xfe01, 0x7c01, 0x3c00);
    let minus = 0x8000;
    for (result, bits, flags) in [
        (f.divide(one, 0), inf, POLE),
        (f.divide(one, minus), inf | minus, POLE),
        (f.divide(inf, 0), inf, NONE),
        (f.divide(0, 0), nan, INVALID),
        (f.divide(inf, inf | minus), nan, INVALID),
        (f.divide(minus, one), minus, NONE),
        (f.divide(one | minus, inf), minus, NONE),
        (f.divide(quiet, 0), nan, NONE),
        (f.divide(one, signalling), nan, INVALID),
        (f.divide(0x7bff, 0x0001), inf, OVERFLOW),
        (f.divide(0x0001, 0x4000), 0x0000, UNDERFLOW),
        (f.divide(0x0003, 0x4000), 0x0002, UNDERFLOW),
        (f.reciprocal(minus), inf | minus, POLE),
        (f.reciprocal(inf | minus), minus, NONE),
        (f.reciprocal(0x0001), inf, OVERFLOW),
        (f.reciprocal(0x7800), 0x0200, NONE),
        (f.reciprocal(0x7bff), 0x0100, UNDERFLOW),
        (f.reciprocal(signalling), nan, INVALID),
        (f.sqrt(minus), minus, NONE),
        (f.sqrt(one | minus), nan, INVALID),
        (f.sqrt(inf | minus), nan, INVALID),
        (f.sqrt(inf), inf, NONE),
        (f.sqrt(quiet), nan, NONE),
        (f.sqrt(0x4400), 0x4000, NONE),
        (f.sqrt(0x4000), 0x3da8, INEXACT),
        (f.rsqrt(0), inf, POLE),
        (f.rsqrt(minus), inf | minus, POLE),
        (f.rsqrt(inf), 0, NONE),
        (f.rsqrt(0x8001), nan, INVALID),
        (f.rsqrt(0x4400), 0x3800, NONE),
        (Float::flush(Fp16).rsqrt(0x8001), inf | minus, POLE),
        (Float::flush(Fp16).sqrt(0x8001), minus, NONE),
        (Float::flush(Fp16).divide(0x0400, 0x4000), 0, UNDERFLOW),
    ] {
        assert_eq!(result, Rounded { bits, flags }, "{bits:#x}");
    }
}

/// Against the host's conversions: exact in binary64, which truncate or round as their names say.
/// A rounding of the host.
type Host = fn(f64) -> f64;

#[test]
fn integers_are_those_of_the_host() {
    let directions: [(Direction, Host); 4] = [
        (Direction::NearestEven, f64::round_ties_even),
        (Direction::TowardZero, f64::trunc),
        (Direction::Down, f64::floor),
        (Direction::Up, f64::ceil),
    ];
    for (a, (direction, round)) in (0..0x1_0000u64).flat_map(|a| directions.map(|direction| (a, direction))) {
        let value = Format::FP16.value(a);
        for (width, signed) in [(8, true), (8, false), (1, false), (2, true), (16, true), (17, false), (64, true)] {
            let result = Float::ieee(Fp16).to_int(a, Integers { width, signed, direction });
            let (least, most) =
                if signed { (-(1i128 << (width - 1)), (1i128 << (width - 1)) - 1) } else { (0, (1i128 << width) - 1) };
            // Conversions with `as` saturate, and take NaN to 0.
            let exact = round(value) as i128;
            let inside = value.is_finite() && (least..=most).contains(&exact);
            let bits = (exact.clamp(least, most) as u64) & (u64::MAX >> (64 - width));
            let inexact = inside && round(value) != value;
            let flags = Flags { invalid: !inside, inexact, ..NONE };
            assert_eq!(result, Rounded { bits, flags }, "{a:#x} to {width} bits, {signed}, {direction:?}");
        }
    }
}
