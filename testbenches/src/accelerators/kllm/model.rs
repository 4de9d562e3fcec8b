//! The golden model of an accelerator.

use golden::accelerators::kllm::{KllmTop as Golden, Shape};
use hdl::accelerators::kllm::KllmTop;

use super::super::vector::shape_of;

/// The golden model of an accelerator.
///
/// # Errors
/// Parameters that the model refuses.
pub fn golden_of(block: &KllmTop) -> anyhow::Result<Golden> {
    let lanes = &block.product;
    Golden::new(Shape {
        lanes: lanes.lanes,
        columns: lanes.columns,
        groups: lanes.groups,
        inputs: lanes.inputs,
        centroid_bits: lanes.centroid_bits,
        buffer: lanes.buffer,
        depth: lanes.depth,
        orizuru: block.orizuru,
        kmax: lanes.kmax,
        vector: shape_of(&block.vector(), &block.bus.axi),
    })
    .map(|golden| golden.with_overlap(block.bus.overlaps))
    .map_err(anyhow::Error::msg)
}
