//! The parameters of the cycles.

use crate::accelerators::cycles::{Shell, Unit};

use super::lanes::Lane;

/// The finder of outliers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finder {
    /// From the last beat of a segment to the first pop.
    pub first_pop: u64,
    /// From a pop to the next pop of its side, 2 at least.
    pub next_pop: u64,
}

/// The parameters of the cycles, besides the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The path to memory.
    pub shell: Shell,
    /// Sums that leave the lanes in a cycle.
    pub outputs: u64,
    /// A lane.
    pub lane: Lane,
    /// Cycles of a sum in the scaling arithmetic, and of a result in the adder.
    pub scaling: u64,
    /// See `scaling`.
    pub adding: u64,
    /// The vector unit.
    pub unit: Unit,
    /// The finder of outliers, if the accelerator makes tokens.
    pub finder: Option<Finder>,
}
