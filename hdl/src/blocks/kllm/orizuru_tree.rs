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
use crate::blocks::common::arith::popcount;
use crate::lang::{
    About, Array, Block, In, InArray, InArrayOption, Index, Module, Out, OutOption, Reg, Rules, Signal, Timing, bit,
    bits_for, cat, choices, mux, parameters, ports, power_of_two, reduce, uint,
};

mod control;

use control::{Control, Step};

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

impl Block for OrizuruTree {
    type Ports = OrizuruTreePorts;
    const ABOUT: About = About {
        name: "orizuru_tree",
        summary: "tournament tree: the largest or smallest available leaf",
        contract: "After init_done_o (update_done_o), key_o and index_o show the best available leaf, the lowest on\n\
            a tie. Leaves may change between a done and the next init_i, or update_i when only the winner became\n\
            unavailable. clear_i or reset drops the decisions in progress at any time; the next init_i makes all\n\
            right.",
        reference: "KLLM, section IV-C",
    };

    fn build(&self, m: &mut Module, io: &OrizuruTreePorts) {
        let mut below = Level { key: io.key_i, available: io.available_i, index: io.index_i, count: self.radix };
        let control = Control::new(self, m, io);
        let path = self.needs_path().then(|| m.net("path", uint(self.levels())));
        let mut compared = Vec::new();
        for level in 1..=self.levels() {
            let step = control.step(m, level, path);
            let above = self.level(m, io, level, below, &step, &mut compared);
            below = above;
        }
        let index = below.index.map_or_else(|| bit().lit(0), |i| i.at(0));
        m.connect(io.key_o, below.key.at(0));
        m.connect(io.available_o, below.available.at(0));
        m.connect(io.index_o, index);
        if let Some(path) = path {
            m.connect(path, index.slice(self.index_width..self.index_width + self.levels()));
        }
        m.connect(io.init_done_o, control.init_done);
        m.connect(io.update_done_o, control.update_done);
        if let Some(count) = io.compared_o {
            let total = reduce(&compared, |a, b| a + b).unwrap_or_else(|| bit().lit(0));
            let width = count.width();
            m.connect(count, if total.width() > width { total.truncate(width) } else { total.extend(width) });
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().phase("init", self.init_cycles(), "from init_i to init_done_o").phase(
            "update",
            self.update_cycles(),
            "from update_i to update_done_o",
        )
    }
}

/// The current winners of one level.
#[derive(Clone, Copy)]
struct Level {
    key: Array,
    available: Array,
    index: Option<Array>,
    count: u32,
}

/// One winner.
struct Candidate {
    key: Signal,
    available: Signal,
    index: Option<Signal>,
}

impl Level {
    fn at(&self, place: Index) -> Candidate {
        Candidate {
            key: self.key.at(place),
            available: self.available.at(place),
            index: self.index.map(|array| array.at(place)),
        }
    }
}

impl OrizuruTree {
    /// Whether some level has to know which of its nodes is on the winner's path.
    fn needs_path(&self) -> bool {
        let decided_by_mask = u32::from(self.pairs_given);
        (self.shared() || self.tree.count_comparisons) && self.levels() > 1 + decided_by_mask
    }

    fn shared(&self) -> bool {
        self.tree.comparators == Comparators::Shared
    }

    fn beats(&self, right: Signal, left: Signal) -> Signal {
        if self.side == Side::Max { left.lt(right) } else { right.lt(left) }
    }

