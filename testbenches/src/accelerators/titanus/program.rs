//! Jobs of the Titanus core: descriptors, right and wrong, and their operands.
//!
//! What a descriptor may ask for depends on what the core holds. So a copy of the model does each descriptor as soon as
//! it is drawn. The next one is drawn for what the copy then holds.

use golden::accelerators::job::{Accelerator, Fields};
use golden::accelerators::memory::SparseMemory;
use golden::accelerators::titanus::TitanusCore;
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::super::vector::program as vector;
use jobs::draft::{Draft, Operations};
use jobs::draw::{area, half, often, size};
use jobs::program::Program;

/// Memory that a chain has written so far, and the state of the core then.
#[derive(Clone)]
struct Plan<'a> {
    operations: &'a Operations,
    model: TitanusCore,
    /// Addresses where earlier descriptors have written, with the bytes.
    written: Vec<(u64, Vec<u8>)>,
    /// Where the streams of the cache are, if they were begun in this chain, and lines of each.
    areas: Option<([u64; 2], u32)>,
}

impl Plan<'_> {
    /// Does a descriptor: `None` where it is refused, or its end is not certain.
    fn perform(&mut self, program: &Program, one: &Draft) -> Option<()> {
        let mut memory = SparseMemory::new();
        memory.store(program.base, &program.image);
        self.written.iter().for_each(|(at, bytes)| memory.store(*at, bytes));
        let done = self.model.perform(one.opcode(), Fields(&one.words()), &program.limits, &mut memory).ok()?;
        let outs = golden::accelerators::job::Operation::outs(&done.operation);
        for out in outs {
            for at in out.row_addresses() {
                self.written.push((at, memory.bytes(at, out.row_bytes as usize)));
            }
        }
        done.certain.then_some(())
    }
}

/// A job: a chain of one to `chain` descriptors for a core that stands as `model` does; of each four chains one is spoilt.
pub fn draw(rng: &mut StimulusRng, (operations, model): (&Operations, &TitanusCore), chain: u32) -> Program {
    let before = Plan { operations, model: model.clone(), written: Vec::new(), areas: None };
    let mut program = Program::draw(rng, model.shape().vector.address_width, chain, &before, |rng, program, plan| {
        let good = operation(rng, program, plan);
        let one = good.clone().seldom(rng, program, &[]);
        if one == good {
            // Where it fails, nothing follows.
            let _ = plan.perform(program, &one);
        }
        one.bytes()
    });
    if model.engine(1).is_some() && !often(rng, 8) {
        program.order(rng, &model.clone());
    }
    program
}

fn operation(rng: &mut StimulusRng, program: &mut Program, plan: &mut Plan<'_>) -> Draft {
    if plan.model.shape().links && often(rng, 3) {
        return link(rng, program, plan);
    }
    match rng.random_range(0..12u8) {
        0 => {
            let one = vector::descriptor(rng, program, (plan.operations, &plan.model.shape().vector));
            vector::seldom(rng, program, one)
        }
        1 => weights(rng, program, plan),
        2 => constants(rng, program, plan),
        3..6 => append(rng, program, plan),
        // Seldom before the end of a prefill, which is refused.
        6 | 7 if plan.model.cache_tokens() > 0 && (!plan.model.is_filling() || often(rng, 20)) => {
            restore(rng, program, plan)
        }
        6 | 7 => append(rng, program, plan),
        kind => product(rng, program, plan, kind % 3),
    }
}

/// An integer of 8 bits: any, small, 0.
fn byte(rng: &mut StimulusRng, wild: bool) -> u8 {
    match rng.random_range(0..8u8) {
        0 | 1 => 0,
        2 if wild => [0x80, 0x7f][usize::from(rng.random::<bool>())],
        _ if wild => rng.random(),
        _ => rng.random_range(-20..=20i8) as u8,
    }
}

/// Rows of integers, each of so many bytes.
fn integers(rng: &mut StimulusRng, program: &mut Program, rows: u32, bytes: u32) -> (u64, u32) {
    let place = area(rng, program, rows, bytes, true);
    let wild = rng.random();
    for row in 0..if place.1 == 0 { 1 } else { rows } {
        let bytes: Vec<u8> = (0..bytes).map(|_| byte(rng, wild)).collect();
        program.put(place.0 + u64::from(row * place.1), &bytes);
    }
    place
}

