//! Guards: logic that only registers with one enable read is evaluated only where that enable is high.
//!
//! Memory that is made of registers is the example: of 54 macros one takes a row, and the others have nothing to do. A
//! guard belongs to outer loops (macros, rows), so that a compiler still makes vectors of the loops inside them.

use std::collections::BTreeMap;

use super::plan::depends_on_loops;
use super::sites::{Loop, Sites};
use super::steps::{Guard, Kind, Span, Step, StepId, outputs};
use super::store::{ArrayId, Store};

/// Turns of the loops inside a guard: for fewer, the question costs more than it saves.
const INSIDE: u64 = 8;

/// A reader of an array.
#[derive(Clone, Copy)]
struct Reader {
    step: StepId,
    /// To know whether it is enabled.
    as_enable: bool,
}

/// Finds the guards, and makes steps read what their guards read, so that it is evaluated before them. A guard has at
/// least `least` turns inside, or at least as many as pay off.
pub(super) fn guard(sites: &Sites, store: &Store<'_>, steps: &mut [Step], least: u64) {
    if store.observed {
        return;
    }
    let inside = INSIDE.min(least);
    let mut guards: Vec<Option<Guard>> =
        (0..steps.len() as StepId).map(|id| of_register(sites, steps, id, inside)).collect();
    let mut readers: BTreeMap<ArrayId, Vec<Reader>> = BTreeMap::new();
    for (id, step) in steps.iter().enumerate() {
        for read in &step.reads {
            let array = read.access.array;
            let as_enable = step.enables.iter().any(|enable| enable.access.array == array);
            readers.entry(array).or_default().push(Reader { step: id as StepId, as_enable });
        }
    }
    let seen = outputs(sites, store);
    // From registers to what they read, to what that reads, and so on.
    loop {
        let mut found = false;
        for id in (0..steps.len()).rev() {
            let step = &steps[id];
            let array = step.writes.access.array;
            if guards[id].is_some() || !matches!(step.kind, Kind::Drive { .. }) || seen.contains(&array) {
                continue;
            }
            let Some(readers) = readers.get(&array) else { continue };
            let mut of_readers = readers.iter().map(|reader| (reader, guards[reader.step as usize].as_ref()));
            let Some(Some(first)) = of_readers.clone().next().map(|r| r.1) else { continue };
            let fits = |(reader, guard): (&Reader, Option<&Guard>)| {
                guard == Some(first) && !reader.as_enable && {
                    let mut reads = steps[reader.step as usize].reads.iter().filter(|r| r.access.array == array);
                    reads.all(|read| same_turn(step, &steps[reader.step as usize], read, first.depth()))
                }
            };
            if of_readers.all(fits) && is_inside(step, &first.outer, inside) {
                guards[id] = Some(first.clone());
                found = true;
            }
        }
        if !found {
            break;
        }
    }
    for (id, guard) in guards.into_iter().enumerate() {
        let Some(guard) = guard else { continue };
        let enables = steps[guard.register as usize].enables.clone();
        let more = enables.into_iter().filter(|e| !steps[id].reads.iter().any(|r| r.access == e.access));
        let more: Vec<Span> = more.collect();
        steps[id].reads.extend(more);
        steps[id].guard = Some(guard);
    }
}

/// A register's own enable, where that is one for many of its elements.
fn of_register(sites: &Sites, steps: &[Step], id: StepId, inside: u64) -> Option<Guard> {
    let step = &steps[id as usize];
    let Kind::Register { enable: Some(enable), .. } = step.kind else { return None };
    if depends_on_loops(sites.ir(step.site), enable) {
        return None;
    }
    let deepest = |read: &Span| read.access.weights.iter().rposition(|&weight| weight != 0).map_or(0, |d| d + 1);
    let depth = step.enables.iter().map(deepest).max()?;
    let outer = step.nest.get(..depth)?.to_vec();
    let guard = Guard { register: id, enable, site: step.site, outer };
    (depth > 0 && is_inside(step, &guard.outer, inside)).then_some(guard)
}

/// Whether a step has these loops outermost, and enough turns inside them.
fn is_inside(step: &Step, outer: &[Loop], least: u64) -> bool {
    let inner = step.nest.strip_prefix(outer);
    inner.is_some_and(|inner| inner.iter().map(|l| u64::from(l.count)).product::<u64>() >= least)
}

/// Whether in each turn of the outer loops a reader reads what `writer` writes in that turn.
fn same_turn(writer: &Step, reader: &Step, read: &Span, depth: usize) -> bool {
    let (Some(from), Some(to)) = (writer.writes.access.weights.get(..depth), read.access.weights.get(..depth)) else {
        return false;
    };
    // All that the inner loops reach stays between two turns of the innermost outer one.
    let Some(&turn) = from.last().filter(|&&turn| turn > 0) else { return false };
    let stays = |span: &Span, nest: &[Loop]| {
        let inner = span.access.weights.iter().zip(nest).skip(depth);
        let ends = inner.map(|(weight, l)| weight * (i64::from(l.count) - 1));
        let ends: Vec<i64> = ends.chain([span.stride * (span.count as i64 - 1)]).collect();
        let low = span.access.offset + ends.iter().filter(|&&end| end < 0).sum::<i64>();
        let high = span.access.offset + ends.iter().filter(|&&end| end > 0).sum::<i64>();
        low >= 0 && high < turn
    };
    from == to && stays(&writer.writes, &writer.nest) && stays(read, &reader.nest)
}