    /// Describes the nodes of `level` over the winners `below`.
    fn level(
        &self,
        m: &mut Module,
        io: &OrizuruTreePorts,
        level: u32,
        below: Level,
        step: &Step,
        compared: &mut Vec<Signal>,
    ) -> Level {
        let count = below.count / 2;
        let name = |what: &str| format!("{what}_l{level}");
        let index_type = uint(self.index_width + level);
        let above = Level {
            key: m.nets(&name("key"), uint(self.key_width), count),
            available: m.nets(&name("available"), bit(), count),
            index: Some(m.nets(&name("index"), index_type, count)),
            count,
        };
        let given = io.right_wins_i.filter(|_| level == 1);
        let shared_verdict = (self.shared() && given.is_none()).then(|| self.shared_comparison(m, level, below, step));
        let counted = self.tree.count_comparisons && given.is_none();
        let hits = (counted && !self.shared()).then(|| m.nets(&name("compared"), bit(), count));
        m.for_each(&name("nodes"), count, |m, i| {
            let (left, right) = (below.at(i * 2), below.at(i * 2 + 1));
            let wins = match (given, shared_verdict) {
                (Some(given), _) => given.at(i),
                (None, Some(verdict)) => verdict,
                (None, None) => m.wire(&name("right_wins"), self.beats(right.key, left.key)),
            };
            let choose = m.wire(&name("choose_right"), right.available & (wins | !left.available));
            let this = step.node.filter(|_| self.shared() && given.is_none());
            let enable = this.map_or(step.enable, |node| step.enable & node.eq(i.value(node.width())));
            self.node(m, level, i, &above, choose, (left.available, right.available), &left, &right, enable, step.keep);
            if let Some(hits) = hits {
                let here = match step.node {
                    Some(node) => step.all | node.eq(i.value(node.width())),
                    None => bit().lit(1),
                };
                m.connect(hits.at(i), step.enable & here & left.available & right.available);
            }
        });
        if let Some(hits) = hits {
            compared.push(popcount::ones(m, &name("compared_count"), &hits.elements()));
        } else if counted {
            let array = below.available;
            let both = match step.node.filter(|_| count > 1) {
                Some(node) => array.at(child(node, 0)) & array.at(child(node, 1)),
                None => array.at(0) & array.at(1),
            };
            compared.push(m.wire(&name("compared_count"), step.enable & both));
        }
        above
    }

    /// One node: its decision kept as a pointer or as the winner itself, or passed on within the cycle.
    #[expect(clippy::too_many_arguments, reason = "one call; the parts of a node have no other grouping")]
    fn node(
        &self,
        m: &mut Module,
        level: u32,
        i: Index,
        above: &Level,
        choose: Signal,
        available: (Signal, Signal),
        left: &Candidate,
        right: &Candidate,
        enable: Signal,
        keep: bool,
    ) {
        let name = |what: &str| format!("{what}_l{level}_q");
        let pointer = (keep && self.tree.node_state == NodeState::Pointer).then(|| {
            let pointer: Reg = m.reg(&name("pointer"), bit());
            pointer.next_when(enable, choose);
            pointer.q
        });
        let select = pointer.unwrap_or(choose);
        let key = mux(select, right.key, left.key);
        let below_index = match (left.index, right.index) {
            (Some(l), Some(r)) => Some(mux(select, r, l)),
            _ => None,
        };
        let index = below_index.map_or(select, |below| cat(&[select, below]));
        let any = available.0 | available.1;
        let (key, index, any) = if keep && pointer.is_none() {
            let (k, x) = (m.reg(&name("key"), key.ty()), m.reg(&name("index"), index.ty()));
            let a = m.reg_init(&name("available"), bit(), 0);
            k.next_when(enable, key);
            x.next_when(enable, index);
            a.next_when(enable, any);
            (k.q, x.q, a.q)
        } else {
            (key, index, any)
        };
        m.connect(above.key.at(i), key);
        m.connect(above.available.at(i), any);
        if let Some(array) = above.index {
            m.connect(array.at(i), index);
        }
    }

    /// The one comparator of a level, on the pair of the node whose turn it is.
    fn shared_comparison(&self, m: &mut Module, level: u32, below: Level, step: &Step) -> Signal {
        let name = |what: &str| format!("{what}_l{level}");
        let (left, right) = match step.node.filter(|_| below.count > 2) {
            Some(node) => (
                m.wire(&name("left_key"), below.key.at(child(node, 0))),
                m.wire(&name("right_key"), below.key.at(child(node, 1))),
            ),
            None => (below.key.at(0), below.key.at(1)),
        };
        m.wire(&name("right_wins"), self.beats(right, left))
    }
}

/// The number of a node's left or right child.
fn child(node: Signal, right: u32) -> Signal {
    cat(&[node, bit().lit(right)])
}
