//! Multi-scale systolic array: a matrix product whose channel groups have different scales, in one pass.
//!
//! Output stationary: activations move right, weights down, each PE keeps one sum. A step of the tile is one channel
//! (a column of activations and a row of weights), or a rescale: all sums are doubled, each PE when the wavefront
//! reaches it. The edges skew; the controller sends what belongs together in one beat.
//!
//! In INT8 mode 2 x 2 PEs make one product of bytes: even rows hold the low nibble of an activation, odd ones the high
//! nibble, and so do the columns for weights. Low nibbles are unsigned. The four sums meet where rows leave the array.
//!
//! The PE is any block with the contract of [`MeshPe`]. `MultiScaleArray` is the array of Tender's PE.
//!
//! Files: `edges.rs` has the circuits around the mesh, `drain.rs` the way of the sums out, `properties.rs` the proofs.

use super::mesh_pe::MeshPe;
use crate::lang::{
    Field, FieldArray, FieldOption, InStream, OutArray, PortBuilder, Ports, Rules, bit, bundle, parameters, ports,
    sint, uint,
};

mod catalog;
mod drain;
mod edges;
mod hardware;
mod properties;

pub use catalog::ArrayedPe;

parameters! {
    /// Elaboration parameters.
    pub struct MultiScaleArrayOf<P: MeshPe> {
        /// Rows of PEs.
        rows: u32 = 16, in 1..=256, note "even with int8", tag "r";
        /// Columns of PEs.
        columns: u32 = 16, in 1..=256, note "even with int8", tag "c";
        /// The PE.
        pe: P = P::default();
        /// Run-time mode in which 2 x 2 PEs multiply operands of twice the width.
        int8: bool = P::default().has_integers_only(), tag "int8";
        /// Operands wait for their wavefront in memories, not in lines of registers.
        skew_in_memory: bool = false, tag "memory";
    }
    rules = |p, rules| {
        for (name, value) in [("rows", p.rows), ("columns", p.columns)] {
            rules.demand(!p.int8 || value % 2 == 0, name, value, "with int8 = true: even, from 2 to 256");
        }
        demand_contract(&p.pe, rules);
        let bytes = !p.int8 || p.pe.has_integers_only();
        rules.demand(bytes, "int8", p.int8, "false: an operand of the PE is more than an integer");
        p.pe.demand_in_array(rules);
    };
}

/// What no PE of an array may be.
fn demand_contract<P: MeshPe>(pe: &P, rules: &mut Rules) {
    let (operand, integer, sum) = (pe.operand_bits(), pe.integer_bits(), pe.sum_bits());
    let mut demand = |right: bool, value: String, allowed: &str| rules.demand(right, "pe", value, allowed);
    demand((1..=64).contains(&operand), format!("a PE with operand_bits() = {operand}"), "1 to 64");
    demand(
        (1..=operand).contains(&integer),
        format!("a PE with integer_bits() = {integer}"),
        "1 to operand_bits(), the low bits of an operand",
    );
    demand((2..=64).contains(&sum), format!("a PE with sum_bits() = {sum}"), "2 to 64");
    let most = pe.max_rescale();
    demand(most <= 63, format!("a PE with max_rescale() = {most}"), "0 (no rescale) to 63");
    let ranks = pe.ranks();
    demand(ranks <= 32, format!("a PE with ranks() = {ranks}"), "0 to 32");
}

/// What the ports of an array depend on.
#[derive(Clone, Debug)]
pub struct ArrayPorts {
    /// Rows of PEs.
    pub rows: u32,
    /// Columns of PEs.
    pub columns: u32,
    /// Bits of an operand.
    pub operand: u32,
    /// Bits of the amount of a rescale, where PEs have it.
    pub amount: Option<u32>,
    /// There is the mode of 2 x 2 PEs.
    pub int8: bool,
    /// Bits of a result.
    pub result: u32,
}

bundle! {
    /// A step of a tile: one channel, or a rescale.
    pub struct TileStep(p: ArrayPorts) {
        /// First step of a tile: all sums start from 0. A tile that has not ended is dropped.
        first: Field = bit(),
        /// Last step of a tile: its sums leave.
        last: Field = bit(),
        /// 0: a product; n: all sums times 2^n, operands are ignored.
        rescale: FieldOption = p.amount.map(uint),
        /// Operands are of twice the PE's width; the same in all steps of a tile.
        int8: FieldOption = bit().when(p.int8),
        /// Activations are signed.
        act_signed: Field = bit(),
        /// Weights are signed.
        weight_signed: Field = bit(),
        /// An activation for each row.
        act: FieldArray = uint(p.operand).array(p.rows),
        /// A weight for each column.
        weight: FieldArray = uint(p.operand).array(p.columns),
    }
}

ports! {
    /// Ports of [`MultiScaleArrayOf`].
    pub struct MultiScaleArrayPorts(p: &ArrayPorts) {
        /// Steps of tiles.
        step: InStream<TileStep> = p.clone(),
        /// Row r shows a sum in this cycle; never held back.
        result_valid_o: OutArray = bit().array(p.rows),
        /// The sums, when valid.
        result_o: OutArray = sint(p.result).array(p.rows),
        /// When valid: the sum went through an accumulator that overflowed. It belongs to this sum alone.
        overflow_o: OutArray = bit().array(p.rows),
    }
}

impl<P: MeshPe> Ports<MultiScaleArrayOf<P>> for MultiScaleArrayPorts {
    #[track_caller]
    fn declare(builder: &mut PortBuilder, array: &MultiScaleArrayOf<P>) -> Self {
        <Self as Ports<ArrayPorts>>::declare(builder, &array.ports())
    }
}

impl<P: MeshPe> MultiScaleArrayOf<P> {
    /// What the ports depend on.
    #[must_use]
    pub fn ports(&self) -> ArrayPorts {
        ArrayPorts {
            rows: self.rows,
            columns: self.columns,
            operand: self.pe.operand_bits(),
            amount: self.pe.amount_bits(),
            int8: self.int8,
            result: self.result_width(),
        }
    }

    /// Width of a result: with `int8`, wide enough for any four accumulators.
    #[must_use]
    pub fn result_width(&self) -> u32 {
        // hh x 2^2b + (hl + lh) x 2^b + ll, each of W bits: at most (2^b + 1)^2 x 2^(W-1).
        let (sum, operand) = (self.pe.sum_bits(), self.pe.operand_bits());
        if self.int8 { sum + 2 * operand + 1 } else { sum }
    }

    /// Cycles that registers between the ports and the accumulators add: at the edges, and after each multiplier.
    fn before(&self) -> u32 {
        match self.pe.ranks() {
            0 => 0,
            ranks => 1 + ranks,
        }
    }

    /// Cycles between the mesh and the ports of the results: the combination of nibbles.
    fn behind(&self) -> u32 {
        match (self.int8, self.short_paths()) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => 3,
        }
    }

    /// Whether the edges have registers for short paths, as the PEs do.
    fn short_paths(&self) -> bool {
        self.pe.ranks() > 0
    }
}
