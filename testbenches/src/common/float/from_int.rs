//! [`FloatFromInt`] against soft floats.

use golden::common::float::Float;
use hdl::blocks::common::FloatFromInt;
use hdl::lang::Parameters;
use rand::{Rng, RngExt};

use super::{Corners, Unit};
use crate::common::formats::float_format;

/// The bench of an integer to float converter. All integers come first where there are at most 2^20.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatFromInt) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    let float = Float::ieee(float_format(p.format));
    let (width, signed) = (p.width, p.signed);
    let mask = u64::MAX >> (64 - width);
    let corners: Vec<u64> = if width <= 20 {
        (0..=mask).collect()
    } else {
        sim::stimulus::corners(width).iter().filter_map(sim::Bits::to_u64).collect()
    };
    // The port is there where the integer of the largest magnitude is too large.
    let furthest = if signed { -(1i128 << (width - 1)) } else { i128::from(mask) };
    let overflows = float.from_int(furthest).flags.overflow;
    let mut outputs = vec!["result_o"];
    outputs.extend(overflows.then_some("overflow_o"));
    outputs.extend(p.flags.then_some("inexact_o"));
    Unit {
        stages: p.stages,
        inputs: vec!["a_i"],
        outputs,
        corners: Corners::all([corners]),
        random: Box::new(move |rng| {
            // Of random length, so that all exponents occur; often a few bits around where rounding looks.
            let random = (rng.next_u64() & mask) >> rng.random_range(0..width);
            let near = (1u64 << rng.random_range(0..width)) ^ (1 << rng.random_range(0..width));
            let magnitude = match rng.random_range(0..4u8) {
                0 => near,
                1 => near.wrapping_sub(1),
                2 => random ^ (1 << rng.random_range(0..width)),
                _ => random,
            };
            let value = if signed && rng.random() { magnitude.wrapping_neg() } else { magnitude };
            [value & mask, 0, 0, 0]
        }),
        golden: Box::new(move |&[a, ..]| {
            let negative = signed && a >> (width - 1) == 1;
            let value = i128::from(a) - if negative { 1i128 << width } else { 0 };
            let result = float.from_int(value);
            let (overflow, inexact) = (result.flags.overflow.into(), result.flags.inexact.into());
            if overflows { [result.bits, overflow, inexact, 0, 0, 0] } else { [result.bits, inexact, 0, 0, 0, 0] }
        }),
    }
    .bench(p)
}
