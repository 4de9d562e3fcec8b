//! The cycles of an Orizuru that nothing stalls, as its contract promises them.
//!
//! The tree has tiers of units. Leaf units have `radix` values each, and further units have the winners of the units
//! below, up to a single unit. No unit has more inputs than there are values or winners, rounded up to a power of two.
//! In a unit, winners climb `levels_per_cycle` levels a cycle, both after the loading and after a pop. Shared
//! comparators settle one node a cycle when a unit is loaded. A pop takes one node a level, so it is no slower.

/// The parameters that affect cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Values of a vector.
    pub n: u64,
    /// Values that enter in a beat.
    pub lanes: u64,
    /// Most inputs of a unit, a power of two.
    pub radix: u64,
    /// Levels of a unit's tree that settle in a cycle.
    pub levels_per_cycle: u64,
    /// One comparator a level, which takes its nodes in turn.
    pub shared: bool,
}

impl Timing {
    /// Inputs of the units of each tier, leaf units first.
    fn tiers(&self) -> Vec<u64> {
        let mut tiers = vec![self.radix.min(self.n.next_power_of_two()).max(2)];
        let mut units = self.n.div_ceil(tiers[0]);
        while units > 1 {
            let inputs = self.radix.min(units.next_power_of_two());
            units = units.div_ceil(inputs);
            tiers.push(inputs);
        }
        tiers
    }

    /// Cycles in which a change climbs through a unit.
    fn climb(&self, inputs: u64) -> u64 {
        u64::from(inputs.ilog2()).div_ceil(self.levels_per_cycle)
    }

    /// Beats of a vector.
    #[must_use]
    pub fn load(&self) -> u64 {
        self.n.div_ceil(self.lanes)
    }

    /// Cycles of a leaf unit of `radix` inputs from the start, which comes with its last beat, to its first winners.
    #[must_use]
    pub fn unit_start(&self, inputs: u64) -> u64 {
        if self.shared {
            // The start; each pair of leaves, for both trees; one more cycle for the last result. Then, in both trees
            // at once, the level of the pairs and each node above it.
            1 + inputs / 2 + 1 + 1 + (inputs / 2 - 1)
        } else {
            1 + self.climb(inputs)
        }
    }

    /// Cycles of a leaf unit from a pop to the next winner of the same side.
    #[must_use]
    pub fn unit_pop(&self, inputs: u64) -> u64 {
        1 + self.climb(inputs)
    }

    /// Cycles from the last beat to the first pop.
    #[must_use]
    pub fn first_pop(&self) -> u64 {
        let tiers = self.tiers();
        let above = |&inputs: &u64| if self.shared { inputs - 1 } else { self.climb(inputs) };
        // One more until pops are served.
        self.unit_start(tiers[0]) + tiers[1..].iter().map(above).sum::<u64>() + 1
    }

    /// Cycles from a pop to the next pop of the same side.
    #[must_use]
    pub fn next_pop(&self) -> u64 {
        let tiers = self.tiers();
        self.unit_pop(tiers[0]) + tiers[1..].iter().map(|&inputs| self.climb(inputs)).sum::<u64>()
    }

    /// Cycles from the edge that takes the first beat to the edge that raises `done_o`. `pops` are the pops of the side
    /// that has more.
    #[must_use]
    pub fn vector(&self, pops: u64) -> u64 {
        self.load() - 1 + self.first_pop() + pops * self.next_pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAPER: Timing = Timing { n: 4096, lanes: 16, radix: 16, levels_per_cycle: 4, shared: false };

    fn phases(t: Timing) -> [u64; 3] {
        [t.load(), t.first_pop(), t.next_pop()]
    }

    #[test]
    fn worked_by_hand() {
        // 256 leaf units, 16 above them and one on top, each of them a cycle.
        assert_eq!(PAPER.tiers(), [16, 16, 16]);
        assert_eq!(phases(PAPER), [256, 5, 4]);
        assert_eq!(PAPER.vector(20), 255 + 5 + 80);
        // A level a cycle: log2 N + 1 to the next pop.
        assert_eq!(phases(Timing { levels_per_cycle: 1, ..PAPER }), [256, 2 + 12, 1 + 12]);
        assert_eq!(phases(Timing { levels_per_cycle: 3, ..PAPER }), [256, 2 + 6, 1 + 6]);
        // The real model: 96 leaf units, 6 above, and one of 8 inputs on top.
        let real = Timing { n: 1536, ..PAPER };
        assert_eq!((real.tiers(), phases(real)), (vec![16, 16, 8], [96, 5, 4]));
        // The drawing in the documents.
        let drawn = Timing { n: 8, lanes: 2, radix: 4, levels_per_cycle: 1, shared: false };
        assert_eq!((drawn.tiers(), phases(drawn)), (vec![4, 2], [4, 5, 4]));
        // Three of five leaves are padding; one unit, and one value.
        assert_eq!((Timing { n: 5, lanes: 2, ..PAPER }).tiers(), [8]);
        assert_eq!(phases(Timing { n: 1, lanes: 1, ..PAPER }), [1, 3, 2]);
    }

    #[test]
    fn shared_comparators_take_a_cycle_a_node() {
        let shared = Timing { shared: true, levels_per_cycle: 1, ..PAPER };
        // A unit of four: start, two pairs, one more, the level of the pairs, the root.
        assert_eq!(shared.unit_start(4), 1 + 2 + 1 + 1 + 1);
        assert_eq!(shared.unit_start(16), 18);
        // Two tiers of 15 nodes each above.
        assert_eq!(phases(shared), [256, 18 + 15 + 15 + 1, 13]);
    }
}
