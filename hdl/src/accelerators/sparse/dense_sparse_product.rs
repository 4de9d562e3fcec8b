//! Dense-and-sparse product: Orizuru's outliers beside Tender's groups.
//!
//! Rows of integers come in, one after the other. While Orizuru finds the largest and smallest values of a row, the row
//! waits in one bank of memory. Rows in the other bank are multiplied. Channel by channel, weights meet a value of
//! every row. A value that is no outlier is rounded to its group's unit and goes through the multi-scale array. An
//! outlier is 0 there and goes, as it is, through lanes beside the array, one row a cycle. The array's sums are added
//! to the lanes' sums when they leave: each column has one sum in each cycle, of another row.
//!
//! Files: `finding.rs` is the way in, `multiplying.rs` the product, `properties.rs` its formal section.

use super::group_quantizer::GroupQuantizer;
use super::outlier_lane::OutlierLane;
use crate::accelerators::kllm::OutlierMask;
use crate::blocks::common::memory::{Ram, RamImplementation};
use crate::blocks::common::number_format::NumberFormat;
use crate::blocks::kllm::Orizuru;
use crate::blocks::tender::{Drain, MultiScaleArray, TenderPe};
use crate::lang::{
    About, Block, Field, FieldArray, In, InStream, Module, Out, OutStream, Signal, Timing, Type, bit, bits_for, bundle,
    index_width, parameters, ports, power_of_two, sint, uint,
};

mod catalog;
mod finding;
mod multiplying;
mod properties;

parameters! {
    /// Elaboration parameters.
    pub struct DenseSparseProduct {
        /// Rows of a tile, and of the array.
        rows: u32 = 8, in 1..=64, tag "r";
        /// Columns of a tile, and of the array.
        columns: u32 = 8, in 1..=64, tag "c";
        /// Channels of a row.
        channels: u32 = 64, in 3..=65_536, note "more than lanes", tag "k";
        /// Values of a row that come in one beat.
        lanes: u32 = 4, in power_of_two(2..=64), note "less than channels", tag "l";
        /// Largest number of outliers on each side of a row.
        outliers: u32 = 1, in 1..=4096, note "at most channels", tag "o";
        /// Width of a value in bits, signed.
        activation_width: u32 = 16, in 2..=24, note "at least operand_width", tag "a";
        /// Width of the array's operands, and of a weight, in bits, signed.
        operand_width: u32 = 4, in 2..=8, note "at most activation_width", tag "w";
        /// Width of a group's shift in bits: up to 2^shift_width groups.
        shift_width: u32 = 3, in 1..=4, tag "g";
    }
    rules = |p, rules| {
        let allowed = format!("more than lanes = {}", p.lanes);
        rules.demand(p.channels > p.lanes, "channels", p.channels, allowed);
        let allowed = format!("1 to channels = {}", p.channels);
        rules.demand(p.outliers <= p.channels, "outliers", p.outliers, allowed);
        rules.part("operand_width", &p.quantizer());
        rules.part("rows", &p.bank());
    };
}

bundle! {
    /// Values of a row on their way in.
    pub struct RowValues(p: DenseSparseProduct) {
        /// Values in the order of channels, in units of the finest group; lanes after the last channel are ignored.
        values: FieldArray = sint(p.activation_width).array(p.lanes),
    }
}

bundle! {
    /// The weights of a channel.
    pub struct ChannelWeights(p: DenseSparseProduct) {
        /// The unit of the channel's group is 2^shift of the finest one's.
        shift: Field = uint(p.shift_width),
        /// With the last channel: this was the last tile of these rows. Ignored with all others.
        release: Field = bit(),
        /// A weight for each column.
        weights: FieldArray = sint(p.operand_width).array(p.columns),
    }
}

bundle! {
    /// A row of results.
    pub struct ProductRow(p: DenseSparseProduct) {
        /// It is the last one of its tile.
        last: Field = bit(),
        /// A sum for each column. Its unit is the finest group's unit times the weights' unit.
        sums: FieldArray = sint(p.sum_width()).array(p.columns),
    }
}

ports! {
    /// Ports of [`DenseSparseProduct`].
    pub struct DenseSparseProductPorts(p: &DenseSparseProduct) {
        /// Drops all rows, the tile that is being multiplied and its results, at this edge. Beats of rows and weights
        /// that are taken with it are dropped too; a row of results that is taken with it is delivered. The next beats
        /// begin a first row, and a tile.
        clear_i: In = bit(),
        /// Rows, row after row, as many as a tile has; then the rows of the next tiles.
        row: InStream<RowValues> = p.clone(),
        /// Largest values of a row that go beside the array: sampled at the edge that takes the first beat of a row,
        /// ignored at all others. More than there are channels means all.
        largest_i: In = uint(bits_for(p.outliers.into())),
        /// Smallest values: as largest_i.
        smallest_i: In = uint(bits_for(p.outliers.into())),
        /// Weights, channel by channel, tile after tile.
        weight: InStream<ChannelWeights> = p.clone(),
        /// Results of a tile, from its first row to its last. Falls without being taken at clear_i only.
        product: OutStream<ProductRow> = p.clone(),
        /// A shift was larger than the shift of the channel before it in its tile, and was taken as that one. High from
        /// the cycle after such weights were taken until clear_i or reset.
        order_error_o: Out = bit(),
    }
}

