//! Reconfigurable systolic array: weight stationary, bytes against bytes, in two directions.
//!
//! A row of weights stays in a row of PEs. In a normal product activations enter from the left and sums go down: the
//! rows are the channels that are added up. In a transposed product activations enter from above and sums go to the
//! right: each row is multiplied as it is stored. PE (r, c) works r + c cycles after the step in both. So a step of one
//! kind can follow a step of the other without a pause. The step's fields (its kind, the signs, whether new weights
//! begin to work) move along one line.
//!
//! Each PE has a second weight, which is loaded while the first one works. Accumulators at the edge add up the bytes of
//! wider operands and the panels of long sums: see `ByteAccumulator`. Results wait there until they are taken.

mod accumulator;
mod hardware;
mod lane_results;
mod pe;

pub use accumulator::ByteAccumulator;
pub use lane_results::LaneResults;
pub use pe::ReconfigurablePe;

use crate::lang::{
    CatalogBlock, Field, FieldArray, In, InStream, OutArray, OutStream, bit, bits_for, bundle, index_width, parameters,
    ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ReconfigurableArray {
        /// Rows of PEs.
        rows: u32 = 16, in 1..=256, tag "r";
        /// Columns of PEs.
        columns: u32 = 16, in 1..=256, tag "c";
        /// Width of an activation and of a weight of a PE in bits: a byte of an operand.
        operand_width: u32 = 8, in 2..=16, tag "w";
        /// Width of a sum in bits, signed.
        accumulator_width: u32 = 48, in 9..=96, note "at least 4 x operand_width + 1 + log2(lanes)", tag "a";
        /// Sums that each lane keeps.
        depth: u32 = 64, in 2..=65_536, tag "d";
        /// Results that can wait.
        results: u32 = 4, in 2..=64, tag "n";
        /// Lanes of a beat of results.
        beat: u32 = 8, in 1..=256, note "a divisor of the lanes: of the larger one of rows and columns", tag "b";
    }
    rules = |p, rules| {
        let lanes = p.lanes();
        let divides = lanes.is_multiple_of(p.beat);
        rules.demand(divides, "beat", p.beat, format!("a divisor of the lanes: of {lanes}"));
        let accumulator = p.accumulator();
        rules.part("accumulator_width", &accumulator);
    };
}

impl ReconfigurableArray {
    /// Lanes at the edge.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.rows.max(self.columns)
    }

    /// Beats of a result of so many lanes.
    #[must_use]
    pub fn groups(&self, lanes: u32) -> u32 {
        lanes.div_ceil(self.beat)
    }

    /// One of the PEs: its partial sums are exact.
    #[must_use]
    pub fn pe(&self) -> ReconfigurablePe {
        let partial_width = 2 * self.operand_width + 1 + index_width(self.lanes().into());
        ReconfigurablePe { operand_width: self.operand_width, partial_width }
    }

    /// The accumulator of a lane.
    #[must_use]
    pub fn accumulator(&self) -> ByteAccumulator {
        ByteAccumulator {
            operand_width: self.operand_width,
            partial_width: self.pe().partial_width,
            accumulator_width: self.accumulator_width,
            depth: self.depth,
        }
    }
}

bundle! {
    /// Weights of a row of PEs.
    pub struct ArrayRow(p: ReconfigurableArray) {
        /// Which row.
        row: Field = uint(index_width(p.rows.into())),
        /// A weight for each column.
        weight: FieldArray = uint(p.operand_width).array(p.columns),
    }
}

bundle! {
    /// A vector that is multiplied.
    pub struct ArrayStep(p: ReconfigurableArray) {
        /// From this step on the rows work that were loaded before it.
        swap: Field = bit(),
        /// Activations go to the columns, and each row has a sum.
        transposed: Field = bit(),
        /// The sums begin.
        first: Field = bit(),
        /// The sums are complete: they leave.
        last: Field = bit(),
        /// The products count 2^(operand_width x place); 3 is taken as 2.
        place: Field = uint(2),
        /// Number of the sums.
        index: Field = uint(index_width(p.depth.into())),
        /// The activations are signed.
        act_signed: Field = bit(),
        /// The weights are signed.
        weight_signed: Field = bit(),
        /// An activation for each row, or for each column; activations beyond the last one have no meaning.
        act: FieldArray = uint(p.operand_width).array(p.lanes()),
    }
}

bundle! {
    /// Some lanes of a result.
    pub struct ArrayResult(p: ReconfigurableArray) {
        /// It is of a transposed product: a sum for each row, else one for each column.
        transposed: Field = bit(),
        /// Number of the sums.
        index: Field = uint(index_width(p.depth.into())),
        /// Which of the beats of the result this is.
        group: Field = uint(index_width(p.groups(p.lanes()).into())),
        /// It is the last one.
        last: Field = bit(),
        /// Lanes in use; lanes after them mean nothing.
        used: Field = uint(bits_for(p.beat.into())),
        /// The sums.
        sum: FieldArray = sint(p.accumulator_width).array(p.beat),
        /// The sum, or one on the way to it, was not exact, or the number is not below depth.
        overflow: FieldArray = bit().array(p.beat),
    }
}

ports! {
    /// Ports of [`ReconfigurableArray`].
    pub struct ReconfigurableArrayPorts(p: &ReconfigurableArray) {
        /// Drops steps on their way and results, at any time; nothing is taken in its cycle. Weights and sums are
        /// unknown then until they are loaded and swapped in, or begun.
        clear_i: In = bit(),
        /// Weights of one row, for the next swap; the rows at work are not touched. A row that does not exist changes
        /// nothing.
        load: InStream<ArrayRow> = p.clone(),
        /// A vector.
        step: InStream<ArrayStep> = p.clone(),
        /// Results, in the order of their last steps, a few lanes a beat.
        result: OutStream<ArrayResult> = p.clone(),
        /// Row i of a transposed product has its sum in this cycle: row i + 1 one cycle later, and never held back.
        row_valid_o: OutArray = bit().array(p.rows),
        /// The sum, with row_valid_o.
        row_sum_o: OutArray = sint(p.accumulator_width).array(p.rows),
    }
}

impl CatalogBlock for ReconfigurableArray {
    fn configurations() -> Vec<Self> {
        let set = |[rows, columns]: [u32; 2], operand_width, accumulator_width, depth, [results, beat]: [u32; 2]| {
            Self { rows, columns, operand_width, accumulator_width, depth, results, beat }
        };
        vec![
            set([1, 1], 2, 10, 2, [2, 1]),
            set([3, 5], 8, 36, 7, [2, 5]),
            set([6, 2], 4, 20, 16, [3, 3]),
            set([4, 4], 8, 40, 5, [4, 2]),
        ]
    }
}
