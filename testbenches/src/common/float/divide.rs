//! [`FloatDivide`] against exact quotients.

use golden::common::float::Float;
use hdl::blocks::common::FloatDivide;
use sim::stimulus::StimulusRng;

use super::{Corners, Exception, Operands, Unit, one_in};
use crate::common::formats::float;

/// The bench of a divider.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatDivide) -> anyhow::Result<Box<dyn sim::Bench>> {
    use Exception::{DivisionByZero, Inexact, Invalid, Overflow, Underflow};
    let float = float(p.format, p.subnormals);
    let operands = Operands::new(float.format);
    let corners = operands.all_or_corners(8);
    let exceptions = Exception::some(p.flags, &[Invalid, DivisionByZero, Overflow, Underflow, Inexact]);
    Unit {
        stages: p.stages,
        inputs: vec!["a_i", "b_i"],
        outputs: Exception::ports(&exceptions),
        corners: Corners::all([corners.clone(), corners]),
        random: Box::new(move |rng| {
            let [a, b] = quotient(operands, rng);
            [a, b, 0, 0]
        }),
        golden: Box::new(move |&[a, b, ..]| Exception::outputs(&exceptions, float.divide(a, b))),
    }
    .bench(p)
}

/// Any two operands; or a product and one of its factors. Then the quotient is near a number, near the middle of two,
/// or near an end of the range.
fn quotient(operands: Operands, rng: &mut StimulusRng) -> [u64; 2] {
    let [a, b] = operands.factors(rng);
    if one_in(rng, 3) {
        return [a, b];
    }
    let product = Float::ieee(operands.format).mul(a, b).bits;
    [operands.neighbour(product, rng), b]
}
