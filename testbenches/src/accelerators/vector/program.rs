//! Jobs of the vector accelerator: descriptors, right and wrong, and their operands.

use golden::accelerators::vector::{Shape, Units, VectorTop};
use rand::RngExt;
use rand::seq::SliceRandom;
use sim::stimulus::StimulusRng;

use crate::common::row::rms_norm::epsilon;
use jobs::draft::{Draft, Operations};
use jobs::draw::often;
use jobs::program::Program;

/// The numbers of norms: root mean square 0, softmax, layer norm.
const SOFTMAX: u32 = 1;
const LAYER_NORM: u32 = 2;
/// Steps that may be wanted in any combination, if gains come with a norm.
const STEPS: [&str; 6] = ["scales", "add", "activate", "multiply", "norm", "gain"];

/// A job: a chain of one to `chain` descriptors. One chain of four is spoilt. Some others have a descriptor that breaks
/// a single check of the vector accelerator.
pub fn draw(rng: &mut StimulusRng, (operations, model): (&Operations, &VectorTop), chain: u32) -> Program {
    let shape = model.shape();
    Program::draw(rng, shape.address_width, chain, &(), |rng, program, ()| {
        let one = descriptor(rng, program, (operations, shape));
        seldom(rng, program, one).bytes()
    })
}

/// Spoils an operation on rows now and then.
pub fn seldom(rng: &mut StimulusRng, program: &mut Program, one: Draft) -> Draft {
    let odd = |one: &mut Draft, _: &mut StimulusRng| {
        one.set("columns", one.get("columns").wrapping_sub(1) | 1);
    };
    let length = |one: &mut Draft, rng: &mut StimulusRng| {
        let lengths = [0, 1, one.get("columns") + 1, u32::MAX.into()];
        one.set("length", lengths[rng.random_range(0..4usize)]);
    };
    one.seldom(rng, program, &[&perhaps_unbuilt, &odd, &length])
}

/// Asks for a feature that a build may lack, and for nothing that contradicts it.
fn perhaps_unbuilt(one: &mut Draft, rng: &mut StimulusRng) {
    for field in ["gain", "kind", "causal", "multiply", "length"] {
        one.set(field, 0u32);
    }
    match rng.random_range(0..3u8) {
        0 => one.set("norm", 1u32).set("kind", SOFTMAX).set("length", 1u32),
        1 => one.set("norm", 1u32).set("kind", LAYER_NORM),
        _ => one.set("rotate", 1u32),
    };
}

/// Steps that the shape has and that go together. Rows can be turned only where `pairs` is true.
fn steps(rng: &mut StimulusRng, one: &mut Draft, units: Units, pairs: bool) {
    let drawn: u32 = rng.random();
    for (k, step) in STEPS.into_iter().enumerate() {
        one.set(step, drawn >> k & 1);
    }
    if units.rotary && pairs && rng.random() {
        one.set("multiply", 0u32).set("rotate", 1u32);
    }
    let kinds: Vec<u32> = [(true, 0), (units.softmax, SOFTMAX), (units.layer_norm, LAYER_NORM)]
        .into_iter()
        .filter_map(|(has, kind)| has.then_some(kind))
        .collect();
    let kind = kinds[rng.random_range(0..kinds.len())];
    if !one.is("norm") {
        one.set("gain", 0u32);
    } else if kind == SOFTMAX {
        one.set("gain", 0u32).set("rotate", 0u32).set("kind", kind).set("causal", rng.random::<bool>());
    } else {
        one.set("kind", kind);
    }
    one.set("format", rng.random_range(0..3u32)).set("exact", often(rng, 8));
}

/// Whether rows end in a norm of this kind.
fn has_norm(one: &Draft, kind: u32) -> bool {
    one.is("norm") && one.word("kind") == kind
}

/// Operands that no step reads may lie anywhere, also outside of the window and with any alignment.
fn scatter_unread(rng: &mut StimulusRng, one: &Draft, areas: &mut [(u64, u32); 5]) {
    let read = [true, one.is("add"), one.is("multiply") || one.is("rotate"), one.is("gain"), true];
    for (area, _) in areas.iter_mut().zip(read).filter(|(_, read)| !read) {
        if rng.random() {
            *area = (rng.random(), rng.random());
        }
    }
}

