//! Multi-scale systolic array: a matrix product whose channel groups have different scales, in one pass.
//!
//! Output stationary: activations move right, weights down, each PE keeps one sum. A step of the tile is one channel
//! (a column of activations and a row of weights), or a rescale: all sums are doubled, each PE when the wavefront
//! reaches it. The edges skew; the controller sends what belongs together in one beat.
//!
//! In INT8 mode 2 x 2 PEs make one product of bytes: even rows hold the low nibble of an activation, odd ones the high
//! nibble, and so do the columns for weights. Low nibbles are unsigned. The four sums meet where rows leave the array.
//!
//! Files: `edges.rs` has the circuits around the mesh, `drain.rs` the way of the sums out, `properties.rs` the proofs.

use super::tender_pe::{Rescale, TenderPe};
use crate::lang::{Field, FieldArray, FieldOption, InStream, OutArray, bit, bundle, parameters, ports, sint, uint};

mod catalog;
mod drain;
mod edges;
mod hardware;
mod properties;

parameters! {
    /// Elaboration parameters.
    pub struct MultiScaleArray {
        /// Rows of PEs.
        rows: u32 = 16, in 1..=256, note "even with int8", tag "r";
        /// Columns of PEs.
        columns: u32 = 16, in 1..=256, note "even with int8", tag "c";
        /// The PE.
        pe: TenderPe = TenderPe::default();
        /// Run-time mode in which 2 x 2 PEs multiply operands of twice the width.
        int8: bool = true, tag "int8";
        /// Operands wait for their wavefront in memories, not in lines of registers.
        skew_in_memory: bool = false, tag "memory";
    }
    rules = |p, rules| {
        for (name, value) in [("rows", p.rows), ("columns", p.columns)] {
            rules.demand(!p.int8 || value % 2 == 0, name, value, "with int8 = true: even, from 2 to 256");
        }
        let allowed = "none, adder, shifter (factor: only in tender_pe)";
        rules.demand(p.pe.rescale != Rescale::Factor, "pe.rescale", "factor", allowed);
    };
}

bundle! {
    /// A step of a tile: one channel, or a rescale.
    pub struct TileStep(p: MultiScaleArray) {
        /// First step of a tile: all sums start from 0. A tile that has not ended is dropped.
        first: Field = bit(),
        /// Last step of a tile: its sums leave.
        last: Field = bit(),
        /// 0: a product; n: all sums times 2^n, operands are ignored.
        rescale: FieldOption = uint(p.pe.rescale_width()).when(p.pe.rescale != Rescale::None),
        /// Operands are of twice the PE's width; the same in all steps of a tile.
        int8: FieldOption = bit().when(p.int8),
        /// Activations are signed.
        act_signed: Field = bit(),
        /// Weights are signed.
        weight_signed: Field = bit(),
        /// An activation for each row.
        act: FieldArray = uint(p.pe.operand_width).array(p.rows),
        /// A weight for each column.
        weight: FieldArray = uint(p.pe.operand_width).array(p.columns),
    }
}

ports! {
    /// Ports of [`MultiScaleArray`].
    pub struct MultiScaleArrayPorts(p: &MultiScaleArray) {
        /// Steps of tiles.
        step: InStream<TileStep> = p.clone(),
        /// Row r shows a sum in this cycle; never held back.
        result_valid_o: OutArray = bit().array(p.rows),
        /// The sums, when valid.
        result_o: OutArray = sint(p.result_width()).array(p.rows),
        /// When valid: the sum went through an accumulator that overflowed. It belongs to this sum alone.
        overflow_o: OutArray = bit().array(p.rows),
    }
}

impl MultiScaleArray {
    /// Width of a result: with `int8`, wide enough for any four accumulators.
    #[must_use]
    pub fn result_width(&self) -> u32 {
        // hh x 2^2b + (hl + lh) x 2^b + ll, each of W bits: at most (2^b + 1)^2 x 2^(W-1).
        let (sum, operand) = (self.pe.accumulator_width, self.pe.operand_width);
        if self.int8 { sum + 2 * operand + 1 } else { sum }
    }

    /// Cycles that registers between the ports and the accumulators add: at the edges, and after each multiplier.
    fn before(&self) -> u32 {
        if self.pe.pipelined { 2 } else { 0 }
    }

    /// Cycles between the mesh and the ports of the results: the combination of nibbles.
    fn behind(&self) -> u32 {
        match (self.int8, self.pe.pipelined) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 3,
        }
    }
}
