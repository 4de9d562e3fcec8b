//! The parameters of `kelle_top`.

use crate::accelerators::vector;

/// Least columns of a panel, so that rows of results begin at multiples of 64 bytes.
const LEAST_PANEL: u32 = 32;
/// Bytes of the constants of a column.
pub const CONSTANT_BYTES: u64 = 8;
/// Bytes before the key of a token in memory.
pub const HEAD_BYTES: u64 = 64;

/// The parameters of the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of the array.
    pub rows: u32,
    /// Columns of the array: a power of two.
    pub columns: u32,
    /// Rows of a linear operation, at most.
    pub tokens: u32,
    /// Channels of a linear operation, at most.
    pub inner: u32,
    /// Heads that the cache holds.
    pub heads: u32,
    /// Tokens of a head after a step, at most.
    pub slots: u32,
    /// Elements of a vector in the cache: a multiple of the columns.
    pub width: u32,
    /// Query heads of a head, at most.
    pub group: u32,
    /// Scores that the softmax takes at once.
    pub score_lanes: u32,
    /// Bits of an importance.
    pub score_bits: u32,
    /// Bits of the signed amount that is added to an importance.
    pub amount_bits: u32,
    /// Bits of a refresh interval.
    pub interval_bits: u32,
    /// Rows of a bank.
    pub cache_rows: u32,
    /// Whether cached tokens can be written to memory, and come back.
    pub save: bool,
    /// Tokens of a head that may be kept as inputs and recomputed; 0: there is no such operation.
    pub recompute: u32,
    /// Its vector unit, and the bus.
    pub vector: vector::Shape,
}

impl Shape {
    /// Columns of a panel of weights.
    #[must_use]
    pub fn panel(&self) -> u64 {
        self.columns.max(LEAST_PANEL).into()
    }

    /// The highest importance.
    #[must_use]
    pub fn top_score(&self) -> i64 {
        (1 << self.score_bits) - 1
    }

    /// Fraction bits of the sums of the softmax of scores: 16, plus the bits of the length of the longest row.
    #[must_use]
    pub fn places(&self) -> u32 {
        let longest = u64::from(self.slots + 1).next_multiple_of(self.score_lanes.into());
        16 + longest.ilog2() + 1
    }
}
