//! Orizuru unit: two tournament trees over the same leaves, one finds the largest, the other the smallest.
//!
//! The leaves' keys are stored once; each tree has its own availability bit per leaf, so that a leaf popped from one
//! tree stays in the other. The leaf pairs are compared once for both trees. The paper takes the max tree's result
//! inverted for the min tree. With equal keys that would hand the higher index to the min tree. So the comparison here
//! tells "right greater" from "right smaller": a tie goes to the lower index.

use super::orizuru_tree::{Comparators, NodeState, OrizuruTree, Side, TreeStyle};
use super::winner::{OutWinner, Winner, WinnerType};
use crate::blocks::common::arith::popcount;
use crate::lang::{
    About, Array, Block, CatalogBlock, In, InArray, Module, Out, OutArray, OutOption, Signal, Timing, bit, bits_for,
    cat, index_width, mux, parameters, ports, power_of_two, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct OrizuruUnit {
        /// Leaves.
        radix: u32 = 16, in power_of_two(2..=4096), tag "r";
        /// Leaves written at a time.
        lanes: u32 = 16, in power_of_two(1..=4096), note "at most radix", tag "p";
        /// Width of a key in bits.
        key_width: u32 = 16, in 1..=64, tag "w";
        /// How its two trees are built.
        tree: TreeStyle = TreeStyle::default();
    }
    rules = |p, rules| {
        rules.demand(p.lanes <= p.radix, "lanes", p.lanes, format!("1 to radix = {}", p.radix));
        p.tree.fits(p.radix, rules);
    };
}

ports! {
    /// Ports of [`OrizuruUnit`].
    pub struct OrizuruUnitPorts(p: &OrizuruUnit) {
        /// Takes all leaves out of both trees at this edge, except the leaves being written. Drops the decisions in
        /// progress: no done follows for them. May come at any time.
        clear_i: In = bit(),
        /// Per group of `lanes` leaves: write it at this edge, all at once or in any order. Not between `start_i` and
        /// the last pop.
        load_i: InArray = bit().array(p.radix / p.lanes),
        /// Keys to write: of one group, the same for all that are written.
        key_i: InArray = uint(p.key_width).array(p.lanes),
        /// The leaf takes part in both trees; padding and ignored values do not.
        present_i: InArray = bit().array(p.lanes),
        /// For a cycle, with the last write or later: initialise both trees with the leaves written so far. A start
        /// while the trees are deciding begins anew.
        start_i: In = bit(),
        /// For a cycle: both trees are initialised, from this cycle on.
        init_done_o: Out = bit(),
        /// The largest available leaf.
        max: OutWinner = p.winner(),
        /// The smallest available leaf.
        min: OutWinner = p.winner(),
        /// Per leaf: popped from either tree since it was written, or cleared.
        outlier_o: OutArray = bit().array(p.radix),
        /// Comparisons made in this cycle.
        compared_o: OutOption = uint(bits_for(4 * u64::from(p.radix))).when(p.tree.count_comparisons),
    }
}

impl OrizuruUnit {
    /// What the unit delivers on each side.
    #[must_use]
    pub fn winner(&self) -> WinnerType {
        WinnerType { key_width: self.key_width, index_width: self.radix.ilog2() }
    }

    /// One of the two trees.
    pub(super) fn of_side(&self, side: Side) -> OrizuruTree {
        OrizuruTree {
            side,
            radix: self.radix,
            key_width: self.key_width,
            index_width: 0,
            pairs_given: true,
            tree: self.tree.clone(),
        }
    }

    /// Cycles from `start_i` to `init_done_o`.
    #[must_use]
    pub fn init_cycles(&self) -> u32 {
        let pairs = if self.tree.comparators == Comparators::Shared { self.radix / 2 + 1 } else { 0 };
        1 + pairs + self.of_side(Side::Max).init_cycles()
    }

    /// Cycles from a pop to its done.
    #[must_use]
    pub fn pop_cycles(&self) -> u32 {
        1 + self.of_side(Side::Max).update_cycles()
    }
}

