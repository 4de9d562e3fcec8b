//! The order of evaluation: segments of steps, each of which runs only when something that it reads has changed.
//!
//! A step comes after all steps that write what it reads. Where arrays read each other in a circle, single elements do
//! not (`checks::loops` has seen to that): such steps are ordered element by element, in [`ripple`](super::ripple).

use std::collections::{BTreeMap, BTreeSet};

use super::ripple::{Ripple, ripple};
use super::sites::{Loop, Sites};
use super::steps::{Body, Step, StepId, outputs};
use super::store::Store;

/// A part of the tree of sites with at least so many steps is evaluated, or left alone, as one, if nobody says otherwise.
pub(super) const BLOCK: usize = 15;

/// Most steps of a segment: the C compiler takes longer than proportional for long functions.
const LONGEST: usize = 400;

/// Loops of so many turns are evaluated, or left alone, apart from what is around them.
const LARGE: u64 = 32;

/// A part that is evaluated in one go.
pub(super) enum Piece {
    Step(StepId),
    Ripple(Ripple),
}

/// Pieces with one flag that says whether they have to run.
pub(super) struct Segment {
    pub pieces: Vec<Piece>,
    /// Outputs of the top depend on it within the cycle.
    pub out: bool,
}

impl Segment {
    pub fn steps(&self) -> impl Iterator<Item = StepId> {
        self.pieces.iter().flat_map(|piece| match piece {
            Piece::Step(step) => std::slice::from_ref(step).iter().copied(),
            Piece::Ripple(ripple) => ripple.steps.iter().copied(),
        })
    }
}

/// Segments of the logic within the cycle in their order, then segments of the edge.
pub(super) struct Order {
    pub within: Vec<Segment>,
    pub edge: Vec<Segment>,
}

/// When a part is evaluated, and which part of the tree of sites it is: with a loop of many turns, that loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    phase: Phase,
    block: u32,
    large: Option<Loop>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// After inputs and after the edge: outputs of the top depend on it.
    Out,
    /// Before the edge.
    Within,
    /// At the edge: registers, and what nothing but registers of one part reads.
    Edge,
}

pub(super) fn order(sites: &Sites, store: &Store<'_>, steps: &[Step], part: usize) -> Order {
    let blocks = blocks(sites, steps, part);
    let edges = edges(store, steps);
    let groups = components(&edges);
    let mut group_of = vec![u32::MAX; steps.len()];
    for (id, group) in groups.iter().enumerate() {
        group.iter().for_each(|&s| group_of[s as usize] = id as u32);
    }
    let mut after: Vec<BTreeSet<u32>> = vec![BTreeSet::new(); groups.len()];
    for (from, to) in edges.iter().enumerate().flat_map(|(f, list)| list.iter().map(move |&t| (f, t))) {
        let (from, to) = (group_of[from], group_of[to as usize]);
        if from != to {
            after[from as usize].insert(to);
        }
    }
    let keys = keys(sites, store, steps, &groups, &after, &blocks);
    let graph = Graph { steps, groups: &groups, after: &after, keys: &keys };
    let piece = |group: u32| {
        let members = &groups[group as usize];
        let circular = members.len() > 1 || edges[members[0] as usize].contains(&members[0]);
        if circular { Piece::Ripple(ripple(store, steps, members)) } else { Piece::Step(members[0]) }
    };
    let within = graph
        .within()
        .into_iter()
        .map(|(key, groups)| Segment { pieces: groups.into_iter().map(piece).collect(), out: key.phase == Phase::Out });
    let within = within.collect();
    let edge =
        graph.edge().into_iter().map(|groups| Segment { pieces: groups.into_iter().map(piece).collect(), out: false });
    Order { within, edge: edge.collect() }
}

/// The key of each group of steps.
fn keys(
    sites: &Sites,
    store: &Store<'_>,
    steps: &[Step],
    groups: &[Vec<StepId>],
    after: &[BTreeSet<u32>],
    blocks: &[u32],
) -> Vec<Key> {
    let out = cone(sites, store, steps);
    let mut keys: Vec<Option<Key>> = vec![None; groups.len()];
    // Components come readers first.
    for (id, group) in groups.iter().enumerate() {
        let step = &steps[group[0] as usize];
        let turns: u64 = step.nest.iter().map(|l| u64::from(l.count)).product();
        let large = step.nest.first().copied().filter(|_| turns >= LARGE);
        let own = |phase| Key { phase, block: blocks[step.site as usize], large };
        let phase = match (step.kind.at_edge(), out[group[0] as usize]) {
            (true, _) => Phase::Edge,
            (false, true) => Phase::Out,
            (false, false) => Phase::Within,
        };
        let mut readers = after[id].iter().map(|&r| keys[r as usize]);
        let first = readers.next().flatten();
        let sinks = phase == Phase::Within
            && first.is_some_and(|k| k.phase == Phase::Edge && (k.large == large || large.is_none()))
            && readers.all(|r| r == first);
        keys[id] = if sinks { first } else { Some(own(phase)) };
    }
    keys.into_iter().flatten().collect()
}

