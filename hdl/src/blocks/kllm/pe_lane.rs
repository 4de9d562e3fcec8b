//! A lane: weight indices from a buffer, activation indices as they come, exact sums of the products of their
//! centroids.
//!
//! KLLM sections III-B and IV-A. The paper counts how often each pair of indices occurs, in 256 counters a column, and
//! sums the counts times the Cartesian product of the codebooks afterwards. Here the Cartesian product is looked up
//! instead: an activation index chooses a row of 16 products, *once for all columns*. In each column the weight index
//! chooses one product of the row, and the column adds it. Only one number a column remains to be drained. An adder for
//! each pair is smaller than 256 counters that can all take 16 pairs in a cycle (docs/blocks/kllm-lane.md has the
//! figures).
//!
//! **Sums are exact**, so they have no order. Centroids are integers of `centroid_bits`; a codebook of fp16 values is
//! scaled by a power of two and rounded once, offline.
//!
//! **The lane stops as a whole.** All ranks move on together, unless a complete column waits for the one before it to
//! leave.
//!
//! **Outliers** are fp16 numbers beside the indices, one a beat; a beat with more of them is sent again. Their sum is
//! exact as well.
//!
//! **Integers** of 8 bits are two nibbles: a beat of high ones counts 16 times, with the codebook 0 to 15.

mod banks;
mod codebooks;
pub mod column;
mod drain;
mod front;
mod hardware;
mod outlier_properties;
mod outliers;
mod properties;
mod streams;

use crate::blocks::common::{Ram, RamImplementation};
use crate::lang::{CatalogBlock, Proof, bits_for, parameters};
use column::LaneColumn;
pub use column::PairProducts;
pub use streams::{ActivationBeat, CodebookEntry, ColumnSums, PeLanePorts, WeightWord};

parameters! {
    /// Elaboration parameters.
    pub struct PeLane {
        /// Output columns that are summed at once.
        columns: u32 = 8, in 1..=1024, tag "c";
        /// Pairs of a column in a beat.
        inputs: u32 = 4, in 1..=64, tag "n";
        /// Width of an activation index in bits.
        a_bits: u32 = 4, in 1..=4, tag "a";
        /// Width of a weight index in bits.
        w_bits: u32 = 4, in 1..=4, tag "w";
        /// Width of a centroid in bits, signed.
        centroid_bits: u32 = 12, in 2..=16, tag "f";
        /// Words of a bank of the weight buffer; a word has the indices of a beat for all columns.
        buffer: u32 = 4, in 2..=65_536, tag "d";
        /// Largest number of present pairs of a column. It is 17 k where pairs of high beats count 16.
        k: u32 = 4096, in 1..=1 << 20, tag "k";
        /// Sums that leave in a cycle.
        outputs: u32 = 1, in 1..=1024, note "a divisor of columns", tag "o";
        /// Where activations and weights are multiplied.
        products: PairProducts = PairProducts::Lookup, tag "";
        /// Levels of gates between registers that are aimed at.
        levels: u32 = 20, in 12..=255, tag "l", named "when set";
        /// Largest number of outliers of a column; 0: none, and no hardware for them.
        outliers: u32 = 0, in 0..=65_536, tag "x", named "when set";
    }
    rules = |p, rules| {
        let divides = p.outputs > 0 && p.columns.is_multiple_of(p.outputs);
        let looked_up = p.outliers == 0 || p.products == PairProducts::Lookup;
        rules.demand(looked_up, "outliers", p.outliers, "0 unless products = lookup");
        rules.demand(divides, "outputs", p.outputs, format!("a divisor of columns = {}", p.columns));
        let word = p.columns * p.inputs * p.w_bits;
        let most = 65_536 / (p.inputs * p.w_bits).max(1);
        rules.demand(word <= 65_536, "columns", p.columns, format!("1 to {most}: a word of the buffer has at most 65536 bits"));
    };
}

