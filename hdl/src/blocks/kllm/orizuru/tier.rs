//! The nets between two tiers of units.

use crate::blocks::kllm::winner::Winner;
use crate::lang::{Array, Index, Module, Signal};

/// The nets between one tier and the next.
pub(super) struct Tier {
    pub(super) sides: [TierSide; 2],
    /// Per unit.
    pub(super) init_done: Array,
    /// Per input of the tier above: as its unit, or as the last unit where there is none.
    pub(super) initialised: Array,
}

pub(super) struct TierSide {
    pub(super) name: &'static str,
    pub(super) pop: Array,
    pub(super) done: Array,
    pub(super) key: Array,
    pub(super) available: Array,
    pub(super) index: Array,
}

impl Tier {
    /// Connects a unit's winners.
    pub(super) fn connect(&self, m: &mut Module, unit: Index, max: &Winner, min: &Winner, init_done: Signal) {
        for (side, port) in self.sides.iter().zip([max, min]) {
            m.connect(port.pop, side.pop.at(unit));
            m.connect(side.done.at(unit), port.done);
            m.connect(side.key.at(unit), port.key);
            m.connect(side.available.at(unit), port.available);
            m.connect(side.index.at(unit), port.index);
        }
        m.connect(self.init_done.at(unit), init_done);
    }
}
