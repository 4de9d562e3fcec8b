//! The plan that follows from the order: flags, loops that several steps share, values that need no place in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::order::{Order, Piece, Segment};
use super::ripple::Ripple;
use super::sites::{Loop, Sites};
use super::steps::{Kind, Span, Step, StepId};
use super::store::{ArrayId, Storage, Store};
use crate::lang::ir::{Direction, ModuleIr, NodeId, Op};

/// Flags and places.
pub(super) struct Plan {
    /// For each array the flags to set when it changes.
    pub wakes: Vec<Vec<u32>>,
    /// Arrays that are variables of one function.
    pub local: Vec<bool>,
    /// For registers that wait for the end of the edge: the array with their next values.
    pub next: Vec<Option<ArrayId>>,
    /// Writes of memories that need not wait for the end of the edge.
    pub at_once: BTreeSet<StepId>,
    /// For each segment of the edge whose registers share one enable: a step with that enable. While it is low, nothing
    /// of the segment has to be evaluated.
    pub guards: Vec<Option<StepId>>,
    /// Flags of the outputs of the top, by position of the port.
    pub outputs: BTreeMap<usize, u32>,
    /// Number of flags.
    pub flags: u32,
}

/// Steps in one loop nest, or steps with their own order.
pub(super) enum Group<'a> {
    Loop(&'a [Loop], Vec<StepId>),
    Ripple(&'a Ripple),
}

pub(super) fn plan(sites: &Sites, store: &mut Store<'_>, steps: &[Step], order: &Order) -> Plan {
    let arrays = store.arrays.len();
    let segments: Vec<&Segment> = order.within.iter().chain(&order.edge).collect();
    let mut readers: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); arrays];
    let mut writers: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); arrays];
    let mut written_at_edge = vec![false; arrays];
    for (flag, segment) in segments.iter().enumerate() {
        for step in segment.steps().map(|s| &steps[s as usize]) {
            let array = step.writes.access.array as usize;
            writers[array].insert(flag as u32);
            written_at_edge[array] |= step.kind.at_edge();
            for read in &step.reads {
                readers[read.access.array as usize].insert(flag as u32);
            }
        }
    }
    let mut flags = segments.len() as u32;
    let top = sites.ir(0);
    let mut outputs = BTreeMap::new();
    for port in (0..top.ports.len()).filter(|&p| top.direction(p) == Direction::Output) {
        readers[store.net(0, top.ports[port]).array as usize].insert(flags);
        outputs.insert(port, flags);
        flags += 1;
    }
    let wakes = (0..arrays).map(|a| {
        let own = writers[a].first().filter(|_| writers[a].len() == 1 && !written_at_edge[a]);
        readers[a].iter().copied().filter(|flag| Some(flag) != own).collect()
    });
    let mut wakes: Vec<Vec<u32>> = wakes.collect();
    let mut local = locals(store, steps, order, &readers);
    let at_once = writes_at_once(store, steps, order);
    let mut next = next_places(store, steps, order);
    wakes.resize(store.arrays.len(), vec![]);
    local.resize(store.arrays.len(), false);
    next.resize(store.arrays.len(), None);
    let guards = order.edge.iter().map(|segment| guard(sites, steps, segment)).collect();
    Plan { wakes, local, next, at_once, guards, outputs, flags }
}

/// A register of a segment whose registers share one enable, if the enable depends neither on loops nor on the
/// segment's own logic. While it is low, nothing of the segment has to be evaluated.
fn guard(sites: &Sites, steps: &[Step], segment: &Segment) -> Option<StepId> {
    let enable = |id: StepId| match steps[id as usize].kind {
        Kind::Register { enable: Some(enable), .. } => Some((steps[id as usize].site, enable)),
        _ => None,
    };
    let first = segment.steps().find(|&id| steps[id as usize].kind.at_edge())?;
    let own = enable(first)?;
    let mut registers = segment.steps().filter(|&id| steps[id as usize].kind.at_edge());
    if !registers.all(|id| enable(id) == Some(own)) {
        return None;
    }
    let is_written = |array: ArrayId| segment.steps().any(|id| steps[id as usize].writes.access.array == array);
    let is_fixed = |read: &Span| read.count == 1 && read.access.weights.iter().all(|&weight| weight == 0);
    if depends_on_loops(sites.ir(own.0), own.1) {
        return None;
    }
    let reads = &steps[first as usize].enables;
    reads.iter().all(|read| is_fixed(read) && !is_written(read.access.array)).then_some(first)
}

