//! Directed rounding of products against its definition: the side of the exact product on which the result lies.

use super::*;
use crate::common::float::Direction;
use crate::common::float::exact::Exact as Number;

const ALL: [Direction; 5] =
    [Direction::NearestEven, Direction::NearestAway, Direction::TowardZero, Direction::Down, Direction::Up];

/// The bits of the next number further from zero; infinity after the largest one.
fn further(bits: u64) -> u64 {
    bits + 1
}

/// The result for an exact product that is not zero: one of its two neighbours, by the direction.
fn expected(format: FloatFormat, direction: Direction, product: &Number) -> (u64, bool) {
    let negative = product.units < num_bigint::BigInt::ZERO;
    let sign = format.zero(negative);
    let magnitude = Number { units: product.units.magnitude().clone().into(), scale: product.scale };
    let difference = |bits: u64| {
        let number = Number::of(format, bits);
        Number { units: -number.units, scale: number.scale }.plus(&magnitude).units
    };
    let zero = num_bigint::BigInt::ZERO;
    let infinity = format.infinity(false);
    // The largest number that is not above it.
    let (mut from, mut to) = (0, infinity - 1);
    while from < to {
        let middle = (from + to).div_ceil(2);
        if difference(middle) < zero { to = middle - 1 } else { from = middle }
    }
    let rest = difference(from);
    if rest == zero {
        return (sign | from, false);
    }
    // The value that infinity would have if the exponents went on.
    let gap =
        if further(from) == infinity { -(difference(from - 1) - &rest) } else { difference(further(from)) - &rest };
    let twice: num_bigint::BigInt = rest * 2;
    let away = match direction {
        Direction::TowardZero => false,
        Direction::Down => negative,
        Direction::Up => !negative,
        Direction::NearestEven => twice > -&gap || (twice == -&gap && !from.is_multiple_of(2)),
        Direction::NearestAway => twice >= -gap,
    };
    (sign | if away { further(from) } else { from }, true)
}

fn check(format: FloatFormat, a: u64, b: u64) {
    if ![a, b].iter().all(|&bits| format.is_finite(bits)) {
        for direction in ALL {
            assert_eq!(Float::ieee(format).mul_directed(direction, a, b), Float::ieee(format).mul(a, b));
        }
        return;
    }
    let product = Number::of(format, a).times(&Number::of(format, b));
    for direction in ALL {
        let result = Float::ieee(format).mul_directed(direction, a, b);
        if product.units == num_bigint::BigInt::ZERO {
            assert_eq!(result, Float::ieee(format).mul(a, b));
            continue;
        }
        let (bits, inexact) = expected(format, direction, &product);
        assert_eq!((result.bits, result.flags.inexact), (bits, inexact), "{format} {a:#x} * {b:#x} {direction:?}");
        // Overflow: the rounding with exponents of any size is larger than the largest number.
        let (nearest, _) = expected(format, Direction::TowardZero, &product);
        let last = nearest & !format.zero(true) == format.infinity(false) - 1;
        let beyond = last && {
            let largest = Number::of(format, format.infinity(false) - 1);
            let unit = Number::of(format, format.infinity(false) - 2);
            let unit = largest.plus(&Number { units: -unit.units, scale: unit.scale });
            let limit = largest.plus(&unit);
            let magnitude = Number { units: product.units.magnitude().clone().into(), scale: product.scale };
            limit.plus(&Number { units: -magnitude.units, scale: magnitude.scale }).units <= num_bigint::BigInt::ZERO
        };
        let overflow = beyond || !format.is_finite(bits);
        assert_eq!(result.flags.overflow, overflow, "{format} {a:#x} * {b:#x} {direction:?}");
        assert_eq!(result.flags.underflow, inexact && product.is_tiny(format), "{format} {a:#x} * {b:#x}");
        let flushed = Float::flush(format).mul_directed(direction, a, b);
        if [a, b].iter().all(|&bits| !format.is_subnormal(bits)) {
            let bits = if format.is_subnormal(bits) { bits & format.zero(true) } else { bits };
            assert_eq!(flushed.bits, bits, "{format} {a:#x} * {b:#x} {direction:?}, flushed");
        }
    }
}

#[test]
fn products_lie_on_the_right_side() {
    for format in [E5m2, E3m2] {
        let all = 0..1u64 << format.width();
        for (a, b) in all.clone().flat_map(|a| all.clone().map(move |b| (a, b))) {
            check(format, a, b);
        }
    }
    for (a, b) in (0..0x1_0000u64).step_by(1013).flat_map(|a| (0..0x1_0000).step_by(2039).map(move |b| (a, b))) {
        check(Fp16, a, b);
        check(Bf16, a, b);
    }
}
