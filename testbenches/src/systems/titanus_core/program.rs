//! Jobs of the Titanus core: descriptors, right and wrong, and their operands.
//!
//! What a descriptor may ask for depends on what the core holds. So a copy of the model does each descriptor as soon as
//! it is drawn. The next one is drawn for what the copy then holds.

use golden::systems::job::{Accelerator, Fields};
use golden::systems::memory::SparseMemory;
use golden::systems::titanus_core::TitanusCore;
use rand::RngExt;
use sim::stimulus::StimulusRng;

use super::super::draw::{area, half, often, size};
use super::super::program::Program;
use super::super::vector_top::program as vector;

/// A descriptor.
#[derive(Clone, Copy, Debug)]
struct Words([u8; 128]);

impl Words {
    /// One with a header that asks for any flags.
    fn of(rng: &mut StimulusRng, program: &mut Program, opcode: u8) -> Self {
        let mut new = Self([0; 128]);
        new.put(0, 0x5a42_4e53, 4);
        new.put(4, 1, 1);
        new.put(5, opcode.into(), 1);
        new.put(6, rng.random_range(0..4), 2);
        new.put(16, rng.random::<u32>().into(), 4);
        let tag_address = program.take(rng, 64);
        new.put(24, tag_address, 8);
        new
    }

