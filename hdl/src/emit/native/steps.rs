//! The steps of the computation: one step for each item of a site, with its reads and writes.

use super::c_types::is_wide;
use super::lanes::are_lanes;
use super::sites::{Loop, SiteId, Sites};
use super::store::{Access, ArrayId, Store};
use crate::lang::ir::{Direction, Item, Logic, ModuleIr, NetId, NodeId, Op, ScopeId};
use crate::lang::{in_formal, visit_once};

pub(super) type StepId = u32;

/// The kind of a step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// A net or one of its elements takes a value.
    Drive { value: NodeId },
    /// The next state of a state machine.
    Fsm(u32),
    /// Read data that follow the address within the cycle: memory, position of the read.
    ReadNow(u32, usize),
    /// A register at the edge.
    Register { next: NodeId, enable: Option<NodeId> },
    /// Read data that are taken at the edge.
    ReadAtEdge(u32, usize),
    /// A write of a memory: memory, position of the write.
    Write(u32, usize),
}

impl Kind {
    /// Whether it happens at the clock edge.
    pub fn at_edge(self) -> bool {
        matches!(self, Self::Register { .. } | Self::ReadAtEdge(..) | Self::Write(..))
    }
}

/// Elements of an array: `count` of them from `access` on.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub access: Access,
    pub count: u64,
    pub stride: i64,
}

/// A step of the evaluation, for all turns of the loops around it.
pub(super) struct Step {
    pub site: SiteId,
    pub scope: ScopeId,
    pub nest: Vec<Loop>,
    pub kind: Kind,
    /// The net that is driven; of a memory write the number of the memory.
    pub net: NetId,
    pub writes: Span,
    pub reads: Vec<Span>,
    /// The reads of the enable, for a register that has one.
    pub enables: Vec<Span>,
    /// The step is needed only where this is high.
    pub guard: Option<Guard>,
    /// How it is written in its innermost loop.
    pub body: Body,
}

/// How a step is written in its innermost loop. Steps that are written differently stand in loops of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Body {
    /// The loop is short, or there is none.
    Short,
    /// C makes vectors of it.
    Vector,
    /// C makes no vectors of it, nor of anything in the same loop.
    Apart,
}

/// Turns of an innermost loop from which on C makes vectors of it.
pub(super) const VECTOR: u32 = 8;

/// All steps that something depends on. Loops of so many turns, or of so many as pay off, become vectors.
pub(super) fn steps(sites: &Sites, store: &Store<'_>, least: usize) -> Vec<Step> {
    let least = least.min(VECTOR as usize) as u32;
    let mut all = Vec::new();
    for (id, site) in sites.iter() {
        for scope in 0..site.module.scopes.len() as ScopeId {
            if !in_formal(&site.module, scope) {
                for item in &site.module.scopes[scope as usize].items {
                    add_item(sites, store, (id, scope, least), item, &mut all);
                }
            }
        }
    }
    live(sites, store, all)
}

fn add_item(
    sites: &Sites,
    store: &Store<'_>,
    (site, scope, least): (SiteId, ScopeId, u32),
    item: &Item,
    all: &mut Vec<Step>,
) {
    let ir = sites.ir(site);
    let spans = |nodes: &[NodeId], reads: &mut Vec<Span>| {
        let mut seen = std::collections::BTreeSet::new();
        for &node in nodes {
            visit_once(ir, node, &mut seen, |net, read| reads.push(span(store, ir, site, net, read, scope)));
        }
    };
    let mut push = |kind, net, writes, nodes: &[NodeId], more: Vec<Span>| {
        let (mut reads, mut enables) = (more, vec![]);
        spans(nodes, &mut reads);
        if let Kind::Register { enable: Some(enable), .. } = kind {
            spans(&[enable], &mut enables);
        }
        reads.sort_by(|a, b| (&a.access, a.count).cmp(&(&b.access, b.count)));
        reads.dedup_by(|a, b| a.access == b.access && a.count == b.count);
        let nest = sites.nest(site, scope);
        let body = match nest.last() {
            Some(inner) if inner.count >= least && is_vector(ir, kind, nodes) => Body::Vector,
            Some(inner) if inner.count >= least => Body::Apart,
            _ => Body::Short,
        };
        all.push(Step { site, scope, nest, kind, net, writes, reads, enables, guard: None, body });
    };
    let one = |net| Span { access: store.access(site, net, None, scope), count: 1, stride: 1 };
    match item {
        Item::Drive { target, value, .. } => {
            if store.is_alias(site, target.net) {
                return;
            }
            let access = store.access(site, target.net, target.index.as_ref(), scope);
            let whole = ir.net(target.net).array.filter(|_| target.index.is_none());
            let stride = store.net(site, target.net).stride;
            let writes = Span { access, count: whole.map_or(1, |a| a.0.into()), stride };
            push(Kind::Drive { value: *value }, target.net, writes, &[*value], vec![]);
        }
        Item::Fsm(id) => {
            let fsm = &ir.fsms[*id as usize];
            let nodes: Vec<NodeId> = fsm.transitions.iter().filter_map(|t| t.1).collect();
            push(Kind::Fsm(*id), fsm.next, one(fsm.next), &nodes, vec![one(fsm.state)]);
        }
        Item::Register { net, next, enable, .. } => {
            let nodes: Vec<NodeId> = [Some(*next), *enable].into_iter().flatten().collect();
            // With an enable the register keeps what it has.
            let own = enable.map(|_| one(*net));
            push(Kind::Register { next: *next, enable: *enable }, *net, one(*net), &nodes, own.into_iter().collect());
        }
        Item::Memory(id) => {
            let memory = &ir.memories[*id as usize];
            let words = Span { access: store.memory(site, *id), count: memory.depth.into(), stride: 1 };
            for (at, read) in memory.reads.iter().enumerate() {
                let nodes: Vec<NodeId> = [Some(read.address), read.enable].into_iter().flatten().collect();
                let kind = if read.enable.is_some() { Kind::ReadAtEdge(*id, at) } else { Kind::ReadNow(*id, at) };
                push(kind, read.net, one(read.net), &nodes, vec![words.clone()]);
            }
            for (at, write) in memory.writes.iter().enumerate() {
                let nodes = [write.enable, write.address, write.data];
                push(Kind::Write(*id, at), *id, words.clone(), &nodes, vec![]);
            }
        }
        Item::Comment(_) | Item::Instance(_) | Item::Loop(_) | Item::Check { .. } => {}
    }
}

