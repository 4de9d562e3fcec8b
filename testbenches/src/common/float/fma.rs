//! [`FloatFma`] against soft floats.

use hdl::blocks::common::FloatFma;
use hdl::lang::Block;

use super::{Operands, Unit, expected, golden, outputs};

/// The bench of a multiply-add unit.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatFma) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    let float = golden(p.format, p.subnormals);
    let operands = Operands::new(float.format);
    let fused = p.fused;
    Ok(Box::new(Unit {
        block: FloatFma::ABOUT.name,
        parameters: serde_json::to_value(p)?,
        stages: p.stages,
        inputs: vec!["a_i", "b_i", "c_i"],
        outputs: outputs(p.flags),
        corners: operands.corner_triples(),
        random: Box::new(move |rng| {
            let [a, b, c] = operands.triple(rng);
            [a, b, c, 0]
        }),
        golden: Box::new(move |&[a, b, c, _]| {
            expected(if fused { float.fma(a, b, c) } else { float.mul_then_add(a, b, c) })
        }),
    }))
}
