//! [`FloatConvert`] against soft floats.

use golden::common::float::{Float, FloatFormat};
use hdl::blocks::common::FloatConvert;
use rand::{Rng, RngExt};

use super::to_int::direction;
use super::{Corners, Operands, Unit, expected, outputs};
use crate::common::formats::{float, float_format};

/// All values of a narrow format. Of fp32, all high halves. In the low halves the upper 4 bits take all values. The
/// lower 12 bits take the values that matter to rounding: nothing, the least, about half, the most.
fn corners(format: FloatFormat) -> Corners {
    let all = |width: u32| (0..1u64 << width).collect::<Vec<_>>();
    if format.width() <= 16 {
        return Corners::all([all(format.width())]);
    }
    let (high, middle, low) = (all(16), all(4), [0, 1, 0x7ff, 0x800, 0x801, 0xfff]);
    let parts = Corners::all([high, middle, low.to_vec()]);
    let at = move |number| {
        let [high, middle, low, _] = (parts.at)(number);
        [high << 16 | middle << 12 | low, 0, 0, 0]
    };
    Corners { count: parts.count, at: Box::new(at) }
}

/// The bench of a format converter. All operands of up to 16 bits come first.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatConvert) -> anyhow::Result<Box<dyn sim::Bench>> {
    let float = float(p.from, p.subnormals);
    let to = float_format(p.to);
    let direction = direction(p.rounding);
    let operands = Operands::new(float.format);
    Unit {
        stages: p.stages,
        inputs: vec!["a_i"],
        outputs: outputs(p.flags),
        corners: corners(float.format),
        random: Box::new(move |rng| {
            // Values of the target, exact and disturbed: they are near ties, overflow and underflow.
            let near = Float::ieee(to).convert(Operands::new(to).any(rng), float.format).bits;
            let disturbed = near ^ (1u64 << rng.random_range(0..float.format.width())) ^ (rng.next_u64() & 1);
            let a = match rng.random_range(0..4u8) {
                0 => near,
                1 | 2 => disturbed,
                _ => operands.any(rng),
            };
            [a, 0, 0, 0]
        }),
        golden: Box::new(move |&[a, ..]| expected(float.convert_directed(direction, a, to))),
    }
    .bench(p)
}
