//! No combinational loops, through instances too; and which outputs depend on which inputs within a cycle.
//!
//! Granularity: elements of nets. The path through an instance is known port by port from its module's own result.

use super::super::ir::{Direction, Item, Layout, ModuleIr, Net, NetId, NetKind, NodeId, ScopeId};
use super::elements::{Elements, Place, Read, reads};
use super::finding::Finding;

pub(super) fn check(ir: &ModuleIr, elements: &Elements) -> (Vec<Finding>, Vec<Vec<usize>>) {
    let graph = Graph::of_elements(ir, elements);
    let order = graph.order();
    if order.len() < graph.len() {
        let comb = vec![vec![]; ir.ports.len()];
        return (vec![graph.describe_loop(ir, elements)], comb);
    }
    (vec![], dependencies(ir, elements, &graph, &order))
}

/// Arrays of nets in which a value ripples from element to element within the cycle: no loop, but a simulator that
/// takes the array as one variable sees one.
pub(super) fn rippling(ir: &ModuleIr) -> Vec<bool> {
    let candidate = |net: &Net| matches!(net.array, Some((_, Layout::Unpacked)));
    if !ir.nets.iter().any(candidate) {
        return vec![false; ir.nets.len()];
    }
    // Whole nets as vertices: a cycle that is none among elements is a ripple.
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut add = |node: NodeId, to: NetId| edges.extend(combinational(ir, node).iter().map(|from| (from.0, to)));
    for item in ir.scopes.iter().flat_map(|s| &s.items) {
        match item {
            Item::Drive { target, value, .. } => add(*value, target.net),
            Item::Fsm(id) => {
                let fsm = &ir.fsms[*id as usize];
                fsm.transitions.iter().filter_map(|t| t.1).for_each(|node| add(node, fsm.next));
            }
            Item::Memory(id) => {
                let reads = ir.memories[*id as usize].reads.iter().filter(|r| r.enable.is_none());
                reads.for_each(|r| add(r.address, r.net));
            }
            _ => {}
        }
    }
    for instance in &ir.instances {
        for (output, inputs) in instance.module.comb.iter().enumerate() {
            edges.extend(inputs.iter().map(|&input| (instance.nets[input], instance.nets[output])));
        }
    }
    // A net is on a cycle if a cycle leads to it and it leads to a cycle.
    let ahead = Graph::new(ir.nets.len(), &edges).stuck();
    let backwards: Vec<_> = edges.iter().map(|&(from, to)| (to, from)).collect();
    let behind = Graph::new(ir.nets.len(), &backwards).stuck();
    ir.nets.iter().enumerate().map(|(id, net)| candidate(net) && ahead[id] && behind[id]).collect()
}

/// A directed graph; the targets of the edges that leave v are `targets[start[v]..start[v + 1]]`.
struct Graph {
    targets: Vec<u32>,
    start: Vec<u32>,
}

/// Edges from source to target element; vertices past the elements stand for paths through instances.
struct Edges {
    vertices: usize,
    list: Vec<(u32, u32)>,
}

impl Edges {
    fn add_item(&mut self, ir: &ModuleIr, elements: &Elements, scope: ScopeId, item: &Item) {
        match item {
            Item::Drive { target, value, .. } => {
                let mut to = elements.place(ir, target.net, target.index.as_ref(), scope);
                let whole = ir.net(target.net).array.filter(|_| target.index.is_none());
                for _ in 0..whole.map_or(1, |a| a.0) {
                    self.add_expression(ir, elements, scope, *value, &to);
                    to.next();
                }
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
                    let place = |port: usize| {
                        let net = instance.nets[port];
                        (elements.place(ir, net, None, scope), ir.net(net).array.map_or(1, |a| a.0))
                    };
                    let sources: Vec<_> = inputs.iter().map(|&input| place(input)).collect();
                    let (target, targets) = place(output);
                    elements.iterate(scope, |values| {
                        let path = self.vertices as u32;
                        self.vertices += 1;
                        for (source, count) in &sources {
                            let first = source.at(values) as u32;
                            self.list.extend((first..first + count).map(|from| (from, path)));
                        }
                        let first = target.at(values) as u32;
                        self.list.extend((first..first + targets).map(|to| (path, to)));
                    });
                }
            }
            Item::Comment(_) | Item::Register { .. } | Item::Loop(_) | Item::Check { .. } => {}
        }
    }

    fn add_whole(&mut self, ir: &ModuleIr, elements: &Elements, scope: ScopeId, node: NodeId, target: NetId) {
        let to = elements.place(ir, target, None, scope);
        self.add_expression(ir, elements, scope, node, &to);
    }

    fn add_expression(&mut self, ir: &ModuleIr, elements: &Elements, scope: ScopeId, node: NodeId, to: &Place) {
        let place = |(net, read): &(NetId, Read)| match read {
            Read::At(index) => (elements.place(ir, *net, index.as_ref(), scope), 1),
            Read::All => (elements.place(ir, *net, None, scope), ir.net(*net).array.map_or(1, |a| a.0)),
        };
        let sources: Vec<(Place, u32)> = combinational(ir, node).iter().map(place).collect();
        elements.iterate(scope, |values| {
            let to = to.at(values) as u32;
            for (from, count) in &sources {
                let first = from.at(values) as u32;
                self.list.extend((first..first + count).map(|from| (from, to)));
            }
        });
    }
}

