//! The exponential function: the distance of the algorithm from exact arithmetic, for all operands.

use num_bigint::BigInt;

use super::*;
use crate::common::float::ExpTable;
use crate::common::float::exact::{Exact as Number, smallest};
use crate::common::float::real::{PLACES, exp};

/// Error in units of the last place of the exact result, times 2^20; for subnormal results in units of their last
/// place.
pub(super) fn error(format: FloatFormat, exact: &BigInt, bits: u64) -> u64 {
    let f = format.fraction_bits();
    let result = Number::of(format, bits);
    let result = result.units << (PLACES - result.scale);
    let unit = u32::try_from(exact.bits()).unwrap().saturating_sub(f + 1).max(PLACES - smallest(format));
    u64::try_from(((exact - result).magnitude() << 20) >> unit).unwrap_or(u64::MAX)
}

#[test]
fn errors_are_small_and_flags_exact() {
    // Errors in ulp are below this number / 1000. The second number counts the results that are not the nearest.
    for (format, most, not_nearest) in [(Fp16, 536, 384), (Bf16, 541, 88), (E5m2, 500, 0), (E3m2, 500, 0)] {
        let float = Float::ieee(format);
        let table = ExpTable::new(format);
        let minus = format.zero(true);
        let numbers = (0..format.infinity(false)).rev().map(|bits| bits | minus).chain(0..format.infinity(false));
        let (mut before, mut worst, mut wrong) = (0, 0, 0);
        for a in numbers {
            let result = table.exp(float, a);
            assert!(result.bits >= before, "{format} {a:#x}: not monotonic");
            before = result.bits;
            if a & !minus == 0 {
                assert_eq!(result, Rounded { bits: float.from_int(1).bits, flags: Flags::default() });
                continue;
            }
            let x = Number::of(format, a);
            // Far from all numbers.
            let limit = BigInt::from(512) << x.scale;
            let x: BigInt = x.units.clamp(-&limit, limit) << (PLACES - x.scale);
            let exact = exp(&x);
            let nearest =
                float.nearest(false, &between::Between { units: exact.magnitude().clone(), scale: PLACES, more: true });
            assert_eq!(result.flags, nearest.flags, "{format} {a:#x}");
            if result.bits != nearest.bits {
                wrong += 1;
            }
            if !result.flags.overflow {
                worst = worst.max(error(format, &exact, result.bits));
            }
        }
        assert!((worst * 1000) >> 20 < most && wrong == not_nearest, "{format}: {worst} * 2^-20 ulp, {wrong} wrong");
    }
}

#[test]
fn special_operands() {
    for float in [Float::ieee(Fp16), Float::flush(Fp16)] {
        let table = ExpTable::new(Fp16);
        let none = Flags::default();
        let overflow = Flags { overflow: true, inexact: true, ..none };
        let underflow = Flags { underflow: true, inexact: true, ..none };
        for (a, bits, flags) in [
            (0x7c00, 0x7c00, none),
            (0xfc00, 0x0000, none),
            (0xfe00, 0x7e00, none),
            (0x7c01, 0x7e00, Flags { invalid: true, ..none }),
            (0x7bff, 0x7c00, overflow),
            (0xfbff, 0x0000, underflow),
            (0x0400, 0x3c00, Flags { inexact: true, ..none }),
            (0x8400, 0x3c00, Flags { inexact: true, ..none }),
            (0x3c00, 0x4170, Flags { inexact: true, ..none }),
        ] {
            assert_eq!(table.exp(float, a), Rounded { bits, flags }, "{a:#x}");
        }
    }
    let subnormal = ExpTable::new(Fp16).exp(Float::flush(Fp16), 0x8001);
    assert_eq!(subnormal, Rounded { bits: 0x3c00, flags: Flags::default() });
}