/// Halves sizes until the operands fit into a share of the free memory.
fn fitted<const N: usize>(program: &Program, mut sizes: [u32; N], bytes: impl Fn([u32; N]) -> u32) -> [u32; N] {
    let share = program.left() as u32 / 5;
    while bytes(sizes) > share && sizes.iter().any(|&size| size > 1) {
        let most = sizes.iter_mut().max().expect("there is one");
        *most = most.div_ceil(2);
    }
    sizes
}

fn row_bytes(bytes: u32) -> u32 {
    bytes.next_multiple_of(64) + 64
}

/// A place in the store: first row and column of macros, and the sizes that fit there.
fn place(rng: &mut StimulusRng, plan: &Plan<'_>) -> ([u32; 2], [u32; 2]) {
    let shape = plan.model.shape();
    let first = [shape.rows, shape.columns].map(|count| if often(rng, 2) { 0 } else { rng.random_range(0..count) });
    let most = [(shape.rows - first[0]) * shape.inputs, (shape.columns - first[1]) * shape.outputs];
    (first, most)
}

fn weights(rng: &mut StimulusRng, program: &mut Program, plan: &Plan<'_>) -> Draft {
    let (first, most) = place(rng, plan);
    // Mostly all of it, so that products find their operands.
    let sizes = most.map(|most| if often(rng, 3) { size(rng, most) } else { most });
    let [rows, columns] = fitted(program, sizes, |[rows, columns]| rows * row_bytes(columns) + 512);
    let (address, stride) = integers(rng, program, rows, columns);
    let mut one = plan.operations.drawn(rng, program, "load");
    one.set("rows", rows).set("columns", columns).set("first_row", first[0]).set("first_column", first[1]);
    one.set("address", address).set("stride", stride);
    one
}

fn constants(rng: &mut StimulusRng, program: &mut Program, plan: &Plan<'_>) -> Draft {
    let all = plan.model.shape().constants;
    let first = if often(rng, 2) { 0 } else { rng.random_range(0..all) };
    let count = if often(rng, 3) { size(rng, all - first) } else { all - first };
    let [count] = fitted(program, [count], |[count]| 8 * count + 512);
    let wild = often(rng, 4);
    let mut bytes = Vec::new();
    for _ in 0..count {
        let near = rng.random_range(0.5..2.0f32) * 2f32.powi(rng.random_range(-9..=-3));
        let scale = if wild && often(rng, 5) { rng.random() } else { near.to_bits() | rng.random_range(0..2u32) << 31 };
        let bias = match rng.random_range(0..8u8) {
            0 if wild => [i32::MIN, i32::MAX][usize::from(rng.random::<bool>())],
            1 if wild => rng.random(),
            2 => 0,
            _ => rng.random_range(-3000..3000),
        };
        bytes.extend(scale.to_le_bytes());
        bytes.extend(bias.to_le_bytes());
    }
    let address = program.take(rng, bytes.len() as u64);
    program.put(address, &bytes);
    let stride = 64 * rng.random_range(0..2u32);
    let mut one = plan.operations.drawn(rng, program, "load");
    one.set("constants", 1u32).set("rows", 1u32).set("columns", count).set("constant", first);
    one.set("address", address).set("stride", stride);
    one
}

