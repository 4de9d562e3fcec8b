//! [`FloatConvert`] against soft floats.

use golden::common::float::Float;
use hdl::blocks::common::FloatConvert;
use hdl::lang::Block;
use rand::{Rng, RngExt};

use super::{Operands, Unit, expected, golden, golden_format, outputs};

/// The bench of a format converter. All operands of 16 bits come first.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatConvert) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    let float = golden(p.from, p.subnormals);
    let to = golden_format(p.to);
    let operands = Operands::new(float.format);
    Ok(Box::new(Unit {
        block: FloatConvert::ABOUT.name,
        parameters: serde_json::to_value(p)?,
        stages: p.stages,
        inputs: vec!["a_i"],
        outputs: outputs(p.flags),
        corners: operands.all_or_corners(16).into_iter().map(|a| [a, 0, 0, 0]).collect(),
        random: Box::new(move |rng| {
            // Values of the target, exact and disturbed: they are near what rounds, overflows and underflows.
            let near = Float::ieee(to).convert(Operands::new(to).any(rng), float.format).bits;
            let disturbed = near ^ (1u64 << rng.random_range(0..float.format.width())) ^ (rng.next_u64() & 1);
            let a = match rng.random_range(0..4u8) {
                0 => near,
                1 | 2 => disturbed,
                _ => operands.any(rng),
            };
            [a, 0, 0, 0]
        }),
        golden: Box::new(move |&[a, ..]| expected(float.convert(a, to))),
    }))
}
