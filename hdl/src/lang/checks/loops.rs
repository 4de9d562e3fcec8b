//! No combinational loops, through instances too; and which outputs depend on which inputs within a cycle.
//!
//! Granularity: elements of nets. The path through an instance is known port by port from its module's own result.

use super::super::ir::{Direction, Item, ModuleIr, NetId, NetKind, NodeId, ScopeId};
use super::Finding;
use super::elements::{Elements, reads};

pub(super) fn check(ir: &ModuleIr, elements: &Elements) -> (Vec<Finding>, Vec<Vec<usize>>) {
    let graph = Graph::new(ir, elements);
    let order = graph.order();
    if order.len() < graph.len() {
        let comb = vec![vec![]; ir.ports.len()];
        return (vec![graph.describe_loop(ir, elements, &order)], comb);
    }
    (vec![], dependencies(ir, elements, &graph, &order))
}

/// Edges from source to target element; vertices past `elements.total` stand for paths through instances.
struct Graph {
    vertices: usize,
    edges: Vec<(u32, u32)>,
    /// `edges[start[v]..start[v + 1]]` leave v, once sorted.
    start: Vec<u32>,
}

impl Graph {
    fn new(ir: &ModuleIr, elements: &Elements) -> Self {
        let mut g = Graph { vertices: elements.total, edges: vec![], start: vec![] };
        for (scope, s) in ir.scopes.iter().enumerate() {
            for item in &s.items {
                g.add_item(ir, elements, scope as ScopeId, item);
            }
        }
        g.edges.sort_unstable();
        g.start = vec![0; g.vertices + 1];
        for &(from, _) in &g.edges {
            g.start[from as usize + 1] += 1;
        }
        for v in 0..g.vertices {
            g.start[v + 1] += g.start[v];
        }
        g
    }

    fn add_item(&mut self, ir: &ModuleIr, elements: &Elements, scope: ScopeId, item: &Item) {
        match item {
            Item::Drive { target, value, .. } => {
                let sources = combinational(ir, *value);
                Elements::iterate(ir, scope, |at| {
                    let to = elements.element(ir, target.net, target.index.as_ref(), at) as u32;
                    for (net, index) in &sources {
                        self.edges.push((elements.element(ir, *net, index.as_ref(), at) as u32, to));
                    }
                });
            }
            Item::Fsm(id) => {
                let fsm = &ir.fsms[*id as usize];
                for node in fsm.transitions.iter().filter_map(|t| t.1) {
                    self.add_whole(ir, elements, scope, node, fsm.next);
                }
            }
            Item::Memory(id) => {
                for read in ir.memories[*id as usize].reads.iter().filter(|r| r.enable.is_none()) {
                    self.add_whole(ir, elements, scope, read.address, read.net);
                }
            }
            Item::Instance(id) => {
                let instance = &ir.instances[*id as usize];
                for (output, inputs) in instance.module.comb.iter().enumerate().filter(|c| !c.1.is_empty()) {
                    Elements::iterate(ir, scope, |at| {
                        let path = self.vertices as u32;
                        self.vertices += 1;
                        for &input in inputs {
                            let first = elements.element(ir, instance.nets[input], None, at) as u32;
                            let count = ir.net(instance.nets[input]).array.map_or(1, |a| a.0);
                            self.edges.extend((first..first + count).map(|from| (from, path)));
                        }
                        let first = elements.element(ir, instance.nets[output], None, at) as u32;
                        let count = ir.net(instance.nets[output]).array.map_or(1, |a| a.0);
                        self.edges.extend((first..first + count).map(|to| (path, to)));
                    });
                }
            }
            Item::Comment(_) | Item::Register { .. } | Item::Loop(_) | Item::Check { .. } => {}
        }
    }

    fn add_whole(&mut self, ir: &ModuleIr, elements: &Elements, scope: ScopeId, node: NodeId, target: NetId) {
        let sources = combinational(ir, node);
        Elements::iterate(ir, scope, |at| {
            let to = elements.element(ir, target, None, at) as u32;
            for (net, index) in &sources {
                self.edges.push((elements.element(ir, *net, index.as_ref(), at) as u32, to));
            }
        });
    }

