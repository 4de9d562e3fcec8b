//! The parameters of the cycles.

use crate::accelerators::cycles::{Frame, Shell, Unit};

use super::steps::Array;

/// The parameters of the cycles, besides the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The path to memory.
    pub shell: Shell,
    /// The array.
    pub array: Array,
    /// Rows of weights that wait for the array.
    pub weights: i64,
    /// Cycles from a number to its integer.
    pub integer: u64,
    /// Cycles from a sum to its fp16 number.
    pub sum: u64,
    /// The softmax of scores.
    pub softmax: Frame,
    /// The vector unit.
    pub unit: Unit,
}

impl Timing {
    /// From when on an operation has the array, where that is known from the beginning.
    pub(super) fn given(&self) -> Option<u64> {
        (!self.shell.overlaps()).then_some(0)
    }
}
