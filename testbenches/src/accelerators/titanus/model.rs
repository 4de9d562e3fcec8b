//! The golden model of an accelerator.

use golden::accelerators::titanus::{Shape, TitanusCore as Golden};
use hdl::accelerators::titanus::TitanusCore;

use super::super::vector::shape_of;

/// The golden model of an accelerator.
///
/// # Errors
/// Parameters that the model refuses.
pub fn golden_of(block: &TitanusCore) -> anyhow::Result<Golden> {
    let spec = &block.spec;
    let cells = &spec.store.tile.cells;
    Golden::new(Shape {
        rows: spec.store.rows,
        columns: spec.store.columns,
        inputs: cells.inputs,
        outputs: cells.outputs,
        constants: spec.constants,
        lanes: spec.lanes,
        tiles: spec.tiles,
        levels: spec.levels,
        context: spec.context,
        buffer: spec.buffer,
        links: block.links == 1,
        vector: shape_of(&block.vector(), &block.bus.axi),
    })
    .map(|golden| golden.with_overlap(block.bus.overlaps))
    .map_err(anyhow::Error::msg)
}
