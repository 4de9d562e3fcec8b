//! Functions by table: the distance of the algorithm from exact arithmetic, for all operands.

use num_bigint::BigInt;

use super::exp::error;
use super::*;
use crate::common::float::exact::Exact as Number;
use crate::common::float::real::{Normal, PLACES, gelu_argument, logistic, tanh};
use crate::common::float::{Function, FunctionTable};

/// The magnitude of the exact result with [`PLACES`] places, rounded down.
fn exact(function: Function, normal: &Normal, x: &Number) -> BigInt {
    let whole = &x.units << (PLACES - x.scale);
    let (magnitude, negative) = (BigInt::from(whole.magnitude().clone()), whole < BigInt::ZERO);
    let power = |exponent: u32| BigInt::from(1) << (PLACES + exponent);
    let tangent = function == Function::Tanh;
    if function == Function::Sigmoid {
        return logistic(&whole.clamp(-power(8), power(8)));
    }
    // Less than x, and less than x / 2 for negative x, but equal in these places.
    if magnitude < BigInt::from(1) << (PLACES - 100) {
        return if tangent { magnitude - 1 } else { (magnitude >> 1) - i32::from(negative) };
    }
    // From here on the rest is too small for these places.
    let far = power(if function == Function::Silu || tangent { 7 } else { 4 });
    if magnitude >= far {
        return match (tangent, negative) {
            (true, _) => power(0) - 1,
            (false, true) => BigInt::ZERO,
            (false, false) => magnitude - 1,
        };
    }
    let gate = match function {
        Function::Tanh => return tanh(&magnitude),
        Function::Silu => logistic(&whole),
        Function::GeluErf => normal.below(&whole),
        Function::GeluTanh => logistic(&gelu_argument(normal, &whole)),
        Function::Sigmoid | Function::Relu => unreachable!("not by a factor"),
    };
    (magnitude * gate) >> PLACES
}

/// The largest error is from `most` / 1000 ulp up to less than 1 / 1000 more. `not_nearest` counts the results that are
/// not the nearest. Flags are exact.
fn check(function: Function, format: FloatFormat, most: u64, not_nearest: u32) {
    let float = Float::ieee(format);
    let table = FunctionTable::new(function, format);
    let (normal, minus) = (Normal::new(), format.zero(true));
    let rises = matches!(function, Function::Sigmoid | Function::Tanh);
    let numbers = (1..format.infinity(false)).rev().map(|bits| bits | minus).chain(1..format.infinity(false));
    let (mut before, mut worst, mut wrong) = (i64::MIN, 0, 0);
    for a in numbers {
        let result = table.apply(float, a);
        let exact = exact(function, &normal, &Number::of(format, a));
        let units = exact.magnitude().clone();
        let negative = function != Function::Sigmoid && a & minus != 0;
        let nearest = float.nearest(negative, &between::Between { units, scale: PLACES, more: true });
        assert_eq!(result.flags, nearest.flags, "{function:?} {format} {a:#x}");
        assert_eq!(result.bits & minus, nearest.bits & minus, "{function:?} {format} {a:#x}");
        wrong += u32::from(result.bits != nearest.bits);
        worst = worst.max(error(format, &exact, result.bits & !(if negative { minus } else { 0 })));
        let magnitude = (result.bits & !minus) as i64;
        let order = if result.bits & minus == 0 { magnitude } else { -magnitude };
        assert!(!rises || order >= before, "{function:?} {format} {a:#x}: not monotonic");
        before = order;
    }
    let thousandths = (worst * 1000) >> 20;
    assert_eq!((thousandths, wrong), (most, not_nearest), "{function:?} {format}");
}

#[test]
fn sigmoid_is_near_and_rises() {
    for (format, most, not_nearest) in [(Fp16, 584, 491), (Bf16, 720, 132), (E5m2, 505, 2), (E3m2, 502, 1)] {
        check(Function::Sigmoid, format, most, not_nearest);
    }
}

#[test]
fn tanh_is_near_and_rises() {
    for (format, most, not_nearest) in [(Fp16, 536, 348), (Bf16, 544, 22), (E5m2, 468, 0), (E3m2, 468, 0)] {
        check(Function::Tanh, format, most, not_nearest);
    }
}

#[test]
fn silu_is_near() {
    for (format, most, not_nearest) in [(Fp16, 568, 651), (Bf16, 735, 136), (E5m2, 505, 2), (E3m2, 486, 0)] {
        check(Function::Silu, format, most, not_nearest);
    }
}

