//! The levels of a tree and their nodes.

use super::control::{Control, Step};
use super::{Comparators, NodeState, OrizuruTree, OrizuruTreePorts, Side};
use crate::blocks::common::arith::popcount;
use crate::lang::{About, Array, Block, Index, Module, Reg, Signal, Timing, bit, cat, mux, reduce, uint};

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

    pub(super) fn shared(&self) -> bool {
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