/// Whether an expression has the value of a loop variable in it, other than as the index of a net.
pub(super) fn depends_on_loops(ir: &ModuleIr, root: NodeId) -> bool {
    let (mut todo, mut seen) = (vec![root], BTreeSet::new());
    while let Some(id) = todo.pop() {
        if matches!(ir.node(id).op, Op::LoopIndex(_) | Op::SliceAt(..) | Op::Element { .. }) {
            return true;
        }
        if seen.insert(id) {
            ir.node(id).op.operands(|child| todo.push(child));
        }
    }
    false
}

/// The steps of a segment by loop nest, in order.
pub(super) fn groups<'a>(segment: &'a Segment, steps: &'a [Step]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for piece in &segment.pieces {
        match piece {
            Piece::Ripple(ripple) => groups.push(Group::Ripple(ripple)),
            Piece::Step(id) => {
                let step = &steps[*id as usize];
                match groups.last_mut() {
                    Some(Group::Loop(nest, members))
                        if *nest == step.nest
                            && !overtakes(steps, members, step)
                            && steps[members[0] as usize].body == step.body
                            && steps[members[0] as usize].guard == step.guard
                            && fits(steps, members, step) =>
                    {
                        members.push(*id);
                    }
                    _ => groups.push(Group::Loop(&step.nest, vec![*id])),
                }
            }
        }
    }
    groups
}

/// Whether a step may stand in one loop with earlier ones: it reads of them what the same turn has written.
fn fits(steps: &[Step], members: &[StepId], step: &Step) -> bool {
    if step.nest.is_empty() {
        return true;
    }
    let logic = members.iter().map(|&m| &steps[m as usize]).filter(|m| !m.kind.at_edge());
    logic.map(|m| &m.writes).all(|written| {
        step.reads
            .iter()
            .filter(|read| read.access.array == written.access.array)
            .all(|read| read.access == written.access && read.count == 1 && written.count == 1)
    })
}

/// Whether a write of a memory would come before later turns of earlier steps that read the memory.
fn overtakes(steps: &[Step], members: &[StepId], step: &Step) -> bool {
    let is_read = || {
        let reads = members.iter().flat_map(|&m| &steps[m as usize].reads);
        reads.into_iter().any(|read| read.access.array == step.writes.access.array)
    };
    matches!(step.kind, Kind::Write(..)) && !step.nest.is_empty() && is_read()
}

fn locals(store: &Store<'_>, steps: &[Step], order: &Order, readers: &[BTreeSet<u32>]) -> Vec<bool> {
    let mut writes = vec![0; store.arrays.len()];
    steps.iter().for_each(|step| writes[step.writes.access.array as usize] += 1);
    let mut local = vec![false; store.arrays.len()];
    if store.observed {
        return local;
    }
    for (flag, segment) in order.within.iter().chain(&order.edge).enumerate() {
        let own = |array: ArrayId| writes[array as usize] == 1 && readers[array as usize].iter().eq([&(flag as u32)]);
        let groups = groups(segment, steps);
        // By array: whether a step of another group than the writer's reads it, or another element of it.
        let mut home: BTreeMap<ArrayId, usize> = BTreeMap::new();
        for (g, group) in groups.iter().enumerate() {
            let Group::Loop(nest, members) = group else { continue };
            for step in members.iter().map(|&m| &steps[m as usize]) {
                let array = step.writes.access.array;
                let turns: u64 = nest.iter().map(|l| u64::from(l.count)).product();
                let single = !step.kind.at_edge() && step.writes.count == 1 && store.array(array).len == turns;
                if single && own(array) {
                    home.insert(array, g);
                }
            }
        }
        for (g, group) in groups.iter().enumerate() {
            let members: Vec<StepId> = match group {
                Group::Loop(_, members) => members.clone(),
                Group::Ripple(ripple) => ripple.steps.clone(),
            };
            for read in members.iter().flat_map(|&m| &steps[m as usize].reads) {
                let array = read.access.array;
                let away = home.get(&array).is_some_and(|&h| {
                    let scalar = matches!(&groups[h], Group::Loop(nest, _) if nest.is_empty());
                    h != g && !scalar || read.count != 1
                });
                if away {
                    home.remove(&array);
                }
            }
        }
        home.keys().for_each(|&array| local[array as usize] = true);
    }
    local
}

