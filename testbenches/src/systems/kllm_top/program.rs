//! Jobs of the KLLM accelerator: descriptors, right and wrong, and their operands.

use golden::systems::kllm_top::{
    CODEBOOK_BYTES, CONSTANT_BYTES, HEAD_BYTES, OUTLIER_BYTES, Shape, integer_bytes, token_bytes,
};
use rand::RngExt;
use sim::stimulus::StimulusRng;

mod append;
mod quantize;

pub use quantize::{Made, Quantize};

use super::super::draw::{area, area_bytes, half, often, size};
use super::super::program::Program;
use super::super::vector_top::program as vector;

/// Bit of the options.
const EXACT: u32 = 12;

/// A product, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// 1, or 2 with integers; others are refused.
    pub opcode: u8,
    /// Bit 0 writes the tag, bit 1 says that it does not depend on the one before.
    pub header_flags: u16,
    /// The tag.
    pub tag: u32,
    /// Where it is written.
    pub tag_address: u64,
    /// Tokens, channels, positions, outliers.
    pub sizes: [u32; 4],
    /// Exact.
    pub options: u32,
    /// Bit 0: addends.
    pub add: u32,
    /// Address and stride of tokens, panels, constants, codebook, results, addends; constants and codebook have no stride.
    pub places: [(u64, u32); 6],
}

impl Descriptor {
    /// Its bytes; there is no next one.
    #[must_use]
    pub fn bytes(&self) -> [u8; 128] {
        let mut bytes = [0; 128];
        let mut put = |at: usize, value: u64, count: usize| {
            bytes[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
        };
        put(0, 0x5a42_4e53, 4);
        put(4, 1, 1);
        put(5, self.opcode.into(), 1);
        put(6, self.header_flags.into(), 2);
        put(16, self.tag.into(), 4);
        put(24, self.tag_address, 8);
        let [tokens, channels, inner, outliers] = self.sizes;
        for (at, size) in [(32, tokens), (36, channels), (40, inner), (116, outliers)] {
            put(at, size.into(), 4);
        }
        put(44, self.options.into(), 4);
        put(48, self.add.into(), 4);
        for (k, (address, _)) in self.places.into_iter().enumerate() {
            put(64 + 8 * k, address, 8);
        }
        let [tokens, panels, _, _, out, addends] = self.places;
        for (at, place) in [(52, tokens), (56, panels), (60, out), (112, addends)] {
            put(at, place.1.into(), 4);
        }
        bytes
    }
}

/// A job: a chain of one to `chain` descriptors, over all operations that the shape has; of each four chains one is spoilt.
///
/// # Panics
/// The shape is one that the accelerator refuses.
pub fn draw(rng: &mut StimulusRng, shape: &Shape, chain: u32) -> Program {
    let mut made = None;
    Program::draw(rng, shape.vector.address_width, chain, |rng, program| {
        if append::is_built(shape) && often(rng, 4) {
            // Tokens of the chain stay for a product.
            let given = if often(rng, 2) { made } else { None };
            let mut one = append::append(rng, program, shape, given);
            if often(rng, 12) {
                program.plain = false;
                one.spoil(rng, shape);
            }
            return one.bytes();
        }
        if shape.orizuru > 0 && often(rng, 2) {
            let mut one = quantize::quantize(rng, program, shape);
            made = Some(Made::by(&one));
            if often(rng, 12) {
                program.plain = false;
                one.spoil(rng, shape);
            }
            return one.bytes();
        }
        if often(rng, 4) {
            let mut one = vector::descriptor(rng, program, &shape.vector);
            if often(rng, 16) {
                program.plain = false;
                vector::spoil(rng, &mut one);
            }
            let mut bytes = one.bytes();
            bytes[5] = 3;
            return bytes;
        }
        // Tokens that the chain has made, more often than not.
        let given = made.take().filter(|_| !often(rng, 4));
        let mut one = product(rng, program, shape, given);
        if often(rng, 12) {
            program.plain = false;
            spoil(rng, shape, &mut one);
        }
        one.bytes()
    })
}

/// Makes a field wrong that a check of its own is for.
fn spoil(rng: &mut StimulusRng, shape: &Shape, one: &mut Descriptor) {
    let place = rng.random_range(0..6usize);
    match rng.random_range(0..7u8) {
        0 => one.options |= 1 << [0, 3, 11, 13, 31][rng.random_range(0..5usize)],
        1 => one.add |= 1 << rng.random_range(1..32u8),
        2 => {
            let at = rng.random_range(0..4usize);
            let most = [65_535, 65_535, shape.depth * shape.inputs, 2 * shape.kmax][at];
            one.sizes[at] = [if at == 3 { most + 1 } else { 0 }, most + 1, u32::MAX][rng.random_range(0..3usize)];
        }
        3 => one.places[place].0 |= 1 << rng.random_range(0..6u8),
        4 => one.places[[0, 1, 4, 5][rng.random_range(0..4usize)]].1 |= 1 << rng.random_range(0..6u8),
        // Without a quantizer; with one it has other fields.
        5 => one.opcode = 4,
        _ => one.places[place].0 ^= 1 << rng.random_range(12..64u8),
    }
}

/// A product of tokens, or of integers, and weights.
fn product(rng: &mut StimulusRng, program: &mut Program, shape: &Shape, given: Option<Made>) -> Descriptor {
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
            _ if given.is_some() => return product(rng, program, shape, None),
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
            program.put(constants.0 + 8 * channel + 4, &rng.random::<u32>().to_le_bytes());
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
    Descriptor {
        opcode: if integers { 2 } else { 1 },
        header_flags: rng.random_range(0..4),
        tag: rng.random(),
        tag_address: program.take(rng, 64),
        sizes: [tokens, channels, inner, outliers],
        options: u32::from(often(rng, 8)) << EXACT,
        add: add.into(),
        places: [token_place, panel_place, constants, codebook, out, addends],
    }
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
fn constants(rng: &mut StimulusRng, program: &mut Program, shape: &Shape, channels: u32) -> (u64, u32) {
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
    (address, 0)
}

/// A codebook; seldom with a centroid that does not fit.
fn codebook(rng: &mut StimulusRng, program: &mut Program, shape: &Shape) -> (u64, u32) {
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
    (address, 0)
}
