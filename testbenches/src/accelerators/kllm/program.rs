//! Jobs of the KLLM accelerator: descriptors, right and wrong, and their operands.

use golden::accelerators::kllm::{
    CODEBOOK_BYTES, CONSTANT_BYTES, HEAD_BYTES, KllmTop, OUTLIER_BYTES, Shape, integer_bytes, token_bytes,
};
use rand::RngExt;
use sim::stimulus::StimulusRng;

mod append;
mod quantize;
mod target;

use quantize::Made;

use super::super::vector::program as vector;
use jobs::draft::{Draft, Operations};
use jobs::draw::{area, area_bytes, half, often, size};
use jobs::program::Program;
use target::Target;

/// A job: a chain of one to `chain` descriptors, over all operations that the shape has; of each four chains one is spoilt.
///
/// # Panics
/// The shape is one that the accelerator refuses.
pub fn draw(rng: &mut StimulusRng, (operations, model): (&Operations, &KllmTop), chain: u32) -> Program {
    let shape = model.shape();
    let target = (operations, shape);
    Program::draw(rng, shape.vector.address_width, chain, &None, |rng, program, made| {
        if append::is_built(shape) && often(rng, 4) {
            // Tokens of the chain stay for a product.
            let given = if often(rng, 2) { *made } else { None };
            let one = append::append(rng, program, target, given);
            let beyond = |one: &mut Draft, rng: &mut StimulusRng| append::beyond(one, rng, shape);
            return one.seldom(rng, program, &[&beyond]).bytes();
        }
        if shape.orizuru > 0 && often(rng, 2) {
            let one = quantize::quantize(rng, program, target);
            *made = Some(Made::by(&one));
            let too_many = |one: &mut Draft, rng: &mut StimulusRng| quantize::too_many(one, rng, shape);
            return one.seldom(rng, program, &[&too_many]).bytes();
        }
        if often(rng, 4) {
            let one = vector::descriptor(rng, program, (operations, &shape.vector));
            return vector::seldom(rng, program, one).bytes();
        }
        // Tokens that the chain has made, more often than not.
        let given = made.take().filter(|_| !often(rng, 4));
        product(rng, program, target, given).seldom(rng, program, &[]).bytes()
    })
}

/// A product of tokens, or of integers, and weights.
fn product(
    rng: &mut StimulusRng,
    program: &mut Program,
    (operations, shape): Target<'_>,
    given: Option<Made>,
) -> Draft {
    let in_panel = shape.channels() as u32;
    let (mut tokens, mut channels) = (size(rng, 5), size(rng, 3 * in_panel));
    let mut inner = size(rng, shape.depth * shape.inputs);
    let integers = given.is_none() && often(rng, 4);
    let mut outliers = if integers || often(rng, 4) { 0 } else { size(rng, 2 * shape.kmax) };
    if let Some(made) = given {
        (tokens, inner, outliers) = (made.tokens, made.inner, made.outliers);
    }
    let token = |inner: u32| match integers {
        false => token_bytes(inner.into(), outliers.into()) as u32,
        true => integer_bytes(inner.into()) as u32,
    };
    let panel = |inner: u32| inner.div_ceil(shape.inputs) * in_panel * shape.inputs / 2;
    let share = program.left() as u32 / 4;
    let bytes = |tokens: u32, channels: u32, inner: u32| {
        area_bytes(tokens, token(inner))
            + area_bytes(channels.div_ceil(in_panel), panel(inner))
            + area_bytes(1, CONSTANT_BYTES as u32 * channels)
            + area_bytes(1, CODEBOOK_BYTES as u32)
            + 2 * area_bytes(tokens, 2 * channels)
            + 256
    };
    while bytes(tokens, channels, inner) > share && [tokens, channels, inner] != [1; 3] {
        match [tokens, channels, inner].into_iter().max() {
            _ if given.is_some() && channels > 1 => channels = channels.div_ceil(2),
            // There is no room for as many positions.
            _ if given.is_some() => return product(rng, program, (operations, shape), None),
            Some(most) if most == channels => channels = channels.div_ceil(2),
            Some(most) if most == inner => inner = inner.div_ceil(2),
            _ => tokens = tokens.div_ceil(2),
        }
    }
    let token_place = given.map_or_else(|| area(rng, program, tokens, token(inner), true), |made| made.place);
    let rows = if token_place.1 == 0 { 1 } else { tokens };
    for row in 0..if given.is_some() { 0 } else { rows } {
        let bytes = match integers {
            false => token_of(rng, shape, inner, outliers),
            true => (0..token(inner)).map(|_| rng.random()).collect(),
        };
        program.put(token_place.0 + u64::from(row * token_place.1), &bytes);
    }
    let panels = channels.div_ceil(in_panel);
    let panel_place = area(rng, program, panels, panel(inner), true);
    for row in 0..if panel_place.1 == 0 { 1 } else { panels } {
        let bytes: Vec<u8> = (0..panel(inner)).map(|_| rng.random()).collect();
        program.put(panel_place.0 + u64::from(row * panel_place.1), &bytes);
    }
    let constants = constants(rng, program, shape, channels);
    if integers && often(rng, 2) {
        // Of integers nobody reads the second one.
        for channel in 0..u64::from(channels) {
            program.put(constants + 8 * channel + 4, &rng.random::<u32>().to_le_bytes());
        }
    }
    let codebook = codebook(rng, program, shape);
    let out = area(rng, program, tokens, 2 * channels, false);
    let add = rng.random::<bool>();
    let addends = match rng.random_range(0..3u8) {
        _ if !add => (rng.random(), rng.random()),
        0 => out,
        _ => area(rng, program, tokens, 2 * channels, true),
    };
    if add {
        let rows = if addends.1 == 0 { 1 } else { tokens };
        for row in 0..rows {
            let bytes: Vec<u8> = (0..channels).flat_map(|_| half(rng).to_le_bytes()).collect();
            program.put(addends.0 + u64::from(row * addends.1), &bytes);
        }
    }
    let mut one = operations.drawn(rng, program, if integers { "scores" } else { "matmul" });
    one.set("tokens", tokens).set("channels", channels).set("inner", inner).set("outliers", outliers);
    one.set("exact", often(rng, 8)).set("adds", add);
    one.operand("token", token_place).operand("panel", panel_place).operand("out", out).operand("addend", addends);
    one.set("constants_address", constants).set("codebook_address", codebook);
    one
}