/// An operation of the vector accelerator, with its operands in a share of the free memory.
pub fn descriptor(rng: &mut StimulusRng, places: &mut Program, (operations, shape): (&Operations, &Shape)) -> Draft {
    let mut one = operations.draft("vector");
    let most = shape.lanes * shape.max_beats;
    let mut columns = match rng.random_range(0..4u8) {
        0 => rng.random_range(1..=most.min(20)),
        1 => most,
        _ => rng.random_range(1..=most),
    };
    // Four operands of as many rows with a free gap in front of each, one operand with a row of pairs, the tag. The
    // rest is for the other descriptors of the chain.
    let share = places.left() / 4;
    let bytes = |columns: u32| u64::from(2 * columns).next_multiple_of(64);
    let once = |columns: u32| 4 * 128 + (2 * bytes(columns) + 128) + (64 + 128);
    while columns > 1 && 4 * (bytes(columns) + 64) + once(columns) > share {
        columns = columns.div_ceil(2);
    }
    steps(rng, &mut one, Units::of(shape.steps), columns > 1);
    let softmax = has_norm(&one, SOFTMAX);
    columns &= if one.is("rotate") { !1 } else { !0 };
    let row = bytes(columns) + 64;
    let most_rows = (share.saturating_sub(once(columns)) / (4 * row)).clamp(1, 6);
    let rows = rng.random_range(1..=most_rows) as u32;
    let length = match rng.random_range(0..4u8) {
        _ if !softmax => 0,
        0 => 1,
        1 => columns,
        _ => rng.random_range(1..=columns),
    };
    // Elements, addends, factors, gains, results, the tag, in any order.
    let mut order = [0, 1, 2, 3, 4, 5];
    order.shuffle(rng);
    let (mut areas, mut tag_address) = ([(0, 0); 5], 0);
    let of_a_gain = if has_norm(&one, LAYER_NORM) { 4 } else { 2 };
    for part in order {
        let stride = (row - 64 * rng.random_range(0..2)) as u32;
        match part {
            3 => areas[part].0 = places.take(rng, u64::from(of_a_gain * columns)),
            5 => tag_address = places.take(rng, 64),
            // The same row each time.
            0..3 if often(rng, 5) => areas[part] = (places.take(rng, row), 0),
            _ => areas[part] = (places.take(rng, u64::from(rows) * row), stride),
        }
    }
    if softmax && rng.random() {
        scores(rng, places, areas[0], [rows, columns]);
    }
    let part = [0, 1, 2, 4][rng.random_range(0..4usize)];
    if areas[part].1 != 0 && often(rng, 3) {
        let stride = places.spread(rng, areas[part].0, [rows.into(), u64::from(2 * columns)]);
        areas[part].1 = stride.unwrap_or(areas[part].1);
    }
    // In place, where that may be.
    if !one.is("format") && areas[0].1 != 0 && often(rng, 6) {
        areas[4] = areas[0];
    }
    scatter_unread(rng, &one, &mut areas);
    // A number that no step uses may be anything, a NaN too.
    let number = |rng: &mut StimulusRng, is_used: bool| match is_used {
        true => rng.random_range(0x2c00..0x5000u16) | rng.random_range(0..2u16) << 15,
        false => rng.random(),
    };
    one.header(rng.random_range(0..4), rng.random(), tag_address);
    let scale = number(rng, one.is("scales"));
    let quantizer = number(rng, one.is("format"));
    let epsilon = if one.is("norm") && !softmax { epsilon(rng) } else { rng.random_range(0..1 << 40) };
    one.set("rows", rows).set("columns", columns).set("length", length);
    one.set("scale", scale).set("quantizer", quantizer).set("epsilon", epsilon);
    let [x, addends, factors, gains, out] = areas;
    one.operand("x", x).operand("addend", addends).operand("factor", factors).operand("out", out);
    one.set("gain_address", gains.0);
    one
}

/// Rows of numbers whose powers of e have similar sizes, and minus infinities; a row may have minus infinities only.
fn scores(rng: &mut StimulusRng, places: &mut Program, at: (u64, u32), [rows, columns]: [u32; 2]) {
    for row in 0..u64::from(if at.1 == 0 { 1 } else { rows }) {
        let masked = [0, 1, 8][rng.random_range(0..3usize)];
        let score = |rng: &mut StimulusRng| {
            if rng.random_range(0..8u8) < masked {
                return 0xfc00;
            }
            rng.random_range(0..0x4800u16) | rng.random_range(0..2u16) << 15
        };
        let bytes: Vec<u8> = (0..columns).flat_map(|_| score(rng).to_le_bytes()).collect();
        places.put(at.0 + row * u64::from(at.1), &bytes);
    }
}

#[cfg(test)]
mod tests;