/// Groups of steps, and which read what others write within the cycle.
struct Graph<'a> {
    steps: &'a [Step],
    groups: &'a [Vec<StepId>],
    after: &'a [BTreeSet<u32>],
    keys: &'a [Key],
}

impl Graph<'_> {
    /// Steps of equal nests can stand in one loop.
    fn nest(&self, group: u32) -> (Body, &[Loop]) {
        let step = &self.steps[self.groups[group as usize][0] as usize];
        (step.body, &step.nest)
    }

    fn is_edge(&self, group: u32) -> bool {
        self.keys[group as usize].phase == Phase::Edge
    }

    /// Segments up to the edge.
    fn within(&self) -> Vec<(Key, Vec<u32>)> {
        let mut waiting = vec![0_u32; self.groups.len()];
        self.after.iter().flatten().for_each(|&to| waiting[to as usize] += 1);
        let mut ready = Ready::default();
        for group in (0..self.groups.len() as u32).filter(|&g| waiting[g as usize] == 0 && !self.is_edge(g)) {
            ready.add(self.keys[group as usize], self.nest(group), group);
        }
        let mut segments: Vec<(Key, Vec<u32>)> = Vec::new();
        let mut current = None;
        let mut length = 0;
        while let Some((at, group)) = ready.take(current) {
            if current != Some(at) || length >= LONGEST {
                segments.push((at, vec![]));
                current = Some(at);
                length = 0;
            }
            length += self.groups[group as usize].len();
            if let Some(segment) = segments.last_mut() {
                segment.1.push(group);
            }
            for &to in &self.after[group as usize] {
                waiting[to as usize] -= 1;
                if waiting[to as usize] == 0 && !self.is_edge(to) {
                    ready.add(self.keys[to as usize], self.nest(to), to);
                }
            }
        }
        segments
    }

    /// Segments of the edge. Where it can be, a register or the write of a memory comes after all that reads it: then its
    /// new value may take the place of the old one.
    fn edge(&self) -> Vec<Vec<u32>> {
        let mut by_key: BTreeMap<Key, Vec<u32>> = BTreeMap::new();
        for group in (0..self.groups.len() as u32).filter(|&g| self.is_edge(g)) {
            by_key.entry(self.keys[group as usize]).or_default().push(group);
        }
        by_key.into_values().flat_map(|members| self.edge_order(&members)).collect()
    }

    fn edge_order(&self, members: &[u32]) -> Vec<Vec<u32>> {
        let mut readers: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for &group in members {
            for step in &self.groups[group as usize] {
                for read in &self.steps[*step as usize].reads {
                    readers.entry(read.access.array).or_default().insert(group);
                }
            }
        }
        // Groups that must come first, and groups that should.
        let (mut must, mut should): (BTreeMap<u32, u32>, BTreeMap<u32, u32>) = Default::default();
        let mut hinders: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for &group in members {
            for &to in &self.after[group as usize] {
                *must.entry(to).or_default() += 1;
            }
            let step = &self.steps[self.groups[group as usize][0] as usize];
            if step.kind.at_edge() {
                for &reader in readers.get(&step.writes.access.array).into_iter().flatten().filter(|&&r| r != group) {
                    *should.entry(group).or_default() += 1;
                    hinders.entry(reader).or_default().push(group);
                }
            }
        }
        let mut left: BTreeSet<u32> = members.iter().copied().collect();
        let mut free: BTreeSet<u32> = left.iter().copied().filter(|g| !must.contains_key(g)).collect();
        let mut order = Vec::new();
        let mut last: (Body, &[Loop]) = (Body::Short, &[]);
        while !left.is_empty() {
            let open = |g: &u32| should.get(g).is_none_or(|&n| n == 0);
            let same = free.iter().find(|g| open(g) && self.nest(**g) == last);
            let any = same.or_else(|| free.iter().find(|g| open(g)));
            let least = || free.iter().min_by_key(|g| should.get(g).copied().unwrap_or(0));
            let Some(&group) = any.or_else(least) else { break };
            last = self.nest(group);
            left.remove(&group);
            free.remove(&group);
            order.push(group);
            for to in &self.after[group as usize] {
                if let Some(n) = must.get_mut(to) {
                    *n -= 1;
                    if *n == 0 && left.contains(to) {
                        free.insert(*to);
                    }
                }
            }
            for register in hinders.get(&group).into_iter().flatten() {
                should.entry(*register).and_modify(|n| *n -= 1);
            }
        }
        vec![order]
    }
}

/// Loops around steps, and how they are written.
type Nest = (Body, Vec<Loop>);

/// Groups that can be evaluated next, by segment and nest.
#[derive(Default)]
struct Ready {
    by_key: BTreeMap<Key, BTreeMap<Nest, Vec<u32>>>,
    last: Option<Nest>,
}

impl Ready {
    fn add(&mut self, key: Key, (body, nest): (Body, &[Loop]), group: u32) {
        self.by_key.entry(key).or_default().entry((body, nest.to_vec())).or_default().push(group);
    }