/// A token; bytes without a meaning are anything. Seldom one whose head or outliers mean nothing.
fn token_of(rng: &mut StimulusRng, shape: &Shape, inner: u32, most: u32) -> Vec<u8> {
    let mut bytes: Vec<u8> = (0..token_bytes(inner.into(), most.into())).map(|_| rng.random()).collect();
    let count = rng.random_range(0..=most.min(inner));
    // Anywhere, or close together.
    let span = if rng.random() { inner } else { inner.min(count + shape.inputs) };
    let first = rng.random_range(0..=inner - span);
    let mut positions: Vec<u32> = (first..first + span).collect();
    while positions.len() > count as usize {
        positions.remove(rng.random_range(0..positions.len()));
    }
    let mut put = |at: u64, value: u16| bytes[at as usize..at as usize + 2].copy_from_slice(&value.to_le_bytes());
    put(0, half(rng));
    put(2, count as u16);
    // The byte after the bits of an index means nothing.
    put(4, rng.random_range(3..=4) | u16::from(rng.random::<u8>()) << 8);
    let records = HEAD_BYTES + u64::from(inner.div_ceil(2).next_multiple_of(64));
    for (k, position) in (0..).zip(&positions) {
        put(records + OUTLIER_BYTES * k, *position as u16);
        put(records + OUTLIER_BYTES * k + 2, half(rng));
    }
    match rng.random_range(0..200u8) {
        0 => put(2, (most + 1) as u16),
        1 => put(4, [0, 2, 5, 0x102][rng.random_range(0..4usize)]),
        2 if count > 0 => put(records + OUTLIER_BYTES * u64::from(count - 1), inner as u16),
        3..=6 if count > 1 => {
            let k = rng.random_range(1..count as usize);
            put(records + OUTLIER_BYTES * k as u64, positions[k - 1] as u16);
        }
        _ => {}
    }
    bytes
}

/// Two factors of each channel, fp32: such that results are neither large nor small; seldom anything.
fn constants(rng: &mut StimulusRng, program: &mut Program, shape: &Shape, channels: u32) -> u64 {
    let bits = shape.centroid_bits as i32;
    let wild = often(rng, 6);
    let mut bytes = Vec::new();
    for _ in 0..channels {
        for exponent in [-2 * bits + 2, -bits - 22] {
            let sign = if often(rng, 4) { -1.0 } else { 1.0 };
            let near: f32 = sign * rng.random_range(0.5..2.0f32) * 2f32.powi(exponent);
            let word = if wild && often(rng, 6) { rng.random() } else { near.to_bits() };
            bytes.extend(word.to_le_bytes());
        }
    }
    let address = program.take(rng, bytes.len() as u64);
    program.put(address, &bytes);
    address
}

/// A codebook; seldom with a centroid that does not fit.
fn codebook(rng: &mut StimulusRng, program: &mut Program, shape: &Shape) -> u64 {
    let most = (1i32 << (shape.centroid_bits - 1)) - 1;
    let mut bytes: Vec<u8> = (0..CODEBOOK_BYTES).map(|_| rng.random()).collect();
    for k in 0..32 {
        let centroid = if often(rng, 8) {
            [most, -most][usize::from(rng.random::<bool>())]
        } else {
            rng.random_range(-most..=most)
        };
        bytes[64 + 2 * k..66 + 2 * k].copy_from_slice(&(centroid as i16).to_le_bytes());
    }
    if often(rng, 40) {
        let at = 64 + 2 * rng.random_range(0..32usize);
        let wrong = if shape.centroid_bits == 16 {
            i16::MIN
        } else {
            [-most - 1, most + 1][usize::from(rng.random::<bool>())] as i16
        };
        bytes[at..at + 2].copy_from_slice(&wrong.to_le_bytes());
    }
    let address = program.take(rng, bytes.len() as u64);
    program.put(address, &bytes);
    address
}
