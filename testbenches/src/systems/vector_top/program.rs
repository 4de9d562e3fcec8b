//! Jobs of the vector accelerator: descriptors, right and wrong, and their operands.

use golden::systems::vector_top::{Shape, Units};
use rand::RngExt;
use rand::seq::SliceRandom;
use sim::stimulus::StimulusRng;

use super::super::draw::often;
use super::super::program::Program;
use crate::common::row::rms_norm::epsilon;

/// A descriptor, field by field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// Bit 0 writes the tag.
    pub flags: u16,
    /// Address of the next one.
    pub next: u64,
    /// The tag.
    pub tag: u32,
    /// Where it is written.
    pub tag_address: u64,
    /// Rows.
    pub rows: u32,
    /// Elements of a row.
    pub columns: u32,
    /// Steps, kind of the norm, format, causal, exact.
    pub steps: u32,
    /// fp16.
    pub scale: u16,
    /// fp16.
    pub quantizer: u16,
    /// In units of 2^-48.
    pub epsilon: u64,
    /// Elements that count in a softmax.
    pub length: u32,
    /// Address and stride of elements, addends, factors or angles, gains, results; gains have no stride.
    pub places: [(u64, u32); 5],
}

impl Descriptor {
    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; 128] {
        let mut bytes = [0; 128];
        let mut put = |at: usize, value: u64, count: usize| {
            bytes[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
        };
        put(0, 0x5a42_4e53, 4);
        put(4, 1, 1);
        put(5, 1, 1);
        put(6, self.flags.into(), 2);
        put(8, self.next, 8);
        put(16, self.tag.into(), 4);
        put(24, self.tag_address, 8);
        put(32, self.rows.into(), 4);
        put(36, self.columns.into(), 4);
        put(40, self.steps.into(), 4);
        put(44, self.scale.into(), 2);
        put(46, self.quantizer.into(), 2);
        put(48, self.epsilon, 8);
        let [x, addend, factor, gain, out] = self.places;
        put(56, x.1.into(), 4);
        put(60, addend.1.into(), 4);
        put(64, x.0, 8);
        put(72, addend.0, 8);
        put(80, factor.0, 8);
        put(88, factor.1.into(), 4);
        put(92, out.1.into(), 4);
        put(96, gain.0, 8);
        put(104, out.0, 8);
        put(112, self.length.into(), 4);
        bytes
    }
}

/// Bits of the steps.
const SCALE: u32 = 1;
const ADD: u32 = 1 << 1;
const MULTIPLY: u32 = 1 << 3;
const NORM: u32 = 1 << 4;
const GAIN: u32 = 1 << 5;
const KINDS: u32 = 3 << 6;
const SOFTMAX: u32 = 1 << 6;
const LAYER_NORM: u32 = 2 << 6;
const FORMATS: u32 = 3 << 8;
const ROTATE: u32 = 1 << 10;
const CAUSAL: u32 = 1 << 11;
const EXACT: u32 = 1 << 12;

/// A job: a chain of one to `chain` descriptors. One chain of four is spoilt. Some others have a descriptor that breaks
/// a single check of the vector accelerator.
pub fn draw(rng: &mut StimulusRng, shape: &Shape, chain: u32) -> Program {
    Program::draw(rng, shape.address_width, chain, |rng, program| {
        let mut one = descriptor(rng, program, shape);
        if often(rng, 16) {
            program.plain = false;
            spoil(rng, &mut one);
        }
        one.bytes()
    })
}

/// Steps that the shape has and that go together. Rows can be turned only where `pairs` is true.
fn steps(rng: &mut StimulusRng, shape: &Shape, pairs: bool) -> u32 {
    let units = Units::of(shape.steps);
    let mut steps = rng.random::<u32>() & 0x3f & shape.steps;
    if units.rotary && pairs && rng.random() {
        steps = steps & !MULTIPLY | ROTATE;
    }
    let kinds: Vec<u32> = [(true, 0), (units.softmax, SOFTMAX), (units.layer_norm, LAYER_NORM)]
        .into_iter()
        .filter_map(|(has, kind)| has.then_some(kind))
        .collect();
    let kind = kinds[rng.random_range(0..kinds.len())];
    if steps & NORM == 0 {
        steps &= !GAIN;
    } else if kind == SOFTMAX {
        steps = steps & !(GAIN | ROTATE) | kind | if rng.random() { CAUSAL } else { 0 };
    } else {
        steps |= kind;
    }
    let format = rng.random_range(0..3u32) << 8;
    steps | format | if often(rng, 8) { EXACT } else { 0 }
}

/// Whether steps end in a softmax.
fn is_softmax(steps: u32) -> bool {
    steps & (NORM | KINDS) == NORM | SOFTMAX
}

