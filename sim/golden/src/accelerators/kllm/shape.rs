//! The parameters of the accelerator.

use super::super::vector;

/// The parameters of the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Lanes.
    pub lanes: u32,
    /// Channels of a lane.
    pub columns: u32,
    /// Groups of lanes. Each group has its own panels in memory; a panel of each group makes a panel of all lanes.
    pub groups: u32,
    /// Positions of a beat; an even number.
    pub inputs: u32,
    /// Bits of a centroid.
    pub centroid_bits: u32,
    /// Words of a bank of weights. Only registers and cycles depend on it.
    pub buffer: u32,
    /// Beats of the longest token.
    pub depth: u32,
    /// Values among which outliers are found at once; 0: the accelerator makes no tokens.
    pub orizuru: u32,
    /// Outliers of a token on each side, at most.
    pub kmax: u32,
    /// Its vector unit, and the bus.
    pub vector: vector::Shape,
}

impl Shape {
    /// Channels of a panel.
    #[must_use]
    pub fn channels(&self) -> u64 {
        u64::from(self.lanes) * u64::from(self.columns)
    }

    /// The shape of one group of lanes. A panel in memory is a panel of one group.
    #[must_use]
    pub fn group(&self) -> Self {
        Self { lanes: self.lanes / self.groups, groups: 1, ..*self }
    }

    /// Positions of the longest token.
    #[must_use]
    pub fn inner(&self) -> u64 {
        u64::from(self.depth) * u64::from(self.inputs)
    }
}
