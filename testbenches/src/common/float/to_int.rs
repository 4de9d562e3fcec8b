//! [`FloatToInt`] against exact integers.

use golden::common::float::{Direction, Float, Integers};
use hdl::blocks::common::{FloatToInt, RoundingDirection};
use rand::{Rng, RngExt};

use super::{Exception, Operands, Unit};
use crate::common::formats::float;

/// The direction, as the golden model calls it.
pub(super) fn direction(rounding: RoundingDirection) -> Direction {
    match rounding {
        RoundingDirection::NearestEven => Direction::NearestEven,
        RoundingDirection::NearestAway => Direction::NearestAway,
        RoundingDirection::TowardZero => Direction::TowardZero,
        RoundingDirection::Down => Direction::Down,
        RoundingDirection::Up => Direction::Up,
    }
}

/// The bench of a float to integer converter. All operands of up to 16 bits come first.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatToInt) -> anyhow::Result<Box<dyn sim::Bench>> {
    let float = float(p.format, p.subnormals);
    let to = Integers { width: p.width, signed: p.signed, direction: direction(p.rounding) };
    let exceptions = Exception::some(p.flags, &[Exception::Invalid, Exception::Inexact]);
    let unit = Unit::unary(p.stages, float.format, &exceptions, move |a| float.to_int(a, to));
    let operands = Operands::new(float.format);
    let half = Float::ieee(float.format).reciprocal(Float::ieee(float.format).from_int(2).bits).bits;
    let random = move |rng: &mut sim::stimulus::StimulusRng| {
        // Integers, halves, and their neighbours, of random length; often about the range's ends.
        let halves = 1i128 << rng.random_range(0..=to.width + 1);
        let value = if rng.random() { halves } else { i128::from(rng.next_u64()) % halves };
        let integer = Float::ieee(float.format).from_int(if rng.random() { value } else { -value }).bits;
        let halved = Float::ieee(float.format).mul(integer, half).bits;
        let a = match rng.random_range(0..4u8) {
            0 => operands.any(rng),
            1 => integer,
            _ => operands.neighbour(halved, rng),
        };
        [a, 0, 0, 0]
    };
    Unit { random: Box::new(random), ..unit }.bench(p)
}
