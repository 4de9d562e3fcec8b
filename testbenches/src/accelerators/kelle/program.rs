//! Jobs of the Kelle accelerator: descriptors, right and wrong, and their operands.

use golden::accelerators::kelle::{CONSTANT_BYTES, KelleTop, Shape};
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::super::vector::program as vector;
use super::saved::{self, Filled, Known, elements};
use jobs::draft::{Draft, Operations};
use jobs::draw::{area, area_bytes, half, often, size};
use jobs::program::Program;

/// What jobs are drawn for: the operations and the shape of an accelerator.
type Target<'a> = (&'a Operations, &'a Shape);

/// A job: a chain of one to `chain` descriptors, over all operations that the shape has; one chain of four is spoilt. A
/// right chain does not depend on tokens that heads hold from jobs before.
///
/// # Panics
/// The shape is one that the accelerator refuses.
pub fn draw(rng: &mut StimulusRng, (operations, model): (&Operations, &KelleTop), chain: u32) -> Program {
    let shape = model.shape();
    let target = (operations, shape);
    Program::draw(rng, shape.vector.address_width, chain, &Known::default(), |rng, program, known: &mut Known| {
        let back = shape.save && known.empty().is_some() && rng.random();
        let one = match rng.random_range(0..19u8) {
            _ if back => saved::restore(rng, program, (operations, model), known),
            0..3 => {
                let one = vector::descriptor(rng, program, (operations, &shape.vector));
                return vector::seldom(rng, program, one).bytes();
            }
            3..7 => linear(rng, program, target),
            7 => clear(rng, program, target, known),
            8 => refresh(rng, program, target),
            9..11 if shape.save => saved::save(rng, program, (operations, model), known),
            11..13 if shape.recompute > 0 => saved::recompute(rng, program, target, known.filled),
            17..19 if shape.save => match known.exact {
                // Mostly to a head of which the chain knows how many tokens it has.
                None if !often(rng, 4) => clear(rng, program, target, known),
                _ => saved::restore(rng, program, (operations, model), known),
            },
            _ => {
                let one = attention(rng, program, target, known);
                let nobody = |one: &mut Draft, rng: &mut StimulusRng| nobody_may_leave(one, rng, shape.slots);
                return one.seldom(rng, program, &[&nobody]).bytes();
            }
        };
        one.seldom(rng, program, &[]).bytes()
    })
}

/// Sink and window take all slots that the head keeps, or nearly all.
fn nobody_may_leave(one: &mut Draft, rng: &mut StimulusRng, slots: u32) {
    let (field, other) = if rng.random() { ("sink", "window") } else { ("window", "sink") };
    let rest = one.get("budget").saturating_sub(one.get(other));
    let values = [rest, rest.saturating_sub(1), slots.into(), u64::from(slots) - 1, u16::MAX.into()];
    one.set(field, values[rng.random_range(0..values.len())]);
}

/// fp32: about 2^`exponent`.
fn single(rng: &mut StimulusRng, exponent: i32) -> u32 {
    (rng.random_range(1.0..2.0f32) * 2f32.powi(exponent)).to_bits()
}

/// An fp32 number, or any bits one time in `one_in`.
fn wild(rng: &mut StimulusRng, one_in: u32, exponent: i32) -> u32 {
    if often(rng, one_in) { rng.random() } else { single(rng, exponent) }
}

/// Puts mild numbers of fp16 into rows; seldom some that are not.
fn fill(rng: &mut StimulusRng, program: &mut Program, (address, stride): (u64, u32), [rows, columns]: [u32; 2]) {
    let strange = often(rng, 4);
    for row in 0..if stride == 0 { 1 } else { rows } {
        let number = |rng: &mut StimulusRng| match strange {
            true => half(rng),
            false => rng.random_range(0x3000..0x4400u16) | u16::from(rng.random::<bool>()) << 15,
        };
        let bytes: Vec<u8> = (0..columns).flat_map(|_| number(rng).to_le_bytes()).collect();
        program.put(address + u64::from(row) * u64::from(stride), &bytes);
    }
}

/// A quantizer: its results are mostly integers of some hundreds or thousands; seldom nearly zero, or too large.
fn quantizer(rng: &mut StimulusRng) -> i32 {
    match rng.random_range(0..16u8) {
        0 => rng.random_range(-4..4),
        1 => rng.random_range(13..16),
        _ => rng.random_range(6..13),
    }
}