/// Tokens after the tokens of the cache, or the first tokens of a new cache.
fn append(rng: &mut StimulusRng, program: &mut Program, plan: &mut Plan<'_>) -> Draft {
    let shape = *plan.model.shape();
    let held = plan.model.cache_tokens();
    let new = held == 0 || often(rng, 4);
    let channels = if often(rng, 3) { size(rng, shape.channels() as u32) } else { shape.channels() as u32 };
    let tokens = if new { size(rng, (3 * shape.context / 2).max(2)) } else { size(rng, shape.buffer.max(2)) };
    let channels = channels.max(1);
    // The most bytes that a token takes: levels open in all of its channels.
    let token_bytes = shape.tiles * (2 + 29 * shape.lanes) / 8 + 1;
    let [tokens] = fitted(program, [tokens], |[tokens]| 2 * tokens * (row_bytes(channels) + token_bytes) + 2048);
    let position = if new { 0 } else { held };
    let keeps = new || plan.model.context_tokens() == held;
    let keep = keeps && position + tokens <= shape.context && rng.random();
    // Now and then more than come at once.
    let longest = if often(rng, 3) { shape.buffer } else { tokens.min(shape.buffer) };
    let prefill = if new && rng.random() { rng.random_range(0..=longest) } else { 0 };
    let (keys, values) = (integers(rng, program, tokens, channels), integers(rng, program, tokens, channels));
    let packed = if !new && plan.model.is_filling() { held + tokens } else { tokens.max(prefill) };
    let most = (u64::from(token_bytes * (packed + 1)) / 64 + 2) as u32;
    // Areas that hold the old and the new tokens; areas of another chain are not in this memory.
    let given = plan.areas.filter(|_| !new && !often(rng, 6));
    let whole = if new { 0 } else { plan.model.whole_blocks() as u32 };
    let (areas, lines) = given.unwrap_or_else(|| {
        // Now and then too few.
        let lines = if often(rng, 5) { 1 } else { whole + 2 * most };
        let room = program.left() / 3 / 64;
        let lines = lines.min(room as u32).max(1);
        ([0; 2].map(|_| program.take(rng, 64 * u64::from(lines))), lines)
    });
    plan.areas = Some((areas, lines));
    let threshold = |rng: &mut StimulusRng| match rng.random_range(0..4u8) {
        0 => 0,
        1 => rng.random_range(0..=255u32),
        _ => rng.random_range(0..12u32),
    };
    let begin = new.then(|| {
        let thresholds = [threshold(rng), threshold(rng)];
        (thresholds, [(); 2].map(|()| rng.random_range(2..=8u32)))
    });
    let exact = often(rng, 8);
    let mut one = plan.operations.drawn(rng, program, "append");
    one.set("tokens", tokens).set("channels", channels).set("position", position).set("prefill", prefill);
    one.set("keep", keep).set("exact", exact).set("lines", lines);
    if let Some((thresholds, bits)) = begin {
        one.set("key_threshold", thresholds[0]).set("value_threshold", thresholds[1]);
        one.set("key_bits", bits[0]).set("value_bits", bits[1]);
    }
    one.operand("key", keys).operand("value", values).set("key_area", areas[0]).set("value_area", areas[1]);
    one
}

/// All tokens of the cache; where they are of another chain, or now and then, from bytes that are no stream.
fn restore(rng: &mut StimulusRng, program: &mut Program, plan: &mut Plan<'_>) -> Draft {
    let shape = *plan.model.shape();
    let tokens = plan.model.cache_tokens();
    let whole = plan.model.whole_blocks() as u32;
    let given = plan.areas.filter(|_| !often(rng, 10));
    let (areas, lines) = given.unwrap_or_else(|| {
        let lines = (whole + rng.random_range(0..2)).clamp(1, (program.left() / 4 / 64) as u32);
        ([0; 2].map(|_| program.take(rng, 64 * u64::from(lines))), lines)
    });
    let channels = if often(rng, 3) { size(rng, shape.channels() as u32) } else { shape.channels() as u32 };
    let room = tokens * row_bytes(channels) * 2 + 512 < program.left() as u32 / 3;
    let to_rows = room && (tokens > shape.context || rng.random());
    let rows = to_rows.then(|| [(); 2].map(|()| area(rng, program, tokens, channels, false)));
    let mut one = plan.operations.drawn(rng, program, "restore");
    one.set("tokens", tokens).set("channels", channels).set("lines", lines);
    one.set("key_area", areas[0]).set("value_area", areas[1]);
    if let Some([keys, values]) = rows {
        one.set("rows", 1u32).operand("key", keys).operand("value", values);
    }
    one
}

/// Some of the tokens that wait, seldom more, and some that are given.
fn link(rng: &mut StimulusRng, program: &mut Program, plan: &Plan<'_>) -> Draft {
    let waiting = plan.model.waiting().0 as u32;
    let awaited = rng.random_range(0..=waiting.min(3));
    let given = rng.random_range(u32::from(awaited == 0)..4);
    let late = often(rng, 16);
    let (awaited, patience) = match late {
        true => (waiting + rng.random_range(1..3), rng.random_range(1..200)),
        false => (awaited, [0u32, 1_000_000][usize::from(rng.random::<bool>())]),
    };
    let last_given = !late && given > 0 && often(rng, 12);
    let mut one = plan.operations.drawn(rng, program, "link");
    one.set("awaited", awaited).set("given", given).set("patience", patience).set("last_given", last_given);
    one
}

