//! When each level of a tree is decided, and which of its nodes.

use super::{OrizuruTree, OrizuruTreePorts};
use crate::lang::{Module, Signal, bit, index_width, mux, or_all, uint};

/// When, and which nodes of, a level are decided.
pub(super) struct Step {
    /// The level's results are kept at the end of this cycle.
    pub(super) enable: Signal,
    /// Its nodes are all decided (otherwise the nodes on the path count as compared).
    pub(super) all: Signal,
    /// The node decided, with a shared comparator or when counting.
    pub(super) node: Option<Signal>,
    /// Results of this level are kept (last level of its group).
    pub(super) keep: bool,
}

/// Sequencing of the levels.
pub(super) struct Control {
    pub(super) init_done: Signal,
    pub(super) update_done: Signal,
    given: bool,
    steps: Vec<(Signal, Signal)>,
    /// The node that initialises, with shared comparators.
    pub(super) turn: Option<Signal>,
    shared: bool,
    levels: u32,
    levels_per_cycle: u32,
}

impl Control {
    pub(super) fn new(tree: &OrizuruTree, m: &mut Module, io: &OrizuruTreePorts) -> Self {
        let mut control = Self {
            init_done: io.init_i,
            update_done: io.update_i,
            given: tree.pairs_given,
            steps: vec![],
            turn: None,
            shared: tree.shared(),
            levels: tree.levels(),
            levels_per_cycle: tree.tree.levels_per_cycle,
        };
        if tree.shared() {
            control.sequential(tree, m, io)
        } else {
            control.pipelined(tree, m, io)
        }
        control
    }

    /// The level groups work one after the other: a wave of enables.
    fn pipelined(&mut self, tree: &OrizuruTree, m: &mut Module, io: &OrizuruTreePorts) {
        let (mut init, mut update) = (io.init_i, io.update_i);
        for group in 1..=tree.update_cycles() {
            self.steps.push((m.wire(&format!("step_{group}"), init | update), init));
            let (i, u) =
                (m.reg_init(&format!("init_{group}_q"), bit(), 0), m.reg_init(&format!("update_{group}_q"), bit(), 0));
            i.next(init & !io.clear_i);
            u.next(update & !io.clear_i);
            (init, update) = (i.q, u.q);
        }
        (self.init_done, self.update_done) = (init, update);
    }

    /// One node of one level at a time. A level is done after its last node (initialisation) or after the one node on
    /// the path (maintenance).
    fn sequential(&mut self, tree: &OrizuruTree, m: &mut Module, io: &OrizuruTreePorts) {
        let start = m.wire("start", io.init_i | io.update_i);
        let initialising = m.reg_init("initialising_q", bit(), 0);
        initialising.next_when(start, io.init_i);
        let init = m.wire("init", mux(start, io.init_i, initialising.q));
        let width = index_width(u64::from(tree.radix / 2));
        let node = m.reg_init("node_q", uint(width), 0);
        let turn = m.wire("turn", mux(start, uint(width).lit(0), node.q));
        let mut finished = start;
        let mut ends = Vec::new();
        for level in 1..=tree.levels() {
            let nodes = tree.radix >> level;
            let active = m.reg_init(&format!("active_{level}_q"), bit(), 0);
            let enable = m.wire(&format!("enable_{level}"), if level == 1 { start | active.q } else { active.q });
            let whole = nodes == 1 || level == 1 && tree.pairs_given;
            let last = if whole { bit().lit(1) } else { !init | turn.eq(nodes - 1) };
            let end = m.wire(&format!("end_{level}"), enable & last);
            let begin = if level == 1 { bit().lit(0) } else { finished };
            active.next((begin | (enable & !end)) & !io.clear_i);
            self.steps.push((enable, init));
            ends.push(end);
            finished = end;
        }
        let any_end = or_all(bit(), &ends);
        node.next(mux(any_end, uint(width).lit(0), turn.wrapping_add(1)));
        self.turn = Some(turn);
        let (i, u) = (m.reg_init("init_done_q", bit(), 0), m.reg_init("update_done_q", bit(), 0));
        i.next(finished & init & !io.clear_i);
        u.next(finished & !init & !io.clear_i);
        (self.init_done, self.update_done) = (i.q, u.q);
    }

    pub(super) fn step(&self, m: &mut Module, level: u32, path: Option<Signal>) -> Step {
        let group = if self.shared { level - 1 } else { (level - 1) / self.levels_per_cycle };
        let (enable, all) = self.steps[group as usize];
        let keep = self.shared || level.is_multiple_of(self.levels_per_cycle) || level == self.levels;
        // The upper part of the path names the node of this level. Levels of one node, and leaf pairs decided
        // elsewhere, do not ask.
        let asks = level < self.levels && !(level == 1 && self.given);
        let place = path.filter(|_| asks).map(|p| p.slice(level..self.levels));
        let node = match (self.turn, place) {
            (Some(turn), Some(place)) => {
                let turn = turn.slice(0..place.width());
                Some(m.wire(&format!("place_{level}"), mux(all, turn, place)))
            }
            (_, place) => place,
        };
        Step { enable, all, node, keep }
    }
}
