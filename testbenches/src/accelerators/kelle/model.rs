//! The golden model of an accelerator.

use golden::accelerators::kelle::{KelleTop as Golden, Shape};
use hdl::accelerators::kelle::KelleTop;

use crate::accelerators::vector::shape_of;

/// The golden model of an accelerator.
///
/// # Errors
/// Parameters that the model refuses.
pub fn golden_of(block: &KelleTop) -> anyhow::Result<Golden> {
    let (spec, heads) = (&block.spec, &block.attention);
    Golden::new(Shape {
        rows: spec.rows,
        columns: spec.columns,
        tokens: spec.tokens,
        inner: spec.inner,
        heads: heads.heads,
        slots: heads.slots,
        width: heads.width,
        group: heads.group,
        score_lanes: spec.lanes(),
        score_bits: heads.score_width,
        amount_bits: heads.amount_width,
        interval_bits: heads.interval_width,
        cache_rows: heads.rows(),
        save: heads.save,
        recompute: heads.recompute,
        vector: shape_of(&block.vector(), &spec.axi),
    })
    .map(|golden| golden.with_overlap(block.overlaps))
    .map_err(anyhow::Error::msg)
}