impl Graph {
    fn of_elements(ir: &ModuleIr, elements: &Elements) -> Self {
        let mut edges = Edges { vertices: elements.total, list: vec![] };
        for (scope, s) in ir.scopes.iter().enumerate() {
            for item in &s.items {
                edges.add_item(ir, elements, scope as ScopeId, item);
            }
        }
        Self::new(edges.vertices, &edges.list)
    }

    fn new(vertices: usize, edges: &[(u32, u32)]) -> Self {
        let mut start = vec![0_u32; vertices + 1];
        for &(from, _) in edges {
            start[from as usize + 1] += 1;
        }
        for v in 0..vertices {
            start[v + 1] += start[v];
        }
        let mut next = start.clone();
        let mut targets = vec![0; edges.len()];
        for &(from, to) in edges {
            targets[next[from as usize] as usize] = to;
            next[from as usize] += 1;
        }
        Graph { targets, start }
    }

    /// Vertices on a cycle or reached from one.
    fn stuck(&self) -> Vec<bool> {
        let mut stuck = vec![true; self.len()];
        self.order().iter().for_each(|&v| stuck[v as usize] = false);
        stuck
    }

    fn len(&self) -> usize {
        self.start.len() - 1
    }

    fn from(&self, vertex: u32) -> impl Iterator<Item = u32> {
        let range = self.start[vertex as usize] as usize..self.start[vertex as usize + 1] as usize;
        self.targets[range].iter().copied()
    }

    /// Vertices, sources first; vertices on a loop, or reached from one, are missing.
    fn order(&self) -> Vec<u32> {
        let mut waiting = vec![0_u32; self.len()];
        for &to in &self.targets {
            waiting[to as usize] += 1;
        }
        let mut order: Vec<u32> = (0..self.len() as u32).filter(|&v| waiting[v as usize] == 0).collect();
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

    fn describe_loop(&self, ir: &ModuleIr, elements: &Elements) -> Finding {
        let stuck = self.stuck();
        // Walking backwards from a stuck vertex stays among stuck vertices and so must meet itself.
        let mut previous = vec![u32::MAX; self.len()];
        for from in (0..self.len() as u32).filter(|&v| stuck[v as usize]) {
            for to in self.from(from).filter(|&v| stuck[v as usize]) {
                previous[to as usize] = from;
            }
        }
        let mut at = stuck.iter().position(|&s| s).unwrap_or(0) as u32;
        let mut seen = vec![false; self.len()];
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
        let owner = |v: u32| elements.owner(v as usize);
        let mut names: Vec<String> = Vec::new();
        let mut loc = ir.loc;
        for (v, id) in cycle.iter().filter_map(|&v| Some((v, owner(v)?))) {
            let net = ir.net(id);
            let element = v as usize - elements.of(id).start;
            let name = match net.array {
                Some((count, _)) => format!("{}[{}]", net.name, element % count as usize),
                None => net.name.clone(),
            };
            if names.last() != Some(&name) {
                names.push(name);
            }
            loc = net.loc;
        }
        let first = names.first().cloned().unwrap_or_default();
        if names.len() > 12 {
            let left_out = names.len() - 10;
            names.splice(5..5 + left_out, [format!("({left_out} more)")]);
        }
        (loc, format!("combinational loop: {} -> {first}", names.join(" -> ")), None)
    }
}

/// Nets whose value an expression takes within the cycle.
fn combinational(ir: &ModuleIr, node: NodeId) -> Vec<(NetId, Read)> {
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
