//! [`FloatSqrt`] against exact roots.

use golden::common::float::Float;
use hdl::blocks::common::FloatSqrt;
use sim::stimulus::StimulusRng;

use super::{Exception, Operands, Unit, one_in};
use crate::common::formats::float;

/// The bench of a square root. All operands of up to 16 bits come first.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatSqrt) -> anyhow::Result<Box<dyn sim::Bench>> {
    let float = float(p.format, p.subnormals);
    let exceptions = Exception::some(p.flags, &[Exception::Invalid, Exception::Inexact]);
    let unit = Unit::unary(p.stages, float.format, &exceptions, move |a| float.sqrt(a));
    let operands = Operands::new(float.format);
    let random = move |rng: &mut StimulusRng| {
        let a = if one_in(rng, 2) { near_a_square(operands, rng) } else { operands.any(rng) };
        [a, 0, 0, 0]
    };
    Unit { random: Box::new(random), ..unit }.bench(p)
}

/// A radicand whose root is near a number of the format or half way between two.
fn near_a_square(operands: Operands, rng: &mut StimulusRng) -> u64 {
    let root = operands.any(rng);
    let square = Float::ieee(operands.format).mul(root, root).bits;
    operands.neighbour(square, rng) & !operands.format.zero(true)
}
