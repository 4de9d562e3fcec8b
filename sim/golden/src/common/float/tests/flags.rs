//! Exceptions, IEEE 754-2019, section 7: known cases, and all cases near the smallest normal number. The place of the
//! exact value's bits decides which exceptions are right.

use super::*;

/// No exception. The constants below set single fields.
const NONE: Flags =
    Flags { invalid: false, division_by_zero: false, overflow: false, underflow: false, inexact: false };
const INEXACT: Flags = Flags { inexact: true, ..NONE };
const UNDERFLOW: Flags = Flags { underflow: true, ..INEXACT };
const OVERFLOW: Flags = Flags { overflow: true, ..INEXACT };
const INVALID: Flags = Flags { invalid: true, ..NONE };

impl Exact {
    /// Exponent of the leading one.
    fn top(self) -> i32 {
        127 - self.magnitude.leading_zeros() as i32 + self.exponent
    }

    /// Whether the bits from 2^`unit` upwards hold the number.
    fn fits(self, unit: i32) -> bool {
        self.magnitude.trailing_zeros() as i32 + self.exponent >= unit
    }

    /// The exceptions of rounding this number, with tininess before rounding.
    fn flags(self, format: FloatFormat) -> Flags {
        let f = format.fraction_bits() as i32;
        let (smallest_normal, bits) = (1 - bias(format), self.round(format));
        let unit = (self.top() - f).max(smallest_normal - f);
        let overflow = bits & !format.zero(true) == format.infinity(false);
        let inexact = overflow || !self.fits(unit);
        Flags { overflow, underflow: inexact && self.top() < smallest_normal, inexact, ..NONE }
    }

    /// Whether the number is tiny by IEEE's other rule too: it must still be below the smallest normal number after
    /// rounding to the precision of a normal number.
    fn is_tiny_after_rounding(self, format: FloatFormat) -> bool {
        let f = format.fraction_bits() as i32;
        // The numbers from the middle between 2^(1 - bias) and the normal number below it are rounded up to 2^(1 -
        // bias).
        let (top, unit) = (1 - bias(format) - 1, 1 - bias(format) - 1 - f);
        let from_middle = || {
            let places = (unit - 1 - self.exponent).min(127);
            let kept = if places > 0 { self.magnitude >> places } else { self.magnitude << -places };
            kept == (1 << (f + 2)) - 1
        };
        self.top() < top || (self.top() == top && !from_middle())
    }
}

/// The exceptions of `exact`. Subnormal results may be flushed. Zeros raise nothing.
fn expected(float: Float, exact: Option<Exact>) -> Flags {
    let Some(exact) = exact else { return NONE };
    let flushed = float.subnormals == Subnormals::Flush && float.format.is_subnormal(exact.round(float.format));
    if flushed { UNDERFLOW } else { exact.flags(float.format) }
}

/// The exact value of a finite operand; `None` for zeros and operands that count as zero.
fn operand(float: Float, bits: u64) -> Option<Exact> {
    let flushed = float.subnormals == Subnormals::Flush && float.format.is_subnormal(bits);
    if flushed { None } else { Exact::of(float.format, bits) }
}

/// Compares the flags of all operations on finite operands, and of conversions of the results.
fn check(float: Float, a: u64, b: u64, c: u64) {
    let format = float.format;
    if ![a, b, c].iter().all(|&bits| is_finite(format, bits)) {
        return;
    }
    let [x, y, z] = [a, b, c].map(|bits| operand(float, bits));
    let product = x.zip(y).map(|(x, y)| x.times(y));
    let sum = |p: Option<Exact>, q: Option<Exact>| match (p, q) {
        (Some(p), Some(q)) => p.plus(q),
        (p, q) => p.or(q),
    };
    let name = |operation: &str| format!("{float:?}: {operation} of {a:#x}, {b:#x}, {c:#x}");
    let minus = |z: Exact| Exact { negative: !z.negative, ..z };
    assert_eq!(float.mul(a, b).flags, expected(float, product), "{}", name("product"));
    assert_eq!(float.add(a, c).flags, expected(float, sum(x, z)), "{}", name("sum"));
    assert_eq!(float.sub(a, c).flags, expected(float, sum(x, z.map(minus))), "{}", name("difference"));
    assert_eq!(float.fma(a, b, c).flags, expected(float, sum(product, z)), "{}", name("multiply-add"));
    let rounded = float.mul(a, b);
    if is_finite(format, rounded.bits) {
        let second = expected(float, sum(operand(float, rounded.bits), z));
        let both = float.mul_then_add(a, b, c).flags;
        assert_eq!(both, expected(float, product).or(second), "{}", name("multiply, add"));
    }
}