#[test]
fn gelu_is_near() {
    for (format, most, not_nearest) in [(Fp16, 648, 1167), (Bf16, 658, 95), (E5m2, 499, 0), (E3m2, 475, 0)] {
        check(Function::GeluErf, format, most, not_nearest);
    }
}

#[test]
fn gelu_by_tanh_is_near() {
    for (format, most, not_nearest) in [(Fp16, 782, 1170), (Bf16, 658, 94), (E5m2, 499, 0), (E3m2, 475, 0)] {
        check(Function::GeluTanh, format, most, not_nearest);
    }
}

/// All operands: the larger one of the operand and 0, without a flag.
#[test]
fn relu_is_exact() {
    for format in [Fp16, Bf16, E5m2, E3m2] {
        let (float, table) = (Float::ieee(format), FunctionTable::new(Function::Relu, format));
        for a in 0..=format.infinity(false) {
            let plain = |bits| Rounded { bits, flags: Flags::default() };
            assert_eq!(table.apply(float, a), plain(a), "{format} {a:#x}");
            assert_eq!(table.apply(float, a | format.zero(true)), plain(0), "{format} -{a:#x}");
        }
    }
}

#[test]
fn special_operands() {
    let none = Flags::default();
    let inexact = Flags { inexact: true, ..none };
    let underflow = Flags { underflow: true, ..inexact };
    for (function, a, bits, flags) in [
        (Function::Sigmoid, 0x0000, 0x3800, none),
        (Function::Sigmoid, 0x8000, 0x3800, none),
        (Function::Sigmoid, 0x7c00, 0x3c00, none),
        (Function::Sigmoid, 0xfc00, 0x0000, none),
        (Function::Sigmoid, 0x0001, 0x3800, inexact),
        (Function::Sigmoid, 0x7bff, 0x3c00, inexact),
        (Function::Sigmoid, 0xfbff, 0x0000, underflow),
        (Function::Sigmoid, 0x3c00, 0x39d9, inexact),
        (Function::Tanh, 0x8000, 0x8000, none),
        (Function::Tanh, 0x0001, 0x0001, underflow),
        (Function::Tanh, 0xfc00, 0xbc00, none),
        (Function::Tanh, 0x7bff, 0x3c00, inexact),
        (Function::Silu, 0x7c00, 0x7c00, none),
        (Function::Silu, 0xfc00, 0x8000, none),
        (Function::Silu, 0x7bff, 0x7bff, inexact),
        (Function::GeluErf, 0xfc00, 0x8000, none),
        (Function::GeluErf, 0xfbff, 0x8000, underflow),
        // Half of an odd subnormal number: slightly more for a positive number, slightly less for a negative one.
        (Function::GeluErf, 0x0001, 0x0001, underflow),
        (Function::GeluErf, 0x8001, 0x8000, underflow),
        (Function::GeluTanh, 0x7c01, 0x7e00, Flags { invalid: true, ..none }),
        (Function::GeluTanh, 0xfe00, 0x7e00, none),
        (Function::Relu, 0xfd00, 0x7e00, Flags { invalid: true, ..none }),
        (Function::Relu, 0xfe01, 0x7e00, none),
    ] {
        let result = FunctionTable::new(function, Fp16).apply(Float::ieee(Fp16), a);
        assert_eq!(result, Rounded { bits, flags }, "{function:?} {a:#x}");
    }
    let subnormal = FunctionTable::new(Function::Silu, Fp16).apply(Float::flush(Fp16), 0x8001);
    assert_eq!(subnormal, Rounded { bits: 0x8000, flags: none });
    let subnormal = FunctionTable::new(Function::Relu, Fp16).apply(Float::flush(Fp16), 0x0001);
    assert_eq!(subnormal, Rounded { bits: 0, flags: none });
}

/// The short way for fp16 is the long way.
#[test]
fn functions_of_fp16_without_exceptions() {
    use Function::{GeluErf, GeluTanh, Relu, Sigmoid, Silu, Tanh};
    for function in [Sigmoid, GeluErf, GeluTanh, Silu, Tanh, Relu] {
        let table = FunctionTable::new(function, Fp16);
        for a in 0..=u16::MAX {
            let expected = table.apply(Float::ieee(Fp16), a.into()).bits;
            assert_eq!(u64::from(table.apply_to_half(a)), expected, "{function:?} {a:#x}");
        }
    }
}