impl Block for OrizuruUnit {
    type Ports = OrizuruUnitPorts;
    const ABOUT: About = About {
        name: "orizuru_unit",
        summary: "largest and smallest of a few leaves, popped one by one from two tournament trees",
        contract: "Write the leaves, pulse start_i, wait for init_done_o; then max_* and min_* show the best\n\
            available leaf. A pop takes the shown leaf out of its tree; wait for its done before the next pop of\n\
            that tree. Ties go to the lower index. Keys are unsigned. A pop too early, or of an empty tree, or a\n\
            write too late makes the outputs meaningless up to the next start. clear_i, start_i and reset are right\n\
            at any time: they drop the trees' decisions in progress. After clear_i, writes and start_i all is as\n\
            after reset.",
        reference: "KLLM, section IV-C and figure 7",
    };

    fn build(&self, m: &mut Module, io: &OrizuruUnitPorts) {
        let key = m.nets("key", uint(self.key_width), self.radix);
        let sides = [Side::Max, Side::Min].map(|side| SideLeaves {
            name: side.name(),
            port: if side == Side::Max { io.max } else { io.min },
            popped: m.nets(&format!("{}_popped", side.name()), bit(), self.radix),
            available: m.nets(&format!("{}_available", side.name()), bit(), self.radix),
        });
        self.leaves(m, io, key, &sides);
        let drop = m.wire("drop", io.clear_i | io.start_i);
        let start = m.reg_init("start_q", bit(), 0);
        start.next(io.start_i);
        let pairs = self.leaf_pairs(m, start.q, drop, key, sides[0].available);
        let [max, min] =
            [(Side::Max, pairs.right_greater), (Side::Min, pairs.right_smaller)].map(|(side, right_wins)| {
                let leaves = &sides[side as usize];
                let pop = m.reg_init(&format!("{}_pop_q", leaves.name), bit(), 0);
                pop.next(leaves.port.pop & !drop);
                let tree = m.instance(&format!("u_{}_tree", leaves.name), self.of_side(side));
                m.connect_each(&format!("{}_keys", leaves.name), tree.key_i, key);
                m.connect_each(&format!("{}_leaves", leaves.name), tree.available_i, leaves.available);
                if let Some(given) = tree.right_wins_i {
                    m.connect_each(&format!("{}_pairs", leaves.name), given, right_wins);
                }
                m.connect(tree.clear_i, drop);
                m.connect(tree.init_i, pairs.done);
                m.connect(tree.update_i, pop.q);
                tree.connect_winner(m, &leaves.port);
                tree
            });
        m.connect(io.init_done_o, max.init_done_o);
        if let (Some(count), Some(max), Some(min)) = (io.compared_o, max.compared_o, min.compared_o) {
            let pairs = pairs.compared.unwrap_or_else(|| bit().lit(0));
            m.connect(count, (pairs + max + min).extend(count.width()));
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().phase("init", self.init_cycles(), "from start_i to init_done_o").phase(
            "pop",
            self.pop_cycles(),
            "from a pop to its done, and the next pop of the side",
        )
    }
}

/// The leaves of one side.
struct SideLeaves {
    name: &'static str,
    port: Winner,
    popped: Array,
    available: Array,
}

/// The comparisons of the leaf pairs.
struct LeafPairResults {
    right_greater: Array,
    right_smaller: Array,
    /// The results are there.
    done: Signal,
    /// Comparisons made in this cycle, when counted.
    compared: Option<Signal>,
}

impl OrizuruUnit {
    fn leaves(&self, m: &mut Module, io: &OrizuruUnitPorts, key: Array, sides: &[SideLeaves; 2]) {
        let index_type = uint(self.radix.ilog2());
        m.for_each("groups", self.radix / self.lanes, |m, g| {
            m.for_each("leaves", self.lanes, |m, lane| {
                let leaf = g * self.lanes + lane;
                let load = m.wire("load", io.load_i.at(g));
                let value = m.reg("key_q", key.at(leaf).ty());
                value.next_when(load, io.key_i.at(lane));
                m.connect(key.at(leaf), value.q);
                for side in sides {
                    let popped = side.port.pop & side.port.index.eq(leaf.value(index_type.width));
                    m.connect(side.popped.at(leaf), popped);
                    let available = m.reg_init(&format!("{}_available_q", side.name), bit(), 0);
                    let stays = available.q & !io.clear_i & !side.popped.at(leaf);
                    available.next(mux(load, io.present_i.at(lane), stays));
                    m.connect(side.available.at(leaf), available.q);
                }
                let outlier = m.reg_init("outlier_q", bit(), 0);
                let popped = sides[0].popped.at(leaf) | sides[1].popped.at(leaf);
                outlier.next((outlier.q | popped) & !load & !io.clear_i);
                m.connect(io.outlier_o.at(leaf), outlier.q);
            });
        });
    }

