//! The golden model of an accelerator.

use golden::accelerators::tender::{Shape, TenderTop as Golden};
use golden::tender::mesh_pe::PeSum;
use hdl::accelerators::tender::{EnginePe, TenderTopOf};

use super::super::vector::shape_of;
use crate::tender::mesh_pe::PeBench;

/// A PE whose accelerators can be compared with a golden model.
pub trait EnginePeBench: EnginePe + PeBench<Sum: PeSum<Operand = i64> + 'static> {}

impl<P: EnginePe + PeBench<Sum: PeSum<Operand = i64> + 'static>> EnginePeBench for P {}

/// The golden model of an accelerator.
///
/// # Errors
/// Parameters that the model refuses.
pub fn golden_of<P: EnginePeBench>(block: &TenderTopOf<P>) -> anyhow::Result<Golden<P::Sum>> {
    let pe = &block.array.pe;
    let shape = Shape {
        rows: block.array.rows,
        columns: block.array.columns,
        int8: block.array.int8,
        accumulator_width: pe.sum_bits(),
        depth: block.depth,
        steps: block.steps,
        explicit: block.explicit,
        weight_readers: block.weight_readers,
        pack_columns: block.pack_columns,
        vector: shape_of(&block.vector(), &block.bus.axi),
    };
    let fresh = pe.fresh().map_err(anyhow::Error::msg)?;
    let golden = Golden::with_sums(shape, fresh).map_err(anyhow::Error::msg)?;
    Ok(golden.with_overlap(block.bus.overlaps))
}