fn span(store: &Store<'_>, ir: &ModuleIr, site: SiteId, net: NetId, read: crate::lang::Read, scope: ScopeId) -> Span {
    let stride = store.net(site, net).stride;
    match read {
        crate::lang::Read::At(index) => {
            Span { access: store.access(site, net, index.as_ref(), scope), count: 1, stride }
        }
        crate::lang::Read::All => {
            let count = ir.net(net).array.map_or(1, |a| a.0.into());
            Span { access: store.access(site, net, None, scope), count, stride }
        }
    }
}

/// Whether C can make vectors of a step in a loop: none of its values is wide, and none is chosen by a jump.
fn is_vector(ir: &ModuleIr, kind: Kind, roots: &[NodeId]) -> bool {
    if !matches!(kind, Kind::Drive { .. } | Kind::Register { .. }) {
        return false;
    }
    let (mut todo, mut seen) = (roots.to_vec(), std::collections::BTreeSet::new());
    while let Some(id) = todo.pop() {
        let node = ir.node(id);
        let is_literal = |value: &NodeId| matches!(ir.node(*value).op, Op::Literal(_));
        let fits = match &node.op {
            Op::Lookup(_, values) => values.iter().all(is_literal),
            op => !matches!(op, Op::Element { .. } | Op::Reduce(Logic::Xor, _)),
        };
        if is_wide(node.ty) || !fits {
            return false;
        }
        let is_lane = matches!(&node.op, Op::SliceAt(net, low) if are_lanes(ir, *net, low, node.ty.width));
        if seen.insert(id) && !is_lane {
            node.op.operands(|child| todo.push(child));
        }
    }
    true
}

/// Leaves out what no output depends on, now or later.
fn live(sites: &Sites, store: &Store<'_>, all: Vec<Step>) -> Vec<Step> {
    let mut writers: Vec<Vec<StepId>> = vec![vec![]; store.arrays.len()];
    for (id, step) in all.iter().enumerate() {
        writers[step.writes.access.array as usize].push(id as StepId);
    }
    let mut needed = vec![false; store.arrays.len()];
    let mut todo: Vec<ArrayId> = outputs(sites, store);
    let mut alive = vec![false; all.len()];
    while let Some(array) = todo.pop() {
        if std::mem::replace(&mut needed[array as usize], true) {
            continue;
        }
        for &writer in &writers[array as usize] {
            if !std::mem::replace(&mut alive[writer as usize], true) {
                todo.extend(all[writer as usize].reads.iter().map(|r| r.access.array));
            }
        }
    }
    all.into_iter().zip(alive).filter(|(_, alive)| *alive).map(|(step, _)| step).collect()
}

/// Arrays that are read from outside: the outputs of the top, or all.
pub(super) fn outputs(sites: &Sites, store: &Store<'_>) -> Vec<ArrayId> {
    if store.observed {
        return (0..store.arrays.len() as ArrayId).collect();
    }
    let top = sites.ir(0);
    let outputs = (0..top.ports.len()).filter(|&p| top.direction(p) == Direction::Output);
    outputs.map(|p| store.net(0, top.ports[p]).array).collect()
}

/// The enable of registers, inside the first loops of their nest.
#[derive(Clone, Debug)]
pub(super) struct Guard {
    /// A register with this enable.
    pub register: StepId,
    pub enable: NodeId,
    pub(super) site: SiteId,
    pub(super) outer: Vec<Loop>,
}

impl Guard {
    /// Loops around the question.
    pub fn depth(&self) -> usize {
        self.outer.len()
    }
}

impl PartialEq for Guard {
    fn eq(&self, other: &Self) -> bool {
        (self.site, self.enable, &self.outer) == (other.site, other.enable, &other.outer)
    }
}