/// Whether steps end in a norm that has an epsilon.
fn has_epsilon(steps: u32) -> bool {
    steps & NORM != 0 && !is_softmax(steps)
}

/// Operands that no step reads may lie anywhere, also outside of the window and with any alignment.
fn scatter_unread(rng: &mut StimulusRng, steps: u32, areas: &mut [(u64, u32); 5]) {
    let read = [true, steps & ADD != 0, steps & (MULTIPLY | ROTATE) != 0, steps & GAIN != 0, true];
    for (area, _) in areas.iter_mut().zip(read).filter(|(_, read)| !read) {
        if rng.random() {
            *area = (rng.random(), rng.random());
        }
    }
}

/// An operation of the vector accelerator, with its operands in a share of the free memory.
pub fn descriptor(rng: &mut StimulusRng, places: &mut Program, shape: &Shape) -> Descriptor {
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
    let steps = steps(rng, shape, columns > 1);
    columns &= if steps & ROTATE == 0 { !0 } else { !1 };
    let row = bytes(columns) + 64;
    let most_rows = (share.saturating_sub(once(columns)) / (4 * row)).clamp(1, 6);
    let rows = rng.random_range(1..=most_rows) as u32;
    let length = match rng.random_range(0..4u8) {
        _ if !is_softmax(steps) => 0,
        0 => 1,
        1 => columns,
        _ => rng.random_range(1..=columns),
    };
    // Elements, addends, factors, gains, results, the tag, in any order.
    let mut order = [0, 1, 2, 3, 4, 5];
    order.shuffle(rng);
    let (mut areas, mut tag_address) = ([(0, 0); 5], 0);
    let of_a_gain = if steps & (NORM | KINDS) == NORM | LAYER_NORM { 4 } else { 2 };
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
    if is_softmax(steps) && rng.random() {
        scores(rng, places, areas[0], [rows, columns]);
    }
    let part = [0, 1, 2, 4][rng.random_range(0..4usize)];
    if areas[part].1 != 0 && often(rng, 6) {
        let stride = places.spread(rng, areas[part].0, [rows.into(), u64::from(2 * columns)]);
        areas[part].1 = stride.unwrap_or(areas[part].1);
    }
    // In place, where that may be.
    if steps & FORMATS == 0 && areas[0].1 != 0 && often(rng, 6) {
        areas[4] = areas[0];
    }
    scatter_unread(rng, steps, &mut areas);
    // A number that no step uses may be anything, a NaN too.
    let number = |rng: &mut StimulusRng, is_used: bool| match is_used {
        true => rng.random_range(0x2c00..0x5000u16) | rng.random_range(0..2u16) << 15,
        false => rng.random(),
    };
    Descriptor {
        flags: rng.random_range(0..4),
        next: 0,
        tag: rng.random(),
        tag_address,
        rows,
        columns,
        steps,
        scale: number(rng, steps & SCALE != 0),
        quantizer: number(rng, steps & FORMATS != 0),
        epsilon: if has_epsilon(steps) { epsilon(rng) } else { rng.random_range(0..1 << 40) },
        length,
        places: areas,
    }
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

/// Makes a field wrong that a check of its own is for; now and then it is right nevertheless.
pub fn spoil(rng: &mut StimulusRng, one: &mut Descriptor) {
    let place = rng.random_range(0..5usize);
    match rng.random_range(0..16u8) {
        0 => one.steps |= 1 << rng.random_range(13..32u8),
        1 => one.steps ^= NORM,
        2 => one.steps |= KINDS,
        3 => one.steps ^= [SOFTMAX, LAYER_NORM][rng.random_range(0..2usize)],
        4 => one.steps |= GAIN,
        5 => one.steps |= ROTATE | MULTIPLY,
        6 => one.steps ^= CAUSAL,
        7 => one.steps |= FORMATS,
        // Features that a build may lack.
        8 => {
            one.steps = one.steps & !(GAIN | KINDS | CAUSAL | MULTIPLY)
                | [NORM | SOFTMAX, NORM | LAYER_NORM, ROTATE][rng.random_range(0..3usize)];
            one.length = u32::from(is_softmax(one.steps));
        }
        9 => one.rows = [0, 1 << 16, u32::MAX][rng.random_range(0..3usize)],
        10 => one.columns = [0, 1 << 16, u32::MAX][rng.random_range(0..3usize)],
        // Odd.
        11 => one.columns = (one.columns - 1) | 1,
        12 => one.length = [0, 1, one.columns + 1, u32::MAX][rng.random_range(0..4usize)],
        13 => one.epsilon |= 1 << rng.random_range(40..64u8),
        14 => one.places[place].0 |= 1 << rng.random_range(0..6u8),
        // Gains have no stride.
        _ => one.places[place].1 |= u32::from(place != 3) << rng.random_range(0..6u8),
    }
}

#[cfg(test)]
mod tests;
