//! The parameters of the accelerator.

use crate::common::float::Function;
use crate::common::row::vector_unit;

/// The parameters of the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Elements of a beat.
    pub lanes: u32,
    /// Beats of the longest row.
    pub max_beats: u32,
    /// The activation.
    pub function: Function,
    /// Bits of an address on the bus.
    pub address_width: u32,
    /// Bits of the steps that the accelerator supports. With all units they are [`STEP_BITS`](super::STEP_BITS), otherwise
    /// [`Units::steps`](super::Units::steps).
    pub steps: u32,
}

impl Shape {
    /// Bits of a beat of the bus.
    #[must_use]
    pub fn data_width(&self) -> u32 {
        16 * self.lanes
    }

    /// The parameters for the model of the vector unit.
    #[must_use]
    pub fn unit(&self) -> vector_unit::Shape {
        vector_unit::Shape { lanes: self.lanes, max_beats: self.max_beats, function: self.function }
    }
}
