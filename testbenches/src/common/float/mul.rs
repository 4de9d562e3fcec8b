//! [`FloatMul`] against soft floats.

use hdl::blocks::common::FloatMul;
use hdl::lang::{Block, Parameters};

use super::{Corners, Operands, Unit, expected, outputs};
use crate::common::formats::float;

/// The bench of a multiplier.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatMul) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    let float = float(p.format, p.subnormals);
    let operands = Operands::new(float.format);
    let corners = operands.corners();
    Ok(Box::new(Unit {
        block: FloatMul::ABOUT.name,
        parameters: serde_json::to_value(p)?,
        stages: p.stages,
        inputs: vec!["a_i", "b_i"],
        outputs: outputs(p.flags),
        corners: Corners::all([corners.clone(), corners]),
        random: Box::new(move |rng| {
            let [a, b] = operands.factors(rng);
            [a, b, 0, 0]
        }),
        golden: Box::new(move |&[a, b, ..]| expected(float.mul(a, b))),
    }))
}
