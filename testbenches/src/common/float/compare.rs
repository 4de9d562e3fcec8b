//! [`FloatCompare`] against soft floats.

use std::cmp::Ordering;

use hdl::blocks::common::FloatCompare;

use super::{Corners, Operands, Unit};
use crate::common::formats::float;

/// The bench of a comparator.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &FloatCompare) -> anyhow::Result<Box<dyn sim::Bench>> {
    let float = float(p.format, p.subnormals);
    let operands = Operands::new(float.format);
    Unit {
        stages: p.stages,
        inputs: vec!["a_i", "b_i"],
        outputs: vec!["less_o", "equal_o", "greater_o", "unordered_o", "total_less_o"],
        corners: Corners::all([operands.all_or_corners(16), operands.all_or_corners(8)]),
        random: Box::new(move |rng| {
            let [a, b] = operands.terms(rng);
            [a, b, 0, 0]
        }),
        golden: Box::new(move |&[a, b, ..]| {
            let order = float.compare(a, b);
            let is = |wanted| u64::from(order == wanted);
            let [less, equal] = [Ordering::Less, Ordering::Equal].map(|o| is(Some(o)));
            [less, equal, is(Some(Ordering::Greater)), is(None), float.total_less(a, b).into(), 0]
        }),
    }
    .bench(p)
}
