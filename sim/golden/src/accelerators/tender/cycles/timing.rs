//! The parameters of the cycles.

use crate::accelerators::cycles::{Shell, Unit};

use super::panels::Array;

/// The parameters of the cycles, besides the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The path to memory.
    pub shell: Shell,
    /// The array.
    pub array: Array,
    /// Whether the sums of parts are added after the output buffer.
    pub explicit: bool,
    /// Cycles of a sum in the arithmetic of results.
    pub result: u64,
    /// Columns of a page of the turn buffer.
    pub strip: u64,
    /// The vector unit.
    pub unit: Unit,
}