    fn leaf_pairs(&self, m: &mut Module, start: Signal, drop: Signal, key: Array, available: Array) -> LeafPairResults {
        let pairs = self.radix / 2;
        let right_greater = m.nets("right_greater", bit(), pairs);
        let right_smaller = m.nets("right_smaller", bit(), pairs);
        let both = self.tree.count_comparisons.then(|| {
            let both = m.nets("pair_available", bit(), pairs);
            m.for_each("pair_available", pairs, |m, i| {
                m.connect(both.at(i), available.at(i * 2) & available.at(i * 2 + 1));
            });
            both
        });
        m.comment("One comparison a leaf pair serves both trees.");
        if self.tree.comparators == Comparators::Parallel {
            m.for_each("pairs", pairs, |m, i| {
                let (left, right) = (key.at(i * 2), key.at(i * 2 + 1));
                m.connect(right_greater.at(i), left.lt(right));
                m.connect(right_smaller.at(i), right.lt(left));
            });
            let compared = both.map(|both| {
                let count = popcount::ones(m, "pairs_available", &both.elements());
                mux(start, count, count.ty().lit(0))
            });
            return LeafPairResults { right_greater, right_smaller, done: start, compared };
        }
        let turn = m.reg_init("pair_q", uint(index_width(u64::from(pairs))), 0);
        let active = m.reg_init("pairs_active_q", bit(), 0);
        let end = m.wire("pairs_end", active.q & turn.q.eq(pairs - 1));
        active.next((start | (active.q & !end)) & !drop);
        turn.next(mux(active.q & !end, turn.q.wrapping_add(1), turn.q.ty().lit(0)));
        let mut pick = |name: &str, right: u32| {
            let leaf = if pairs == 1 { key.at(right) } else { key.at(cat(&[turn.q, bit().lit(right)])) };
            m.wire(name, leaf)
        };
        let (left, right) = (pick("left_key", 0), pick("right_key", 1));
        let greater = m.wire("pair_right_greater", left.lt(right));
        let smaller = m.wire("pair_right_smaller", right.lt(left));
        m.for_each("pairs", pairs, |m, i| {
            let mine = m.wire("pair_selected", active.q & turn.q.eq(i.value(turn.q.width())));
            let (g, s) = (m.reg("right_greater_q", bit()), m.reg("right_smaller_q", bit()));
            g.next_when(mine, greater);
            s.next_when(mine, smaller);
            m.connect(right_greater.at(i), g.q);
            m.connect(right_smaller.at(i), s.q);
        });
        let done = m.reg_init("pairs_done_q", bit(), 0);
        done.next(end & !drop);
        let compared = both.map(|both| if pairs == 1 { both.at(0) } else { both.at(turn.q) } & active.q);
        LeafPairResults { right_greater, right_smaller, done: done.q, compared }
    }
}

impl CatalogBlock for OrizuruUnit {
    fn configurations() -> Vec<Self> {
        let base = Self::default();
        let fast = |levels_per_cycle| TreeStyle { levels_per_cycle, ..TreeStyle::default() };
        let mut list = vec![
            Self { radix: 2, lanes: 1, key_width: 1, tree: fast(1) },
            Self { radix: 8, lanes: 4, key_width: 11, tree: fast(2) },
            Self { tree: TreeStyle { count_comparisons: true, ..fast(4) }, ..base.clone() },
            Self { radix: 64, tree: fast(6), ..base.clone() },
        ];
        for (comparators, node_state) in [
            (Comparators::Parallel, NodeState::Pointer),
            (Comparators::Shared, NodeState::Pointer),
            (Comparators::Shared, NodeState::Value),
        ] {
            let tree = TreeStyle { comparators, node_state, levels_per_cycle: 1, count_comparisons: true };
            let set = Self { tree, ..base.clone() };
            list.push(Self { radix: 2, lanes: 2, key_width: 3, ..set.clone() });
            list.push(Self { radix: 4, lanes: 2, key_width: 5, ..set.clone() });
            list.push(set);
        }
        list
    }
}