impl PeLane {
    /// Width of a sum: 17 k products of the largest centroids fit.
    #[must_use]
    pub fn sum_width(&self) -> u32 {
        let largest = (1u64 << (self.centroid_bits - 1)) - 1;
        1 + bits_for(17 * u64::from(self.k) * largest * largest)
    }

    /// Beats that the sums of all columns take to leave.
    #[must_use]
    pub fn drain(&self) -> u32 {
        self.columns / self.outputs.max(1)
    }

    fn column(&self) -> LaneColumn {
        LaneColumn {
            inputs: self.inputs,
            w_bits: self.w_bits,
            centroid_bits: self.centroid_bits,
            sum_width: self.sum_width(),
            products: self.products,
            levels: self.levels,
            outlier_width: self.outlier_width(),
        }
    }

    /// Cycles from the one in which the last beat of columns is taken to the one in which their first sums are offered.
    #[must_use]
    pub fn latency(&self) -> u32 {
        // Taken, chosen and added up, added to the column, copied.
        1 + self.column().latency() + 2
    }

    /// Cycles of groups of `beats` beats, one after the other and without pauses, if all weights are there in time.
    /// From the cycle in which the first beat is taken to the one in which the last sums leave, both counted.
    #[must_use]
    pub fn cycles(&self, beats: &[u64]) -> u64 {
        let drain = u64::from(self.drain());
        let first = beats.first().copied().unwrap_or(0);
        let others: u64 = beats.iter().skip(1).map(|&beats| beats.max(drain)).sum();
        first + others + u64::from(self.latency()) + drain - 1
    }

    fn word_width(&self) -> u32 {
        self.columns * self.inputs * self.w_bits
    }

    fn ram(&self) -> Ram {
        Ram::words(self.buffer, self.word_width(), RamImplementation::Inferred)
    }
}

impl CatalogBlock for PeLane {
    fn configurations() -> Vec<Self> {
        use PairProducts::{Lookup, Multiply};
        let set = |columns, inputs, (a_bits, w_bits, centroid_bits), (buffer, k), outputs, products| Self {
            columns,
            inputs,
            a_bits,
            w_bits,
            centroid_bits,
            buffer,
            k,
            outputs,
            products,
            levels: 20,
            outliers: 0,
        };
        vec![
            set(1, 1, (1, 1, 2), (2, 1), 1, Lookup),
            set(2, 4, (4, 4, 12), (36, 1536), 1, Lookup),
            set(2, 4, (4, 4, 8), (4, 64), 2, Multiply),
            set(3, 5, (3, 4, 9), (7, 100), 3, Lookup),
            set(6, 3, (2, 3, 5), (3, 20), 2, Multiply),
            set(4, 64, (4, 2, 16), (2, 1 << 20), 4, Lookup),
            Self { levels: 40, ..set(3, 2, (4, 1, 16), (5, 9), 1, Multiply) },
            Self { levels: 12, ..set(8, 7, (1, 4, 3), (8, 300), 4, Lookup) },
            Self { outliers: 1, ..set(1, 1, (1, 1, 2), (2, 4), 1, Lookup) },
            Self { outliers: 16, ..set(3, 5, (4, 4, 12), (6, 60), 1, Lookup) },
            Self { outliers: 300, ..set(2, 16, (3, 4, 12), (4, 1536), 2, Lookup) },
            Self { outliers: 65_536, levels: 12, ..set(2, 33, (4, 3, 16), (2, 1 << 20), 1, Lookup) },
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |columns, inputs, k, outputs, outliers| {
            let products = PairProducts::Lookup;
            let block = Self {
                columns,
                inputs,
                a_bits: 1,
                w_bits: 1,
                centroid_bits: 2,
                buffer: 2,
                k,
                outputs,
                products,
                levels: 20,
                outliers,
            };
            Proof { block, depth: 9, cover_depth: 16, induction: true }
        };
        vec![prove(1, 1, 1, 1, 0), prove(2, 1, 1, 1, 0), prove(1, 1, 1, 1, 1)]
    }
}
