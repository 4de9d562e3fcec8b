//! Operations on tokens in memory: a head is saved, and tokens come back, from an earlier save or from rows that are
//! drawn.

use golden::accelerators::kelle::{HEAD_BYTES, KelleTop, Shape};
use rand::RngExt;
use rand::seq::SliceRandom;
use sim::stimulus::StimulusRng;

use jobs::draft::{Draft, Operations};
use jobs::draw::{area, area_bytes, often, size};
use jobs::program::Program;

/// What jobs are drawn for: the operations and the shape of an accelerator.
type Target<'a> = (&'a Operations, &'a Shape);

/// A head that has tokens for sure.
#[derive(Clone, Copy)]
pub(super) struct Filled {
    pub head: u32,
    /// So many at least.
    pub tokens: u32,
    pub elements: u32,
}

/// Tokens of a head in memory.
#[derive(Clone, Copy)]
struct Saved {
    place: (u64, u32),
    tokens: u32,
    elements: u32,
}

/// What a chain knows for sure of the heads and of memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    pub filled: Option<Filled>,
    /// A head, and exactly how many tokens it has.
    pub exact: Option<(u32, u32)>,
    saved: Option<Saved>,
}

impl Known {
    /// A head is empty.
    pub fn cleared(&mut self, head: u32) {
        (self.filled, self.exact) = (None, Some((head, 0)));
    }

    /// So many tokens came to a head, which keeps at most as many as `budget`.
    pub fn entered(&mut self, filled: Filled, tokens: u32, budget: u32) {
        self.filled = Some(filled);
        if let Some((head, count)) = &mut self.exact
            && *head == filled.head
        {
            *count = (*count + tokens).min(budget);
        }
    }

    /// A head without tokens.
    pub fn empty(&self) -> Option<u32> {
        self.exact.filter(|&(_, count)| count == 0).map(|(head, _)| head)
    }
}

/// Elements of a vector.
pub(super) fn elements(rng: &mut StimulusRng, shape: &Shape) -> u32 {
    shape.columns * size(rng, shape.width / shape.columns)
}

/// As many rows of tokens as there is room for, of some.
fn rows(rng: &mut StimulusRng, program: &Program, most: u32, row_bytes: u32) -> u32 {
    let share = program.left() as u32 / 3;
    let room = (share.saturating_sub(256) / area_bytes(1, row_bytes)).max(1);
    size(rng, most.min(room))
}

/// Some of the tokens of a head.
pub(super) fn save(
    rng: &mut StimulusRng,
    program: &mut Program,
    (operations, model): (&Operations, &KelleTop),
    known: &mut Known,
) -> Draft {
    let shape = model.shape();
    let filled = known.filled.filter(|_| !often(rng, 8)).unwrap_or_else(|| {
        // There may be as many tokens or not.
        program.plain = false;
        let head = rng.random_range(0..shape.heads);
        let held = model.head(head as usize).tokens.len() as u32;
        let tokens = if held > 0 && !often(rng, 4) { held } else { size(rng, shape.slots) };
        Filled { head, tokens, elements: elements(rng, shape) }
    });
    let row_bytes = HEAD_BYTES as u32 + 4 * filled.elements;
    let first = rng.random_range(0..filled.tokens);
    let tokens = rows(rng, program, filled.tokens - first, row_bytes);
    let out = area(rng, program, tokens, row_bytes, false);
    known.saved = Some(Saved { place: out, tokens, elements: filled.elements });
    let mut one = operations.drawn(rng, program, "save");
    one.set("head", filled.head).set("first", first).set("tokens", tokens).set("elements", filled.elements);
    one.operand("out", out);
    one
}

/// Tokens come back to a head whose number of tokens is known. If there is none, there may be as many or not.
pub(super) fn restore(
    rng: &mut StimulusRng,
    program: &mut Program,
    (operations, model): (&Operations, &KelleTop),
    known: &mut Known,
) -> Draft {
    let shape = model.shape();
    let (head, first) = known.exact.filter(|&(_, count)| count < shape.slots).unwrap_or_else(|| {
        program.plain = false;
        let head = rng.random_range(0..shape.heads);
        (head, (model.head(head as usize).tokens.len() as u32).min(shape.slots - 1))
    });
    let room = shape.slots - first;
    let saved = known.saved.filter(|saved| first == 0 && saved.tokens <= room && !often(rng, 4));
    let saved = saved.unwrap_or_else(|| tokens(rng, program, shape, (room, first == 0)));
    known.exact = Some((head, first));
    known.entered(Filled { head, tokens: first + saved.tokens, elements: saved.elements }, saved.tokens, shape.slots);
    let mut one = operations.drawn(rng, program, "restore");
    one.set("head", head).set("first", first).set("tokens", saved.tokens).set("elements", saved.elements);
    one.operand("saved", saved.place);
    one
}

/// Rows as some head would save them, with any scores, keys and values; seldom a front that nobody saves.
fn tokens(rng: &mut StimulusRng, program: &mut Program, shape: &Shape, (most, slotted): (u32, bool)) -> Saved {
    let elements = elements(rng, shape);
    let row_bytes = HEAD_BYTES as u32 + 4 * elements;
    let tokens = rows(rng, program, most, row_bytes);
    let place = area(rng, program, tokens, row_bytes, true);
    let mut slots: Vec<u8> = (1..=shape.recompute as u8).collect();
    slots.shuffle(rng);
    let slotted = slotted && (place.1 > 0 || tokens == 1) && often(rng, 3);
    // Seldom a slot has two tokens.
    let (twice, mut with_slot) = (often(rng, 5), 0);
    let wrong = often(rng, 10).then(|| rng.random_range(0..tokens));
    for row in 0..if place.1 == 0 { 1 } else { tokens } {
        let score = match rng.random_range(0..4u8) {
            0 => 0,
            1 => shape.top_score(),
            _ => rng.random_range(0..=shape.top_score()),
        };
        let mut front = [0; HEAD_BYTES as usize];
        front[..4].copy_from_slice(&(score as u32).to_le_bytes());
        if shape.recompute > 0 {
            front[4..6].copy_from_slice(&rng.random::<u16>().to_le_bytes());
            if slotted && rng.random() {
                front[6] = slots.last().copied().unwrap_or(0);
                with_slot += 1;
                if !twice {
                    slots.pop();
                } else if with_slot > 1 {
                    program.plain = false;
                }
            }
        }
        if wrong == Some(row) {
            program.plain = false;
            let at = if rng.random() { rng.random_range(0..8) } else { rng.random_range(0..front.len()) };
            front[at] = rng.random();
        }
        let at = program_row(place, row);
        program.put(at, &front);
        let vectors: Vec<u8> = (0..2 * elements).flat_map(|_| rng.random::<u16>().to_le_bytes()).collect();
        program.put(at + HEAD_BYTES, &vectors);
    }
    Saved { place, tokens, elements }
}

/// The address of a row.
fn program_row((address, stride): (u64, u32), row: u32) -> u64 {
    address + u64::from(row) * u64::from(stride)
}

/// A token gets a slot; there may be none that can have it.
pub(super) fn recompute(
    rng: &mut StimulusRng,
    program: &mut Program,
    (operations, shape): Target<'_>,
    filled: Option<Filled>,
) -> Draft {
    let (head, tokens) = filled.map_or((rng.random_range(0..shape.heads), 1), |filled| (filled.head, filled.tokens));
    program.plain &= filled.is_some();
    let mut one = operations.drawn(rng, program, "recompute");
    one.set("head", head)
        .set("position", rng.random_range(0..tokens))
        .set("slot", rng.random_range(0..shape.recompute));
    one
}