/// Rows times weights.
fn linear(rng: &mut StimulusRng, program: &mut Program, (operations, shape): Target<'_>) -> Draft {
    let panel = shape.panel() as u32;
    let (mut rows, mut columns, mut channels) = (size(rng, shape.tokens), size(rng, 3 * panel), size(rng, shape.inner));
    // Many columns for the high bits of all that counts columns, groups and panels.
    if often(rng, 12) {
        (rows, columns, channels) = (1, rng.random_range(3 * panel..=16 * panel), size(rng, shape.inner.min(3)));
    }
    let share = program.left() as u32 / 3;
    let bytes = |rows: u32, columns: u32, channels: u32| {
        area_bytes(rows, 2 * channels)
            + area_bytes(columns.div_ceil(panel), channels * panel)
            + area_bytes(1, CONSTANT_BYTES as u32 * columns)
            + area_bytes(rows, 2 * columns)
            + 256
    };
    while bytes(rows, columns, channels) > share && [rows, columns, channels] != [1; 3] {
        match [columns, channels, rows].into_iter().max() {
            Some(most) if most == columns => columns = columns.div_ceil(2),
            Some(most) if most == channels => channels = channels.div_ceil(2),
            _ => rows = rows.div_ceil(2),
        }
    }
    let mut x = area(rng, program, rows, 2 * channels, true);
    fill(rng, program, x, [rows, channels]);
    if x.1 != 0 && often(rng, 12) {
        x.1 = program.spread(rng, x.0, [rows.into(), u64::from(2 * channels)]).unwrap_or(x.1);
    }
    let panels = columns.div_ceil(panel);
    let mut weights = area(rng, program, panels, channels * panel, true);
    for row in 0..if weights.1 == 0 { 1 } else { panels } {
        let large = often(rng, 4);
        let weight =
            |rng: &mut StimulusRng| if large { [0x80, 0x7f][rng.random_range(0..2usize)] } else { rng.random() };
        let bytes: Vec<u8> = (0..channels * panel).map(|_| weight(rng)).collect();
        program.put(weights.0 + u64::from(row) * u64::from(weights.1), &bytes);
    }
    if weights.1 != 0 && panels > 1 && often(rng, 8) {
        let sizes = [panels.into(), u64::from(channels * panel)];
        weights.1 = program.spread(rng, weights.0, sizes).unwrap_or(weights.1);
    }
    let exponent = quantizer(rng);
    let strange = if often(rng, 6) { 6 } else { u32::MAX };
    let constants: Vec<u8> = (0..columns)
        .flat_map(|_| [wild(rng, strange, -exponent - 8), wild(rng, strange, 0)])
        .flat_map(u32::to_le_bytes)
        .collect();
    let records = program.take(rng, constants.len() as u64);
    program.put(records, &constants);
    let mut out = area(rng, program, rows, 2 * columns, false);
    if often(rng, 12) {
        out.1 = program.spread(rng, out.0, [rows.into(), u64::from(2 * columns)]).unwrap_or(out.1);
    }
    let mut one = operations.drawn(rng, program, "linear");
    one.set("rows", rows).set("columns", columns).set("channels", channels).set("exact", often(rng, 8));
    one.set("quantizer", wild(rng, 40, exponent)).set("constants_address", records);
    one.operand("x", x).operand("panel", weights).operand("out", out);
    one
}