#[test]
fn known_cases() {
    let f = Float::ieee(Fp16);
    let (inf, nan, signalling, one) = (0x7c00, 0x7e00, 0x7c01, 0x3c00);
    for (result, bits, flags) in [
        // 2^-14 (1 - 2^-11) has 11 bits, so it is tiny by both rules; subnormal numbers have 10. A tie: up to 2^-14.
        (f.mul(0x0400, 0x3bff), 0x0400, UNDERFLOW),
        (f.mul(0x8400, 0x3bff), 0x8400, UNDERFLOW),
        (f.fma(0x0400, 0x3bff, 0), 0x0400, UNDERFLOW),
        (f.mul_then_add(0x0400, 0x3bff, 0), 0x0400, UNDERFLOW),
        (Float::ieee(Fp32).convert(0x387f_e000, Fp16), 0x0400, UNDERFLOW),
        // Closer to 2^-14: rounded to 11 bits it is 2^-14, but it is tiny before that.
        (Float::ieee(Fp32).convert(0x387f_ffff, Fp16), 0x0400, UNDERFLOW),
        (Float::ieee(Fp32).convert(0x3880_0001, Fp16), 0x0400, INEXACT),
        // Tiny and exact: 2^-24, and the largest subnormal number.
        (f.mul(0x0400, 0x1400), 0x0001, NONE),
        (f.mul(0x03ff, one), 0x03ff, NONE),
        (f.mul(0x0001, 0x3800), 0x0000, UNDERFLOW),
        (f.mul(0x0001, 0x3801), 0x0001, UNDERFLOW),
        // Sums of two numbers below 2^-13 are exact.
        (f.add(0x0001, 0x03ff), 0x0400, NONE),
        (f.fma(0x0001, 0x0001, 0x0400), 0x0400, INEXACT),
        (f.fma(0x8001, 0x0001, 0x0400), 0x0400, UNDERFLOW),
        (f.add(0x7bff, 0x4c00), 0x7c00, OVERFLOW),
        (f.add(0x7bff, 0x4bff), 0x7bff, INEXACT),
        (f.from_int(65_519), 0x7bff, INEXACT),
        (f.from_int(-65_520), 0xfc00, OVERFLOW),
        (f.from_int(2049), 0x6800, INEXACT),
        (f.add(inf, one), inf, NONE),
        (f.mul(inf, inf), inf, NONE),
        (f.sub(inf, inf), nan, INVALID),
        (f.mul(inf, 0), nan, INVALID),
        (f.mul(nan, 0), nan, NONE),
        (f.mul(signalling, one), nan, INVALID),
        (f.convert(signalling, Fp32), 0x7fc0_0000, INVALID),
        (f.fma(0, inf, nan), nan, INVALID),
        (f.fma(0x8000, inf, nan), nan, INVALID),
        (f.fma(0x0001, inf, nan), nan, NONE),
        (Float::flush(Fp16).fma(0x0001, inf, nan), nan, INVALID),
        (f.fma(inf, nan, 0), nan, NONE),
    ] {
        assert_eq!(result, Rounded { bits, flags });
    }
}

/// Each step raises the same exceptions as alone, and neither step hides the other's.
#[test]
fn two_roundings_raise_what_either_raises() {
    let f = Float::ieee(Fp16);
    let (inf, nan, signalling, one) = (0x7c00, 0x7e00, 0x7c01, 0x3c00);
    for (result, bits, flags) in [
        // The product only: too large, then an infinity that is added exactly; too small, then a sum that is exact.
        (f.mul_then_add(0x7bff, 0x4000, one), inf, OVERFLOW),
        (f.mul_then_add(0x0001, 0x3800, one), one, UNDERFLOW),
        (f.mul_then_add(0x3c01, 0x3c01, 0), 0x3c02, INEXACT),
        (f.mul_then_add(inf, 0, one), nan, INVALID),
        (f.mul_then_add(signalling, one, one), nan, INVALID),
        // The sum only.
        (f.mul_then_add(0x7bff, one, 0x4c00), inf, OVERFLOW),
        (f.mul_then_add(one, one, 0x1000), one, INEXACT),
        (f.mul_then_add(inf, one, 0xfc00), nan, INVALID),
        (f.mul_then_add(one, one, signalling), nan, INVALID),
        // One each: the product is too large, and minus infinity makes it a NaN.
        (f.mul_then_add(0x7bff, 0x4000, 0xfc00), nan, Flags { invalid: true, ..OVERFLOW }),
        (f.mul_then_add(0x0001, 0x3800, nan), nan, UNDERFLOW),
        (f.mul_then_add(0x0001, 0x3800, signalling), nan, Flags { invalid: true, ..UNDERFLOW }),
        // Neither.
        (f.mul_then_add(one, one, one), 0x4000, NONE),
        // The sum only underflows if both are flushed.
        (Float::flush(Fp16).mul_then_add(0x0400, one, 0x8401), 0x8000, UNDERFLOW),
        (f.mul_then_add(0x0400, one, 0x8401), 0x8001, NONE),
    ] {
        assert_eq!(result, Rounded { bits, flags });
    }
}

