//! [`FloatAdd`] against soft floats.

use hdl::blocks::common::FloatAdd;
use rand::RngExt;

use super::{Corners, Operands, Unit, expected, outputs};
use crate::common::formats::float;

/// The bench of an adder.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatAdd) -> anyhow::Result<Box<dyn sim::Bench>> {
    let float = float(p.format, p.subnormals);
    let operands = Operands::new(float.format);
    let corners = operands.corners();
    let subtract = if p.subtract { vec![0, 1] } else { vec![0] };
    let can_subtract = p.subtract;
    Unit {
        stages: p.stages,
        inputs: if p.subtract { vec!["a_i", "b_i", "subtract_i"] } else { vec!["a_i", "b_i"] },
        outputs: outputs(p.flags),
        corners: Corners::all([corners.clone(), corners, subtract]),
        random: Box::new(move |rng| {
            let [a, b] = operands.terms(rng);
            [a, b, (can_subtract && rng.random()).into(), 0]
        }),
        golden: Box::new(move |&[a, b, subtract, _]| {
            expected(if subtract == 1 { float.sub(a, b) } else { float.add(a, b) })
        }),
    }
    .bench(p)
}
