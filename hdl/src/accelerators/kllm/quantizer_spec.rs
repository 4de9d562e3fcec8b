//! Sizes that all parts of the quantizer share.

use super::kllm_spec::COUNT;
use crate::blocks::common::bus::AxiSpec;
use crate::blocks::common::memory::{Ram, RamImplementation};
use crate::blocks::common::{DoubleBuffer, NanPolicy, NumberFormat};
use crate::blocks::kllm::{ClusteringUnit, Orizuru, Search, TreeStyle};
use crate::lang::{Field, bit, bundle, parameters, uint};

/// Bits of an outlier as it lies in memory: position and value.
pub(super) const RECORD: u32 = 32;
/// Bits of a number of outliers.
pub(super) const OUTLIERS: u32 = 16;

parameters! {
    /// The unit that makes tokens of rows.
    pub struct QuantizerSpec {
        /// The bus: a beat of rows is as wide.
        axi: AxiSpec = AxiSpec::default();
        /// Values among which outliers are found at once.
        orizuru: u32 = 4096, in 2..=32_768, note "a power of two, a beat of the bus at least", tag "z";
        /// Outliers of a token on each side, at most.
        kmax: u32 = 32, in 1..=32_767, tag "o";
        /// Elements of the longest row.
        inner: u32 = 4096, in 2..=65_536, note "whole beats of the bus", tag "k";
        /// How the trees of Orizuru are built.
        tree: TreeStyle = TreeStyle::default();
    }
    rules = |p, rules| {
        let lanes = p.lanes();
        // A row of tokens begins and ends at multiples of 64 bytes, so a beat may not be longer.
        rules.demand(lanes <= 32, "axi.data_width", p.axi.data_width, "at most 512");
        rules.demand(
            p.orizuru.is_power_of_two() && p.orizuru >= lanes,
            "orizuru",
            p.orizuru,
            format!("a power of two from {lanes} to 32768"),
        );
        rules.demand(p.inner.is_multiple_of(lanes), "inner", p.inner, format!("a multiple of {lanes}"));
    };
}

bundle! {
    /// Rows that become tokens, as the parts need to know them; steady while they are in hand.
    pub struct QuantizeSize(_unit: ()) {
        /// Elements of a row, from 1 on.
        columns: Field = uint(COUNT),
        /// Beats of a row.
        beats: Field = uint(COUNT),
        /// Segments of a row. Each has a share of the row's outliers.
        segments: Field = uint(COUNT),
        /// How many of the largest elements are outliers.
        largest: Field = uint(OUTLIERS),
        /// How many of the smallest ones.
        smallest: Field = uint(OUTLIERS),
        /// Indices have 3 bits, otherwise 4.
        three_bits: Field = bit(),
        /// Beats of a token's indices, with the zeros after them.
        index_beats: Field = uint(COUNT),
        /// Beats for its outliers.
        outlier_beats: Field = uint(COUNT),
    }
}

impl QuantizerSpec {
    /// Elements of a beat.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.axi.data_width / 16
    }

    /// Beats of the longest row.
    #[must_use]
    pub fn beats(&self) -> u32 {
        self.inner.div_ceil(self.lanes())
    }

    /// The unit that finds outliers: one more on each side, for the scale.
    #[must_use]
    pub fn finder(&self) -> Orizuru {
        let lanes = self.lanes();
        let most = (self.kmax + 1).min(self.orizuru);
        Orizuru {
            n: self.orizuru,
            k_max: most,
            k_min: most,
            format: NumberFormat::FP16,
            nan: NanPolicy::TotalOrder,
            radix: lanes.max(16),
            lanes,
            tree: self.tree.clone(),
            masked: true,
        }
    }

    /// Cycles from the first beat of a row to the first beat of the next row, for so many elements and outliers on each
    /// side. The memory gives a beat a cycle and takes all writes. Each segment takes its beats, the time of Orizuru to
    /// its first pops, a pop for each outlier of its share and one for the scale. Indices leave meanwhile.
    #[must_use]
    pub fn row_cycles(&self, columns: u32, outliers: u32) -> u64 {
        let (finder, lanes) = (self.finder(), self.lanes());
        let segments = columns.div_ceil(self.orizuru);
        let due = |segment: u32| u64::from(outliers) * u64::from(segment) / u64::from(segments.max(1));
        let segment = |s: u32| {
            let elements = self.orizuru.min(columns - s * self.orizuru);
            let pops = (due(s + 1) - due(s) + 1).min(elements.into());
            // A pop of one side, then of the other, and the state after them.
            u64::from(elements.div_ceil(lanes) + finder.init_cycles()) + u64::from(finder.pop_cycles()) * pops + 1
        };
        (0..segments).map(segment).sum()
    }

    /// The rows in which outliers are sought, and the rows that become tokens.
    pub(super) fn rows(&self) -> DoubleBuffer {
        let depth = self.beats().max(2);
        DoubleBuffer { ram: Ram::words(depth, self.axi.data_width, RamImplementation::Inferred) }
    }

    /// The unit that makes indices.
    pub(super) fn clustering(&self) -> ClusteringUnit {
        ClusteringUnit { bits: 4, lanes: self.lanes(), search: Search::Binary, pipelined: true }
    }
}
