//! The parameters of the accelerator.

use super::super::vector;
use super::layout::{Layout, OPERAND_WIDTH};

/// The parameters of the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows of PEs: a power of two, 4 to 64.
    pub rows: u32,
    /// Columns of PEs: a power of two, 4 to 64.
    pub columns: u32,
    /// Whether four PEs can work as one PE of twice the width.
    pub int8: bool,
    /// Bits of a PE's sum, 2 to 64.
    pub accumulator_width: u32,
    /// Channels of a panel.
    pub depth: u32,
    /// Entries of a table.
    pub steps: u32,
    /// Whether explicit requantization is built in.
    pub explicit: bool,
    /// DMAs that read panels of columns, 1 or 2.
    pub weight_readers: u32,
    /// Columns that a packing takes in a cycle, where engines work at the same time.
    pub pack_columns: u32,
    /// Its vector unit, and the bus.
    pub vector: vector::Shape,
}

impl Shape {
    /// The layout of panels in a mode.
    #[must_use]
    pub fn layout(&self, int8: bool) -> Layout {
        let share = if int8 { 2 } else { 1 };
        Layout { bits: OPERAND_WIDTH * share, rows: (self.rows / share).into(), columns: (self.columns / share).into() }
    }

    /// Channels that each of the DMAs reads of panels of columns. The second half begins at a multiple of 64 bytes.
    pub(super) fn halves(&self, channels: u64, word_bytes: u64) -> [u64; 2] {
        let unit = (64 / word_bytes).max(1);
        let half = channels.div_ceil(2).next_multiple_of(unit).min(channels);
        let first = if self.weight_readers == 1 { channels } else { half };
        [first, channels - first]
    }

    /// Bits of a sum as it leaves the array: with INT8, wide enough for any four accumulators.
    pub(super) fn sum_width(&self) -> u32 {
        if self.int8 { self.accumulator_width + 2 * OPERAND_WIDTH + 1 } else { self.accumulator_width }
    }
}
