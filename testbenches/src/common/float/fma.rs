//! [`FloatFma`] against soft floats.

use golden::common::float::Float;
use hdl::blocks::common::{FloatFma, FloatFormat};
use sim::stimulus::real_rows;

use super::{Corners, Operands, Unit, expected, outputs};
use crate::common::formats::float;

/// All triples of a small format; otherwise all pairs of corner values, each with addends that are special beside the
/// product.
fn corners(operands: Operands) -> Corners {
    if operands.format.width() <= 6 {
        let all = operands.all_or_corners(6);
        return Corners::all([all.clone(), all.clone(), all]);
    }
    let format = operands.format;
    let sign = format.zero(true);
    let corners = operands.corners();
    let addends = (0..10).collect();
    let parts = Corners::all([corners.clone(), corners, addends]);
    let at = move |number| {
        let [a, b, addend, _] = (parts.at)(number);
        let product = Float::ieee(format).mul(a, b).bits & !sign;
        let tiny = 1;
        let addend_bits = [0, tiny, format.infinity(false), product, format.nan()][addend as usize / 2];
        [a, b, addend_bits | (addend % 2 * sign), 0]
    };
    Corners { count: parts.count, at: Box::new(at) }
}

/// The bench of a multiply-add unit.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatFma) -> anyhow::Result<Box<dyn sim::Bench>> {
    unit(p).bench(p)
}

fn unit(p: &FloatFma) -> Unit {
    let float = float(p.format, p.subnormals);
    let operands = Operands::new(float.format);
    let fused = p.fused;
    Unit {
        stages: p.stages,
        inputs: vec!["a_i", "b_i", "c_i"],
        outputs: outputs(p.flags),
        corners: corners(operands),
        random: Box::new(move |rng| {
            let [a, b, c] = operands.triple(rng);
            [a, b, c, 0]
        }),
        golden: Box::new(move |&[a, b, c, _]| {
            expected(if fused { float.fma(a, b, c) } else { float.mul_then_add(a, b, c) })
        }),
    }
}

/// The bench of a multiply-add unit with factors around the smallest normal number. It begins with all numbers, each
/// with the factors that bring the product near that number, plus a zero: eight vectors for each number.
///
/// # Errors
/// Parameters that the block refuses, a format of more than 16 bits.
pub fn at_the_limit(p: &FloatFma) -> anyhow::Result<Box<dyn sim::Bench>> {
    let unit = unit(p);
    let operands = Operands::new(float(p.format, p.subnormals).format);
    anyhow::ensure!(operands.format.width() <= 16, "{} has too many numbers", operands.format);
    let (products, sign) = (operands.products_at_the_limit(), operands.format.zero(true));
    let corners = Corners {
        count: products.len() as u64,
        at: Box::new(move |number| {
            let [a, b] = products[number as usize];
            [a, b | ((number & 1) * sign), (number >> 1 & 1) * sign, 0]
        }),
    };
    Unit { corners, ..unit }.bench(p)
}

/// The bench of a multiply-add unit that accumulates `count` dot products of rows of two tensors of the real model, one
/// addition after the other. Each sum on the way is compared.
///
/// # Errors
/// Parameters that the block refuses, a format other than fp16, a missing file.
pub fn dot_products(p: &FloatFma, left: &str, right: &str, count: usize) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = unit(p);
    anyhow::ensure!(p.format == FloatFormat::Fp16, "the tensors are fp16");
    let (left, right) = (real_rows(left)?, real_rows(right)?);
    let mut steps = Vec::new();
    for (left, right) in left.iter().zip(right.iter().cycle()).take(count) {
        let mut sum = 0;
        for (&a, &b) in left.iter().zip(right) {
            steps.push([a, b, sum, 0]);
            sum = (bench.golden)(&[a, b, sum, 0])[0];
        }
    }
    let corners = Corners { count: steps.len() as u64, at: Box::new(move |number| steps[number as usize]) };
    Unit { corners, ..bench }.bench(p)
}
