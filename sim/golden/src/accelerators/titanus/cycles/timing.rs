//! The parameters of the cycles.

use crate::accelerators::cycles::{Shell, Unit};

/// The parameters of the cycles, besides the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The path to memory.
    pub shell: Shell,
    /// Inputs of a beat of the store.
    pub load: u64,
    /// Sums of a beat.
    pub drain: u64,
    /// Computing engines: results of a product with the context that are computed at once.
    pub engines: u64,
    /// Cycles of a vector in a macro: the bits of an input.
    pub steps: u64,
    /// Cycles from a sum to its result.
    pub results: u64,
    /// Cycles from a probability to its byte.
    pub probabilities: u64,
    /// The vector unit.
    pub unit: Unit,
}