    fn put(&mut self, at: usize, value: u64, bytes: usize) {
        self.0[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    }

    fn words(mut self, words: &[(usize, u32)]) -> Self {
        words.iter().for_each(|&(at, word)| self.put(at, word.into(), 4));
        self
    }

    fn longs(mut self, longs: &[(usize, u64)]) -> Self {
        longs.iter().for_each(|&(at, long)| self.put(at, long, 8));
        self
    }
}

/// Memory that a chain has written so far, and the state of the core then.
struct Plan {
    model: TitanusCore,
    /// Addresses where earlier descriptors have written, with the bytes.
    written: Vec<(u64, Vec<u8>)>,
    /// Where the streams of the cache are, if they were begun in this chain, and lines of each.
    areas: Option<([u64; 2], u32)>,
}

impl Plan {
    /// Does a descriptor: `None` where it is refused, or its end is not certain.
    fn perform(&mut self, program: &Program, words: &Words) -> Option<()> {
        let mut memory = SparseMemory::new();
        memory.store(program.base, &program.image);
        self.written.iter().for_each(|(at, bytes)| memory.store(*at, bytes));
        let fields: Vec<u32> = words.0[32..].chunks(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        let done = self.model.perform(words.0[5], Fields(&fields), &program.limits, &mut memory).ok()?;
        let outs = golden::systems::job::Operation::outs(&done.operation);
        for out in outs {
            for at in out.row_addresses() {
                self.written.push((at, memory.bytes(at, out.row_bytes as usize)));
            }
        }
        done.certain.then_some(())
    }
}

/// A job: a chain of one to `chain` descriptors for a core that stands as `model` does; of each four chains one is spoilt.
pub fn draw(rng: &mut StimulusRng, model: &TitanusCore, chain: u32) -> Program {
    let mut plan = Plan { model: model.clone(), written: Vec::new(), areas: None };
    Program::draw(rng, model.shape().vector.address_width, chain, |rng, program| {
        let mut one = operation(rng, program, &mut plan);
        if often(rng, 14) {
            program.plain = false;
            spoil(rng, &mut one);
        } else {
            // Where it fails, nothing follows.
            let _ = plan.perform(program, &one);
        }
        one.0
    })
}

fn operation(rng: &mut StimulusRng, program: &mut Program, plan: &mut Plan) -> Words {
    if plan.model.shape().links && often(rng, 3) {
        return link(rng, program, plan);
    }
    match rng.random_range(0..12u8) {
        0 => vector_steps(rng, program, plan),
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

fn vector_steps(rng: &mut StimulusRng, program: &mut Program, plan: &Plan) -> Words {
    let mut one = vector::descriptor(rng, program, &plan.model.shape().vector);
    if often(rng, 16) {
        program.plain = false;
        vector::spoil(rng, &mut one);
    }
    let mut words = Words(one.bytes());
    words.put(5, 3, 1);
    words
}

/// Makes something of a descriptor wrong, mostly.
fn spoil(rng: &mut StimulusRng, one: &mut Words) {
    match rng.random_range(0..5u8) {
        // A bit of a size, an option, a place.
        0 => one.0[rng.random_range(32..64usize)] ^= 1 << rng.random_range(0..8u8),
        1 => {
            let at = [32, 36, 40, 48, 50, 60][rng.random_range(0..6usize)];
            let value = [0, 1, 0xffff, 0x1_0000, u32::MAX][rng.random_range(0..5usize)];
            one.put(at, value.into(), if at == 48 || at == 50 { 2 } else { 4 });
        }
        2 => {
            let at = [64, 72, 80, 88][rng.random_range(0..4usize)];
            one.0[at] |= 1 << rng.random_range(0..6u8);
        }
        3 => {
            let at = [64, 72, 80, 88][rng.random_range(0..4usize)];
            one.0[at + rng.random_range(1..8usize)] ^= 1 << rng.random_range(0..8u8);
        }
        _ => one.0[rng.random_range(80..128usize)] ^= 1 << rng.random_range(0..8u8),
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
fn place(rng: &mut StimulusRng, plan: &Plan) -> ([u32; 2], [u32; 2]) {
    let shape = plan.model.shape();
    let first = [shape.rows, shape.columns].map(|count| if often(rng, 2) { 0 } else { rng.random_range(0..count) });
    let most = [(shape.rows - first[0]) * shape.inputs, (shape.columns - first[1]) * shape.outputs];
    (first, most)
}

fn weights(rng: &mut StimulusRng, program: &mut Program, plan: &Plan) -> Words {
    let (first, most) = place(rng, plan);
    // Mostly all of it, so that products find their operands.
    let sizes = most.map(|most| if often(rng, 3) { size(rng, most) } else { most });
    let [rows, columns] = fitted(program, sizes, |[rows, columns]| rows * row_bytes(columns) + 512);
    let (address, stride) = integers(rng, program, rows, columns);
    let words = [(32, rows), (36, columns), (48, first[0] | first[1] << 16), (52, stride)];
    Words::of(rng, program, 1).words(&words).longs(&[(64, address)])
}

fn constants(rng: &mut StimulusRng, program: &mut Program, plan: &Plan) -> Words {
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
    let words = [(32, 1), (36, count), (40, first), (44, 1), (52, 64 * rng.random_range(0..2))];
    Words::of(rng, program, 1).words(&words).longs(&[(64, address)])
}

/// Tokens after the tokens of the cache, or the first tokens of a new cache.
fn append(rng: &mut StimulusRng, program: &mut Program, plan: &mut Plan) -> Words {
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
    let mut begin = 0;
    if new {
        begin = threshold(rng) | threshold(rng) << 8;
        begin |= rng.random_range(2..=8u32) << 16 | rng.random_range(2..=8u32) << 24;
    }
    let options = u32::from(keep) | if often(rng, 8) { 1 << 12 } else { 0 };
    let words = [
        (32, tokens),
        (36, channels),
        (40, position),
        (44, options),
        (48, prefill | lines << 16),
        (52, begin),
        (56, keys.1),
        (60, values.1),
    ];
    let longs = [(64, keys.0), (72, values.0), (80, areas[0]), (88, areas[1])];
    Words::of(rng, program, 4).words(&words).longs(&longs)
}

/// All tokens of the cache; where they are of another chain, or now and then, from bytes that are no stream.
fn restore(rng: &mut StimulusRng, program: &mut Program, plan: &mut Plan) -> Words {
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
    let mut words = vec![(32, tokens), (36, channels), (48, lines << 16)];
    let mut longs = vec![(80, areas[0]), (88, areas[1])];
    if to_rows {
        let (keys, values) = (area(rng, program, tokens, channels, false), area(rng, program, tokens, channels, false));
        words.extend([(44, 1), (56, keys.1), (60, values.1)]);
        longs.extend([(64, keys.0), (72, values.0)]);
    }
    Words::of(rng, program, 5).words(&words).longs(&longs)
}

/// Some of the tokens that wait, seldom more, and some that are given.
fn link(rng: &mut StimulusRng, program: &mut Program, plan: &Plan) -> Words {
    let waiting = plan.model.waiting().0 as u32;
    let awaited = rng.random_range(0..=waiting.min(3));
    let given = rng.random_range(u32::from(awaited == 0)..4);
    let late = often(rng, 16);
    let (awaited, patience) = match late {
        true => (waiting + rng.random_range(1..3), rng.random_range(1..200)),
        false => (awaited, [0, 1_000_000][usize::from(rng.random::<bool>())]),
    };
    let options = if late || given == 0 { 0 } else { 2 * u32::from(often(rng, 12)) };
    let words = [(32, awaited), (36, given), (40, patience), (44, options)];
    Words::of(rng, program, 6).words(&words)
}

/// A product with the store (0), keys (1) or values (2); where the core does not hold its operand, a load or an append.
fn product(rng: &mut StimulusRng, program: &mut Program, plan: &mut Plan, kind: u8) -> Words {
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
    let one = all == 1 || often(rng, 3);
    let sizes = [size(rng, 4), size(rng, most[0]), size(rng, most[1].min(if one { u32::MAX } else { all }))];
    let each = if kind == 2 { 2 } else { 1 };
    let [rows, inner, columns] = fitted(program, sizes, |[rows, inner, columns]| {
        rows * (row_bytes(each * inner) + row_bytes(2 * columns)) + 512
    });
    let used = if one { 1 } else { columns };
    let constant = if often(rng, 2) { 0 } else { rng.random_range(0..=all - used) };
    let options = rng.random_range(0..4) | u32::from(one) << 2 | if often(rng, 8) { 1 << 12 } else { 0 };
    let x = if kind == 2 { probabilities(rng, program, rows, inner) } else { integers(rng, program, rows, inner) };
    let out_bytes = if options & 1 == 1 { columns } else { 2 * columns };
    let out = over_blocks(rng, plan, (rows, out_bytes)).unwrap_or_else(|| area(rng, program, rows, out_bytes, false));
    let words = [
        (32, rows),
        (36, inner),
        (40, columns),
        (44, options),
        (48, first[0] | first[1] << 16),
        (52, x.1),
        (56, out.1),
        (60, constant),
        (80, kind.into()),
    ];
    let one = Words::of(rng, program, 2).words(&words).longs(&[(64, x.0), (72, out.0)]);
    let mut trial = Plan { model: plan.model.clone(), written: plan.written.clone(), areas: None };
    if trial.perform(program, &one).is_some() || often(rng, 20) {
        return one;
    }
    // Weights or constants are not known.
    if kind == 0 && rng.random() { weights(rng, program, plan) } else { constants(rng, program, plan) }
}

/// Now and then, a place for results inside a stream: they overwrite some of its blocks, and all blocks before stay
/// right.
fn over_blocks(rng: &mut StimulusRng, plan: &Plan, (rows, bytes): (u32, u32)) -> Option<(u64, u32)> {
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