impl DenseSparseProduct {
    /// Words of a row's values.
    #[must_use]
    pub fn words(&self) -> u32 {
        self.channels.div_ceil(self.lanes)
    }

    fn quantizer(&self) -> GroupQuantizer {
        let Self { activation_width, operand_width, shift_width, .. } = *self;
        GroupQuantizer { activation_width, operand_width, shift_width }
    }

    /// The finder of outliers.
    #[must_use]
    pub fn finder(&self) -> Orizuru {
        Orizuru {
            n: self.channels,
            k_max: self.outliers,
            k_min: self.outliers,
            format: NumberFormat::Int { bits: self.activation_width },
            radix: self.lanes.max(16),
            lanes: self.lanes,
            ..Orizuru::default()
        }
    }

    /// Values of all rows of a tile: a word has some channels of each.
    fn bank(&self) -> Ram {
        let row = self.lanes * self.activation_width;
        Ram::parts(self.words().max(2), row * self.rows, row, RamImplementation::Inferred)
    }

    /// Outliers of a row.
    fn mask(&self) -> OutlierMask {
        OutlierMask { depth: self.words().max(2), lanes: self.lanes }
    }

    /// The array; its tiles do not overlap, so sums need no second registers.
    #[must_use]
    pub fn array(&self) -> MultiScaleArray {
        let (operand_width, accumulator_width) = (self.operand_width, self.accumulator_width());
        let pe = TenderPe { operand_width, accumulator_width, drain: Drain::Single, ..TenderPe::default() };
        MultiScaleArray { rows: self.rows, columns: self.columns, pe, int8: false, ..MultiScaleArray::default() }
    }

    fn lane(&self) -> OutlierLane {
        let Self { rows, activation_width, operand_width, .. } = *self;
        let (accumulator_width, sum_width) = (self.accumulator_width(), self.sum_width());
        OutlierLane { rows, activation_width, operand_width, accumulator_width, sum_width }
    }

    /// Largest magnitude of a sum in the array: every channel in the coarsest group.
    fn dense_bound(&self) -> u64 {
        u64::from(self.channels) << (2 * (self.operand_width - 1) + (1 << self.shift_width) - 1)
    }

    /// Largest magnitude of the sum of a row's outliers.
    fn sparse_bound(&self) -> u64 {
        u64::from(self.channels.min(2 * self.outliers)) << (self.activation_width + self.operand_width - 2)
    }

    /// Width of the array's accumulators: no sum overflows.
    #[must_use]
    pub fn accumulator_width(&self) -> u32 {
        bits_for(self.dense_bound()) + 1
    }

    /// Width of a result: no sum overflows.
    #[must_use]
    pub fn sum_width(&self) -> u32 {
        bits_for(self.dense_bound() + self.sparse_bound()) + 1
    }

    /// Type of the number of a row.
    fn row_type(&self) -> Type {
        uint(index_width(self.rows.into()))
    }

    /// Word and lane of a channel.
    fn place(&self, channel: Signal) -> (Signal, Signal) {
        let bits = self.lanes.ilog2();
        (channel.slice(bits..channel.width()), channel.slice(0..bits))
    }

    /// Cycles from the first beat of a row to the first beat of the next one, with all outliers on both sides and
    /// without pauses.
    #[must_use]
    pub fn row_cycles(&self) -> u32 {
        let finder = self.finder();
        // Minima pop one cycle after maxima; then it is done, and the next row may come.
        finder.beats() - 1 + finder.init_cycles() + self.outliers * finder.pop_cycles() + 1 + 2
    }
}

impl Block for DenseSparseProduct {
    type Ports = DenseSparseProductPorts;
    const ABOUT: About = About {
        name: "dense_sparse_product",
        summary: "matrix product in channel groups whose outliers are found and multiplied beside the array",
        contract: "A tile of results: sum (r, c) = sum over channels of x weight_c, exactly. x is the value of row\n\
            r if it is one of the row's largest_i largest or smallest_i smallest values (the lower channel first\n\
            among equal ones). Otherwise x is q 2^s, with q = value / 2^s rounded to nearest, ties to even, and\n\
            saturated to operand_width. s is the least shift of the channel and the channels before it in its tile.\n\
            No sum overflows.\n\
            Rows are multiplied by one tile of weights after the other, until one comes with release; the next rows\n\
            come in meanwhile. Channels must come in the order of their groups, the coarsest first; order_error_o\n\
            tells of a channel that does not.\n\
            A channel takes max(doublings + 1, rows of which it is an outlier) cycles, doublings = the shift of the\n\
            channel before less its own. If nothing waits, a tile takes the cycles of its channels, one for each\n\
            remaining doubling, and 2 (rows + columns) + 1.\n\
            clear_i or reset drops everything at any time.",
        reference: "KLLM, section IV-C, and Tender, sections III-B and IV-B; the combination is in neither",
    };

    fn build(&self, m: &mut Module, io: &DenseSparseProductPorts) {
        self.product(m, io);
    }

    fn timing(&self) -> Timing {
        Timing::new()
            .phase("row", self.row_cycles(), "from the first beat of a row to the next row's, with all outliers")
            .phase("fill", self.row_cycles() * self.rows, "from the first beat of rows until they can be multiplied")
            .phase("tile", 2 * (self.rows + self.columns) + 1, "of a tile, beside its channels and doublings")
    }
}