/// All triples of the 6-bit format, all pairs of the 8-bit one.
#[test]
fn small_formats() {
    for (a, b) in (0..64).flat_map(|a| (0..64).map(move |b| (a, b))) {
        for c in 0..64 {
            check(Float::ieee(E3m2), a, b, c);
            check(Float::flush(E3m2), a, b, c);
        }
    }
    for (a, b) in (0..256).flat_map(|a| (0..256).map(move |b| (a, b))) {
        check(Float::ieee(E5m2), a, b, b ^ 0x80);
        check(Float::flush(E5m2), a, b, b ^ 0x80);
    }
}

/// The first positive number whose product with `a` is at least the smallest normal number.
fn limit(format: FloatFormat, a: u64) -> u64 {
    let a = Exact::of(format, a).expect("not zero");
    let (mut from, mut to) = (1, format.infinity(false));
    while from < to {
        let middle = from.midpoint(to);
        let product = Exact::of(format, middle).expect("not zero").times(a);
        if product.top() < 1 - bias(format) { from = middle + 1 } else { to = middle }
    }
    from
}

/// All fp16 numbers, each with all numbers that bring the product to the three numbers on both sides of the smallest
/// normal one.
#[test]
fn all_products_of_fp16_around_the_smallest_normal_number() {
    let (mut up_by_both_rules, mut up_by_one, mut products) = (0, 0, 0);
    for a in 1..Fp16.infinity(false) {
        let limit = limit(Fp16, a);
        for b in limit.saturating_sub(4)..(limit + 4).min(Fp16.infinity(false)) {
            for sign in [0, Fp16.zero(true)] {
                check(Float::ieee(Fp16), a, b ^ sign, sign);
                check(Float::flush(Fp16), a, b ^ sign, sign);
                products += 1;
            }
            let Some((x, y)) = Exact::of(Fp16, a).zip(Exact::of(Fp16, b)) else { continue };
            let (product, result) = (x.times(y), Float::ieee(Fp16).mul(a, b));
            if result.bits == 0x0400 && result.flags.inexact && product.top() < 1 - bias(Fp16) {
                let both = product.is_tiny_after_rounding(Fp16);
                up_by_both_rules += u32::from(both);
                up_by_one += u32::from(!both);
                assert!(result.flags.underflow, "{a:#x} * {b:#x}");
            }
        }
    }
    // Products whose flags the library has wrong by either rule, and products on which the rules differ.
    assert!(up_by_both_rules > 1000 && up_by_one > 1000, "{up_by_both_rules} {up_by_one} of {products}");
}

/// All values of fp32 that lie around the smallest normal number of a narrower format, to a unit in their last place.
#[test]
fn conversions_around_the_smallest_normal_number() {
    for to in [Fp16, Bf16, E5m2, E3m2] {
        let limit = Float::ieee(to).convert(1 << to.fraction_bits(), Fp32).bits;
        // Down to the second subnormal number below it.
        let span = 1u64 << (23 - to.fraction_bits() + 1);
        let step = (span / 4096).max(1);
        let near = (limit - 64..limit + 64).chain((limit - span..limit + span).step_by(step as usize));
        for bits in near.filter(|&bits| is_finite(Fp32, bits)) {
            for float in [Float::ieee(Fp32), Float::flush(Fp32)] {
                let target = Float { format: to, ..float };
                let flags = expected(target, operand(float, bits));
                assert_eq!(float.convert(bits, to).flags, flags, "{float:?} to {to}: {bits:#x}");
            }
        }
    }
}

proptest! {
    #![proptest_config(seeds::proptest(20_000))]

    #[test]
    fn flags_are_those_of_the_exact_value(triples in [close(Fp16), close(Bf16), close(Fp32)]) {
        for (format, (a, b, c)) in [Fp16, Bf16, Fp32].into_iter().zip(triples) {
            check(Float::ieee(format), a, b, c);
            check(Float::flush(format), a, b, c);
        }
    }
}
