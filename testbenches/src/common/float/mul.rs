//! [`FloatMul`] against soft floats.

use hdl::blocks::common::FloatMul;

use super::to_int::direction;
use super::{Corners, Operands, Unit, expected, outputs};
use crate::common::formats::float;

/// The bench of a multiplier.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatMul) -> anyhow::Result<Box<dyn sim::Bench>> {
    unit(p).bench(p)
}

/// The bench of a multiplier with products around the smallest normal number. It begins with all numbers, each with the
/// factors that bring the product near that number: eight vectors for each number.
///
/// # Errors
/// Parameters that the block refuses, a format of more than 16 bits.
pub fn at_the_limit(p: &FloatMul) -> anyhow::Result<Box<dyn sim::Bench>> {
    let unit = unit(p);
    let operands = Operands::new(float(p.format, p.subnormals).format);
    anyhow::ensure!(operands.format.width() <= 16, "{} has too many numbers", operands.format);
    let products = operands.products_at_the_limit();
    let corners = Corners {
        count: products.len() as u64,
        at: Box::new(move |number| {
            let [a, b] = products[number as usize];
            [a, b, 0, 0]
        }),
    };
    Unit { corners, ..unit }.bench(p)
}

fn unit(p: &FloatMul) -> Unit {
    let float = float(p.format, p.subnormals);
    let direction = direction(p.rounding);
    let operands = Operands::new(float.format);
    // All pairs of a format of at most 8 bits.
    let corners = operands.all_or_corners(8);
    Unit {
        stages: p.stages,
        inputs: vec!["a_i", "b_i"],
        outputs: outputs(p.flags),
        corners: Corners::all([corners.clone(), corners]),
        random: Box::new(move |rng| {
            let [a, b] = operands.factors(rng);
            [a, b, 0, 0]
        }),
        golden: Box::new(move |&[a, b, ..]| expected(float.mul_directed(direction, a, b))),
    }
}
