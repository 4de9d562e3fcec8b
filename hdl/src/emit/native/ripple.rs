//! Steps whose arrays depend on each other element by element.

use std::collections::BTreeMap;

use super::steps::{Span, Step, StepId};
use super::store::Store;

/// Steps that are evaluated together, element by element.
pub(super) struct Ripple {
    pub steps: Vec<StepId>,
    pub plan: Plan,
}

/// How they are evaluated.
pub(super) enum Plan {
    /// One loop nest around all steps, in this order; `down` from the last turn to the first one.
    Together { order: Vec<StepId>, down: bool },
    /// Runs one after the other.
    Runs(Vec<Run>),
}

/// A step for a box of turns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Run {
    pub step: StepId,
    pub turns: Vec<Range>,
}

/// Values of one loop variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Range {
    pub start: i64,
    pub step: i64,
    pub count: u32,
}

/// A step with the values of the loop variables around it.
type Turn = (StepId, Vec<i64>);

/// The turns of steps as a graph.
struct Turns {
    vertices: Vec<Turn>,
    /// Reader after writer.
    edges: Vec<Vec<u32>>,
}

pub(super) fn ripple(store: &Store<'_>, steps: &[Step], members: &[StepId]) -> Ripple {
    let turns = Turns::new(store, steps, members);
    let same_nest = members.iter().all(|&m| steps[m as usize].nest == steps[members[0] as usize].nest);
    let together = if same_nest { turns.together(members) } else { None };
    let plan = together.unwrap_or_else(|| Plan::Runs(turns.runs()));
    Ripple { steps: members.to_vec(), plan }
}

impl Turns {
    fn new(store: &Store<'_>, steps: &[Step], members: &[StepId]) -> Self {
        let mut vertices: Vec<Turn> = Vec::new();
        for &member in members {
            iterate(&steps[member as usize], |values| vertices.push((member, values.to_vec())));
        }
        let mut writers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (v, (step, values)) in vertices.iter().enumerate() {
            let span = &steps[*step as usize].writes;
            let len = store.array(span.access.array).len as usize;
            let map = writers.entry(span.access.array).or_insert_with(|| vec![u32::MAX; len]);
            elements(span, values, |element| map[element] = v as u32);
        }
        let mut edges = vec![vec![]; vertices.len()];
        for (v, (step, values)) in vertices.iter().enumerate() {
            for span in &steps[*step as usize].reads {
                let Some(map) = writers.get(&span.access.array) else { continue };
                elements(span, values, |element| {
                    if map[element] != u32::MAX {
                        edges[map[element] as usize].push(v as u32);
                    }
                });
            }
        }
        Self { vertices, edges }
    }

    /// One loop around all steps, if each turn reads earlier turns, or earlier steps of its own.
    fn together(&self, members: &[StepId]) -> Option<Plan> {
        'direction: for down in [false, true] {
            let mut within: BTreeMap<StepId, Vec<StepId>> = BTreeMap::new();
            for (from, to) in self.pairs() {
                let ((a, x), (b, y)) = (from, to);
                if x == y {
                    within.entry(*a).or_default().push(*b);
                } else if (x < y) == down {
                    continue 'direction;
                }
            }
            if let Some(order) = topological(members, &within) {
                return Some(Plan::Together { order, down });
            }
        }
        None
    }

    fn pairs(&self) -> impl Iterator<Item = (&Turn, &Turn)> {
        let vertex = |v: usize| &self.vertices[v];
        let all = self.edges.iter().enumerate();
        all.flat_map(move |(from, list)| list.iter().map(move |&to| (vertex(from), vertex(to as usize))))
    }

    /// Level by level, as boxes of turns.
    fn runs(&self) -> Vec<Run> {
        let mut waiting = vec![0_u32; self.vertices.len()];
        self.edges.iter().flatten().for_each(|&to| waiting[to as usize] += 1);
        let mut level: Vec<u32> = (0..waiting.len() as u32).filter(|&v| waiting[v as usize] == 0).collect();
        let mut runs = Vec::new();
        while !level.is_empty() {
            let mut by_step: BTreeMap<StepId, Vec<Vec<Range>>> = BTreeMap::new();
            for &v in &level {
                let (step, values) = &self.vertices[v as usize];
                let turn = values.iter().map(|&start| Range { start, step: 1, count: 1 }).collect();
                by_step.entry(*step).or_default().push(turn);
            }
            for (step, turns) in by_step {
                runs.extend(boxes(turns).into_iter().map(|turns| Run { step, turns }));
            }
            let mut next = Vec::new();
            for &v in &level {
                for &to in &self.edges[v as usize] {
                    waiting[to as usize] -= 1;
                    if waiting[to as usize] == 0 {
                        next.push(to);
                    }
                }
            }
            level = next;
        }
        runs
    }
}

/// Joins turns that differ in one loop variable by equal distances, innermost first.
fn boxes(mut turns: Vec<Vec<Range>>) -> Vec<Vec<Range>> {
    let dimensions = turns.first().map_or(0, Vec::len);
    for d in (0..dimensions).rev() {
        turns.sort_by(|a, b| {
            let others =
                |t: &[Range]| t.iter().enumerate().filter(|(k, _)| *k != d).map(|(_, r)| *r).collect::<Vec<_>>();
            others(a).cmp(&others(b)).then(a[d].start.cmp(&b[d].start))
        });
        let mut joined: Vec<Vec<Range>> = Vec::new();
        for turn in turns {
            let same = |last: &Vec<Range>| (0..dimensions).all(|k| k == d || last[k] == turn[k]);
            match joined.last_mut().filter(|last| same(last)) {
                Some(last) if last[d].count == 1 => {
                    last[d].step = turn[d].start - last[d].start;
                    last[d].count = 2;
                }
                Some(last) if last[d].start + last[d].step * i64::from(last[d].count) == turn[d].start => {
                    last[d].count += 1;
                }
                _ => joined.push(turn),
            }
        }
        turns = joined;
    }
    turns
}

fn topological(members: &[StepId], edges: &BTreeMap<StepId, Vec<StepId>>) -> Option<Vec<StepId>> {
    let mut waiting: BTreeMap<StepId, u32> = members.iter().map(|&m| (m, 0)).collect();
    edges.values().flatten().for_each(|to| *waiting.entry(*to).or_default() += 1);
    let mut order: Vec<StepId> = members.iter().copied().filter(|m| waiting[m] == 0).collect();
    let mut at = 0;
    while at < order.len() {
        for to in edges.get(&order[at]).into_iter().flatten() {
            let left = waiting.entry(*to).or_default();
            *left -= 1;
            if *left == 0 {
                order.push(*to);
            }
        }
        at += 1;
    }
    (order.len() == members.len()).then_some(order)
}

/// All turns of a step, the innermost loop fastest.
fn iterate(step: &Step, mut visit: impl FnMut(&[i64])) {
    let mut values = vec![0; step.nest.len()];
    loop {
        visit(&values);
        let Some(k) = (0..values.len()).rev().find(|&k| values[k] + 1 < i64::from(step.nest[k].count)) else { return };
        values[k] += 1;
        values[k + 1..].fill(0);
    }
}

fn elements(span: &Span, values: &[i64], mut visit: impl FnMut(usize)) {
    let at: i64 = span.access.weights.iter().zip(values).map(|(w, v)| w * v).sum::<i64>() + span.access.offset;
    for k in 0..span.count as i64 {
        visit((at + k * span.stride) as usize);
    }
}