/// A product with the store (0), keys (1) or values (2); where the core does not hold its operand, a load or an append.
fn product(rng: &mut StimulusRng, program: &mut Program, plan: &mut Plan<'_>, kind: u8) -> Draft {
    let shape = *plan.model.shape();
    let context = plan.model.context_tokens();
    if kind > 0 && context == 0 {
        return append(rng, program, plan);
    }
    let tile = rng.random_range(0..shape.tiles);
    let channels = (shape.tiles - tile) * shape.lanes;
    let (first, most) = match kind {
        0 => place(rng, plan),
        1 => ([tile, 0], [channels, context]),
        _ => ([tile, 0], [context, channels]),
    };
    let all = shape.constants;
    let one_constant = all == 1 || often(rng, 3);
    let sizes = [size(rng, 4), size(rng, most[0]), size(rng, most[1].min(if one_constant { u32::MAX } else { all }))];
    let each = if kind == 2 { 2 } else { 1 };
    let [rows, inner, columns] = fitted(program, sizes, |[rows, inner, columns]| {
        rows * (row_bytes(each * inner) + row_bytes(2 * columns)) + 512
    });
    let used = if one_constant { 1 } else { columns };
    let constant = if often(rng, 2) { 0 } else { rng.random_range(0..=all - used) };
    let [to_integers, relu] = [(); 2].map(|()| rng.random::<bool>());
    let exact = often(rng, 8);
    let x = if kind == 2 { probabilities(rng, program, rows, inner) } else { integers(rng, program, rows, inner) };
    let out_bytes = if to_integers { columns } else { 2 * columns };
    let out = over_blocks(rng, plan, (rows, out_bytes)).unwrap_or_else(|| area(rng, program, rows, out_bytes, false));
    let mut one = plan.operations.drawn(rng, program, "multiply");
    one.set("rows", rows).set("inner", inner).set("columns", columns).set("matrix", kind);
    one.set("integers", to_integers).set("relu", relu).set("one_constant", one_constant).set("exact", exact);
    one.set("first_row", first[0]).set("first_column", first[1]).set("constant", constant);
    one.operand("x", x).operand("out", out);
    let (model, written) = (plan.model.clone(), plan.written.clone());
    let mut trial = Plan { operations: plan.operations, model, written, areas: None };
    if trial.perform(program, &one).is_some() || often(rng, 20) {
        return one;
    }
    // Weights or constants are not known.
    if kind == 0 && rng.random() { weights(rng, program, plan) } else { constants(rng, program, plan) }
}

/// Now and then, a place for results inside a stream: they overwrite some of its blocks, and all blocks before stay
/// right.
fn over_blocks(rng: &mut StimulusRng, plan: &Plan<'_>, (rows, bytes): (u32, u32)) -> Option<(u64, u32)> {
    let ((areas, lines), stride) = (plan.areas?, bytes.next_multiple_of(64));
    let free = lines.checked_sub(rows * stride / 64).filter(|_| often(rng, 6))?;
    Some((areas[rng.random_range(0..2usize)] + 64 * u64::from(rng.random_range(0..=free)), stride))
}

/// Rows of fp16 from 0 to 1, seldom anything.
fn probabilities(rng: &mut StimulusRng, program: &mut Program, rows: u32, inner: u32) -> (u64, u32) {
    let place = area(rng, program, rows, 2 * inner, true);
    let wild = often(rng, 5);
    for row in 0..if place.1 == 0 { 1 } else { rows } {
        let one = |rng: &mut StimulusRng| match rng.random_range(0..8u8) {
            0 => 0,
            1 => 0x3c00,
            2 if wild => half(rng),
            3 if wild => rng.random(),
            // Around halves of 255ths too.
            _ => rng.random_range(0..=0x3c00u16),
        };
        let bytes: Vec<u8> = (0..inner).flat_map(|_| one(rng).to_le_bytes()).collect();
        program.put(place.0 + u64::from(row * place.1), &bytes);
    }
    place
}