    fn len(&self) -> usize {
        self.vertices
    }

    fn from(&self, vertex: u32) -> impl Iterator<Item = u32> {
        let range = self.start[vertex as usize] as usize..self.start[vertex as usize + 1] as usize;
        self.edges[range].iter().map(|e| e.1)
    }

    /// Vertices, sources first; those on or behind a loop are missing.
    fn order(&self) -> Vec<u32> {
        let mut waiting = vec![0_u32; self.vertices];
        for &(_, to) in &self.edges {
            waiting[to as usize] += 1;
        }
        let mut order: Vec<u32> = (0..self.vertices as u32).filter(|&v| waiting[v as usize] == 0).collect();
        let mut next = 0;
        while next < order.len() {
            let v = order[next];
            next += 1;
            for to in self.from(v) {
                waiting[to as usize] -= 1;
                if waiting[to as usize] == 0 {
                    order.push(to);
                }
            }
        }
        order
    }

    fn describe_loop(&self, ir: &ModuleIr, elements: &Elements, order: &[u32]) -> Finding {
        let mut stuck = vec![true; self.vertices];
        order.iter().for_each(|&v| stuck[v as usize] = false);
        // Walking backwards from a stuck vertex stays among stuck vertices and so must meet itself.
        let mut previous = vec![u32::MAX; self.vertices];
        for &(from, to) in &self.edges {
            if stuck[from as usize] && stuck[to as usize] {
                previous[to as usize] = from;
            }
        }
        let mut at = stuck.iter().position(|&s| s).unwrap_or(0) as u32;
        let mut seen = vec![false; self.vertices];
        while !seen[at as usize] {
            seen[at as usize] = true;
            at = previous[at as usize];
        }
        let mut cycle = vec![at];
        let mut v = previous[at as usize];
        while v != at {
            cycle.push(v);
            v = previous[v as usize];
        }
        cycle.reverse();
        let owner = |v: u32| (0..ir.nets.len() as u32).find(|&n| elements.of(n).contains(&(v as usize)));
        let mut names: Vec<String> = Vec::new();
        let mut loc = ir.loc;
        for net in cycle.iter().filter_map(|&v| owner(v)).map(|n| ir.net(n)) {
            if names.last() != Some(&net.name) {
                names.push(net.name.clone());
            }
            loc = net.loc;
        }
        let first = names.first().cloned().unwrap_or_default();
        (loc, format!("combinational loop: {} -> {first}", names.join(" -> ")), None)
    }
}

/// Nets whose value an expression takes within the cycle.
fn combinational(ir: &ModuleIr, node: NodeId) -> Vec<(NetId, Option<super::super::index::Index>)> {
    let mut sources = reads(ir, node);
    sources.retain(|(net, _)| !matches!(ir.net(*net).kind, NetKind::Register { .. }));
    sources
}

/// For each port: the input ports that an output depends on.
fn dependencies(ir: &ModuleIr, elements: &Elements, graph: &Graph, order: &[u32]) -> Vec<Vec<usize>> {
    let inputs: Vec<usize> = (0..ir.ports.len()).filter(|&p| ir.direction(p) == Direction::Input).collect();
    let words = inputs.len().div_ceil(64);
    let mut sets = vec![0_u64; words * graph.len()];
    for (k, &port) in inputs.iter().enumerate() {
        for element in elements.of(ir.ports[port]) {
            sets[element * words + k / 64] |= 1 << (k % 64);
        }
    }
    for &v in order {
        for to in graph.from(v) {
            for w in 0..words {
                sets[to as usize * words + w] |= sets[v as usize * words + w];
            }
        }
    }
    let mut comb = vec![vec![]; ir.ports.len()];
    for (port, found) in comb.iter_mut().enumerate() {
        if ir.direction(port) == Direction::Output {
            let any = |k: usize| elements.of(ir.ports[port]).any(|x| sets[x * words + k / 64] >> (k % 64) & 1 == 1);
            *found = (0..inputs.len()).filter(|&k| any(k)).map(|k| inputs[k]).collect();
        }
    }
    comb
}