/// Tokens that enter a head.
fn attention(
    rng: &mut StimulusRng,
    program: &mut Program,
    (operations, shape): Target<'_>,
    known: &mut Known,
) -> Draft {
    // Few heads, so that tokens of jobs before are there.
    let head = if often(rng, 3) { rng.random_range(0..shape.heads) } else { rng.random_range(0..shape.heads.min(2)) };
    // And the head that got its tokens from memory.
    let head = known.exact.filter(|_| rng.random()).map_or(head, |(head, _)| head);
    let (mut group, mut elements) = (size(rng, shape.group), elements(rng, shape));
    let mut tokens = if often(rng, 3) { rng.random_range(1..=12) } else { rng.random_range(1..=3) };
    let share = program.left() as u32 / 3;
    let late = often(rng, 2);
    // A late value does not come again. Slots that the head has from jobs before may be among them or not.
    let again = match rng.random_range(0..8u8) {
        _ if late => 0,
        0 => 0,
        1 => rng.random_range(0..=shape.recompute),
        _ => shape.recompute,
    };
    // So many tokens that their numbers get higher bits. All have the same rows.
    let many = 2 * group * elements <= 64 && often(rng, 24);
    if many {
        tokens = rng.random_range(65..=130);
    }
    let bytes = |tokens: u32, group: u32, elements: u32| {
        2 * area_bytes(tokens, 2 * group * elements) + 2 * area_bytes(tokens + again, 2 * elements) + 256
    };
    while !many && bytes(tokens, group, elements) > share && [tokens, group] != [1; 2] {
        if tokens > 1 { tokens = tokens.div_ceil(2) } else { group = group.div_ceil(2) }
    }
    if !many && bytes(tokens, group, elements) > share {
        elements = shape.columns;
    }
    let rows = tokens + again;
    let mut places = [(tokens, group * elements), (rows, elements), (rows, elements)].map(|(rows, columns)| {
        let rows = if many { 1 } else { rows };
        let mut place = area(rng, program, rows, 2 * columns, true);
        fill(rng, program, place, [rows, columns]);
        if many {
            place.1 = 0;
        }
        place
    });
    let mut out = area(rng, program, tokens, 2 * group * elements, false);
    if places[0].1 != 0 && often(rng, 6) {
        out = places[0];
    } else if often(rng, 8) {
        let (place, rows, columns) = match rng.random_range(0..4usize) {
            0 => (&mut places[0], tokens, group * elements),
            kind @ 1..3 => (&mut places[kind], rows, elements),
            _ => (&mut out, tokens, group * elements),
        };
        if place.1 != 0 {
            place.1 = program.spread(rng, place.0, [rows.into(), u64::from(2 * columns)]).unwrap_or(place.1);
        }
    }
    let budget = match rng.random_range(0..4u8) {
        0 => shape.slots,
        _ => size(rng, shape.slots),
    };
    let sink = rng.random_range(0..budget.div_ceil(2));
    let window = if often(rng, 4) { budget - 1 - sink } else { rng.random_range(0..budget - sink) };
    // Small integers, and amounts of all of a product's bits.
    let small = often(rng, 4);
    let [q, k, v] = [(); 3].map(|()| if small { rng.random_range(-2..5) } else { quantizer(rng) });
    let product = q + k + elements.ilog2() as i32;
    // Amounts of some units, or of none, or too large.
    let shift = match small {
        true => rng.random_range(0..8),
        false => (product - rng.random_range(0..10)).clamp(0, 47) as u32,
    };
    let mut one = operations.drawn(rng, program, "attention");
    one.set("exact", often(rng, 8)).set("late", late);
    one.set("head", head).set("tokens", tokens).set("group", group).set("elements", elements).set("again", again);
    one.set("budget", budget).set("sink", sink).set("window", window).set("shift", shift);
    for (field, exponent) in [("query_quantizer", q), ("key_quantizer", k), ("value_quantizer", v)] {
        one.set(field, wild(rng, 40, exponent));
    }
    let score = rng.random_range(-2..4) - product;
    one.set("score_scale", wild(rng, 20, score)).set("result_scale", wild(rng, 20, -15 - v));
    for (operand, place) in ["query", "key", "value"].into_iter().zip(places) {
        one.operand(operand, place);
    }
    one.operand("out", out);
    known.entered(Filled { head, tokens: tokens.min(budget), elements }, tokens, budget);
    one
}

/// Heads that are emptied: seldom, and seldom all.
fn clear(rng: &mut StimulusRng, program: &mut Program, (operations, shape): Target<'_>, known: &mut Known) -> Draft {
    let mut one = operations.drawn(rng, program, "clear");
    let first = rng.random_range(0..shape.heads);
    let heads = size(rng, shape.heads - first);
    one.set("first", first).set("heads", heads);
    known.cleared(first);
    one
}

/// Intervals of any length, the shortest ones among them.
fn refresh(rng: &mut StimulusRng, program: &mut Program, (operations, shape): Target<'_>) -> Draft {
    let mut one = operations.drawn(rng, program, "refresh");
    let (least, most) = (2 * shape.cache_rows, ((1u64 << shape.interval_bits) - 1) as u32);
    let interval = |rng: &mut StimulusRng| match rng.random_range(0..4u8) {
        0 => least,
        1 => most,
        2 => rng.random_range(least..=most.min(4 * least)),
        _ => rng.random_range(least..=most),
    };
    let threshold = rng.random_range(0..=shape.top_score()) as u32;
    one.set("threshold", threshold);
    for field in ["high_msb", "high_lsb", "low_msb", "low_lsb"] {
        one.set(field, interval(rng));
    }
    one
}

#[cfg(test)]
mod tests;
