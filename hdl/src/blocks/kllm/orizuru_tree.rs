//! One tournament tree of Orizuru: the winner among the available leaves, and the path to it.
//!
//! A node picks the better of its two children: the larger key in a max tree, the smaller in a min tree. On a tie it
//! picks the lower leaf, and if only one child is available, that one. A node without available leaves below is
//! unavailable: that is how the infinity of a popped leaf travels up without being stored. Two ways to keep the result
//! of a node:
//!
//! - [`NodeState::Pointer`] (the paper): one bit a node; the winners are read again through the multiplexers.
//! - [`NodeState::Value`]: the winner itself, registered once in `levels_per_cycle` levels; shorter paths, fewer
//!   multiplexers, more flip-flops.

use super::winner::Winner;
use crate::lang::{
    In, InArray, InArrayOption, Module, Out, OutOption, Rules, bit, bits_for, choices, parameters, ports, power_of_two,
    uint,
};

mod control;
mod hardware;

choices! {
    /// Which end a tree finds.
    pub enum Side {
        /// The largest key.
        Max,
        /// The smallest key.
        Min,
    }
}

impl Side {
    /// `max` or `min`, as in port names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Side::Max => "max",
            Side::Min => "min",
        }
    }
}

choices! {
    /// How many comparators a tree has.
    pub enum Comparators {
        /// One per node: a level initialises in one cycle.
        Parallel,
        /// One per level, shared by its nodes in turn.
        Shared,
    }
}

choices! {
    /// What a node remembers.
    pub enum NodeState {
        /// One bit that points to the winning child.
        Pointer,
        /// The winner's key, index and availability.
        Value,
    }
}

parameters! {
    /// How tournament trees are built: the same for all trees of an Orizuru.
    pub struct TreeStyle {
        /// One comparator a node, or one a level used by its nodes in turn.
        comparators: Comparators = Comparators::Parallel;
        /// Tree levels settled in one cycle.
        levels_per_cycle: u32 = 4, in 1..=12, note "at most log2 radix; 1 unless parallel and value", tag "l";
        /// What a node remembers: one bit (the paper), or its winner.
        node_state: NodeState = NodeState::Value;
        /// Adds outputs that count comparisons, for measurements.
        count_comparisons: bool = false;
    }
    rules = |p, rules| {
        let cut = p.levels_per_cycle == 1 || (p.comparators, p.node_state) == (Comparators::Parallel, NodeState::Value);
        let allowed = "1, unless comparators = parallel and node_state = value";
        rules.demand(cut, "levels_per_cycle", p.levels_per_cycle, allowed);
    };
}

impl TreeStyle {
    /// Demands that trees of `radix` leaves have as many levels as are settled in a cycle.
    pub(super) fn fits(&self, radix: u32, rules: &mut Rules) {
        let levels = radix.ilog2();
        let allowed = format!("1 to log2 radix = {levels}");
        rules.demand(self.levels_per_cycle <= levels, "tree.levels_per_cycle", self.levels_per_cycle, allowed);
    }

    /// The same for a tree of `radix` leaves, which may have fewer levels.
    pub(super) fn of_radix(&self, radix: u32) -> Self {
        Self { levels_per_cycle: self.levels_per_cycle.min(radix.ilog2()), ..self.clone() }
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct OrizuruTree {
        /// Largest or smallest.
        side: Side = Side::Max, tag "";
        /// Leaves.
        radix: u32 = 16, in power_of_two(2..=4096), tag "r";
        /// Width of a key in bits.
        key_width: u32 = 16, in 1..=64, tag "w";
        /// Width in bits of the index that each leaf brings along; 0 for none.
        index_width: u32 = 0, in 0..=32, tag "i";
        /// `right_wins_i` tells the comparisons of the leaf pairs, which the max and the min tree share.
        pairs_given: bool = false, tag "given";
        /// How the tree is built.
        tree: TreeStyle = TreeStyle::default();
    }
    rules = |p, rules| p.tree.fits(p.radix, rules);
}

ports! {
    /// Ports of [`OrizuruTree`].
    pub struct OrizuruTreePorts(p: &OrizuruTree) {
        /// Keys of the leaves.
        key_i: InArray = uint(p.key_width).array(p.radix),
        /// Leaves that may win.
        available_i: InArray = bit().array(p.radix),
        /// What a leaf brings along as the low part of its index.
        index_i: InArrayOption = (p.index_width > 0).then(|| uint(p.index_width).array(p.radix)),
        /// Per leaf pair: the right leaf beats the left one.
        right_wins_i: InArrayOption = p.pairs_given.then(|| bit().array(p.radix / 2)),
        /// Drops the decisions in progress at this edge: no done follows for them.
        clear_i: In = bit(),
        /// Decide every node anew, from the leaves up.
        init_i: In = bit(),
        /// Decide the nodes on the winner's path anew; not while nodes are being decided.
        update_i: In = bit(),
        /// For a cycle: the winner is right after `init_i`, from this cycle on.
        init_done_o: Out = bit(),
        /// For a cycle: the winner is right again after `update_i`, from this cycle on.
        update_done_o: Out = bit(),
        /// Key of the winner, from a done up to the next `init_i` or `update_i`.
        key_o: Out = uint(p.key_width),
        /// Some leaf is available, when the key is right.
        available_o: Out = bit(),
        /// Index of the winner, when the key is right: its path from the root, then what its leaf brought along.
        index_o: Out = uint(p.index_width + p.levels()),
        /// Comparisons made in this cycle.
        compared_o: OutOption = uint(bits_for(u64::from(p.radix))).when(p.tree.count_comparisons),
    }
}

impl OrizuruTreePorts {
    /// Shows the tree's winner at a unit's port.
    pub(super) fn connect_winner(&self, m: &mut Module, port: &Winner) {
        m.connect(port.done, self.update_done_o);
        m.connect(port.key, self.key_o);
        m.connect(port.available, self.available_o);
        m.connect(port.index, self.index_o);
    }
}

impl OrizuruTree {
    /// Levels of nodes: log2 of the radix.
    #[must_use]
    pub fn levels(&self) -> u32 {
        self.radix.ilog2()
    }

    /// Cycles from `update_i` to `update_done_o`.
    #[must_use]
    pub fn update_cycles(&self) -> u32 {
        self.levels().div_ceil(self.tree.levels_per_cycle)
    }

    /// Cycles from `init_i` to `init_done_o`.
    #[must_use]
    pub fn init_cycles(&self) -> u32 {
        match (self.tree.comparators, self.pairs_given) {
            (Comparators::Parallel, _) => self.update_cycles(),
            (Comparators::Shared, false) => self.radix - 1,
            // The given level takes one cycle, the others one a node.
            (Comparators::Shared, true) => 1 + (self.radix / 2 - 1),
        }
    }
}