    /// Goes on in the segment and the nest of the last one if it can.
    fn take(&mut self, current: Option<Key>) -> Option<(Key, u32)> {
        let current = current.filter(|key| self.by_key.contains_key(key));
        let count = |nests: &BTreeMap<Nest, Vec<u32>>| nests.values().map(Vec::len).sum::<usize>();
        let most = || self.by_key.iter().max_by_key(|(key, nests)| (key.phase, count(nests))).map(|(key, _)| *key);
        let key = current.or_else(most)?;
        let nests = self.by_key.get_mut(&key)?;
        let last = self.last.take().filter(|last| nests.contains_key(last));
        let nest = match last {
            Some(last) => last,
            None => nests.keys().next()?.clone(),
        };
        let list = nests.get_mut(&nest)?;
        let group = list.pop()?;
        if list.is_empty() {
            nests.remove(&nest);
        }
        self.last = Some(nest);
        if nests.is_empty() {
            self.by_key.remove(&key);
        }
        Some((key, group))
    }
}

/// For each site the number of its block: a part of the tree of sites.
fn blocks(sites: &Sites, steps: &[Step], part: usize) -> Vec<u32> {
    let mut size = vec![0; sites.len()];
    steps.iter().for_each(|step| size[step.site as usize] += 1);
    let mut root = vec![false; sites.len()];
    for id in (0..sites.len()).rev() {
        match sites.at(id as u32).parent {
            Some((parent, _)) if size[id] < part => size[parent as usize] += size[id],
            _ => root[id] = true,
        }
    }
    let mut block = vec![0; sites.len()];
    for id in 0..sites.len() {
        block[id] = match sites.at(id as u32).parent {
            Some((parent, _)) if !root[id] => block[parent as usize],
            _ => id as u32,
        };
    }
    block
}

/// For each step the steps that read what it writes within the cycle.
fn edges(store: &Store<'_>, steps: &[Step]) -> Vec<Vec<StepId>> {
    let mut writers: Vec<Vec<StepId>> = vec![vec![]; store.arrays.len()];
    for (id, step) in steps.iter().enumerate().filter(|(_, step)| !step.kind.at_edge()) {
        writers[step.writes.access.array as usize].push(id as StepId);
    }
    let mut edges = vec![vec![]; steps.len()];
    for (id, step) in steps.iter().enumerate() {
        let arrays: BTreeSet<u32> = step.reads.iter().map(|r| r.access.array).collect();
        for writer in arrays.iter().flat_map(|&a| &writers[a as usize]) {
            edges[*writer as usize].push(id as StepId);
        }
    }
    edges
}

/// Steps within the cycle that outputs of the top depend on.
fn cone(sites: &Sites, store: &Store<'_>, steps: &[Step]) -> Vec<bool> {
    let mut writers: Vec<Vec<StepId>> = vec![vec![]; store.arrays.len()];
    for (id, step) in steps.iter().enumerate().filter(|(_, step)| !step.kind.at_edge()) {
        writers[step.writes.access.array as usize].push(id as StepId);
    }
    let mut inside = vec![false; steps.len()];
    let mut seen = vec![false; store.arrays.len()];
    let mut todo = outputs(sites, store);
    while let Some(array) = todo.pop() {
        if std::mem::replace(&mut seen[array as usize], true) {
            continue;
        }
        for &writer in &writers[array as usize] {
            inside[writer as usize] = true;
            todo.extend(steps[writer as usize].reads.iter().map(|r| r.access.array));
        }
    }
    inside
}

/// Strongly connected components (Tarjan), without recursion.
fn components(edges: &[Vec<StepId>]) -> Vec<Vec<StepId>> {
    const NEW: u32 = u32::MAX;
    let n = edges.len();
    let (mut number, mut low, mut on_stack) = (vec![NEW; n], vec![0; n], vec![false; n]);
    let (mut stack, mut found, mut count) = (Vec::new(), Vec::new(), 0);
    for start in 0..n {
        if number[start] != NEW {
            continue;
        }
        let mut calls: Vec<(usize, usize)> = vec![(start, 0)];
        while let Some((v, next)) = calls.pop() {
            if next == 0 {
                number[v] = count;
                low[v] = count;
                count += 1;
                stack.push(v as StepId);
                on_stack[v] = true;
            }
            if let Some(&to) = edges[v].get(next) {
                calls.push((v, next + 1));
                let to = to as usize;
                if number[to] == NEW {
                    calls.push((to, 0));
                } else if on_stack[to] {
                    low[v] = low[v].min(number[to]);
                }
                continue;
            }
            if let Some(&(parent, _)) = calls.last() {
                low[parent] = low[parent].min(low[v]);
            }
            if low[v] == number[v] {
                let at = stack.iter().rposition(|&s| s == v as StepId).unwrap_or(0);
                let mut component = stack.split_off(at);
                component.iter().for_each(|&s| on_stack[s as usize] = false);
                component.sort_unstable();
                found.push(component);
            }
        }
    }
    found
}