/// Where steps of the edge stand.
struct Places {
    /// Segment, group, position in the group.
    of: BTreeMap<StepId, (usize, usize, usize)>,
    /// By array: the steps that read it.
    readers: BTreeMap<ArrayId, Vec<StepId>>,
}

impl Places {
    fn new(steps: &[Step], order: &Order) -> Self {
        let (mut of, mut readers): (BTreeMap<_, _>, BTreeMap<_, Vec<StepId>>) = Default::default();
        for (s, segment) in order.edge.iter().enumerate() {
            for (g, group) in groups(segment, steps).iter().enumerate() {
                let members = match group {
                    Group::Loop(_, members) => members,
                    Group::Ripple(ripple) => &ripple.steps,
                };
                for (position, &member) in members.iter().enumerate() {
                    of.insert(member, (s, g, position));
                    for read in &steps[member as usize].reads {
                        readers.entry(read.access.array).or_default().push(member);
                    }
                }
            }
        }
        Self { of, readers }
    }

    fn readers(&self, array: ArrayId) -> impl Iterator<Item = &StepId> {
        self.readers.get(&array).into_iter().flatten()
    }
}

/// Writes of memories, of which each is the only one of its memory, after all that reads the memory at the edge.
fn writes_at_once(store: &Store<'_>, steps: &[Step], order: &Order) -> BTreeSet<StepId> {
    let places = Places::new(steps, order);
    let mut writers = vec![0; store.arrays.len()];
    steps.iter().for_each(|step| writers[step.writes.access.array as usize] += 1);
    let fits = |id: &StepId| {
        let step = &steps[*id as usize];
        let array = step.writes.access.array;
        let own = places.of[id];
        let is_before = |reader: &StepId| {
            let place = places.of[reader];
            place.0 == own.0 && (place.1 < own.1 || step.nest.is_empty() && place.1 == own.1 && place.2 < own.2)
        };
        writers[array as usize] == 1 && places.readers(array).all(is_before)
    };
    let is_write = |id: &StepId| matches!(steps[*id as usize].kind, Kind::Write(..));
    (0..steps.len() as StepId).filter(is_write).filter(fits).collect()
}

/// Gives registers a place for their next value, unless they can be written where they are: all that reads them at the
/// edge has done so before, or in the same turn of the same loop.
fn next_places(store: &mut Store<'_>, steps: &[Step], order: &Order) -> Vec<Option<ArrayId>> {
    let mut next = vec![None; store.arrays.len()];
    let places = Places::new(steps, order);
    for (id, step) in steps.iter().enumerate() {
        if !matches!(step.kind, Kind::Register { .. } | Kind::ReadAtEdge(..)) {
            continue;
        }
        let array = step.writes.access.array;
        let own = places.of[&(id as StepId)];
        let is_before = |&reader: &StepId| {
            let place = places.of[&reader];
            let mut reads = steps[reader as usize].reads.iter().filter(|r| r.access.array == array);
            let same = reads.all(|r| r.access == step.writes.access && r.count == 1);
            let is_scalar = step.nest.is_empty();
            place.0 == own.0 && (place.1 < own.1 || place.1 == own.1 && place.2 <= own.2 && (same || is_scalar))
        };
        if places.readers(array).all(is_before) {
            continue;
        }
        let place = store.arrays.len() as ArrayId;
        let old = store.array(array);
        let storage = Storage { ty: old.ty, len: old.len, name: format!("next of {}", old.name) };
        store.arrays.push(storage);
        next[array as usize] = Some(place);
    }
    next
}
