//! Jobs of the vector accelerator: descriptors, right and wrong, and what they work on.

use rand::RngExt;
use rand::seq::SliceRandom;
use sim::stimulus::StimulusRng;

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
    /// Steps, format, exact.
    pub steps: u32,
    /// fp16.
    pub scale: u16,
    /// fp16.
    pub quantizer: u16,
    /// In units of 2^-48.
    pub epsilon: u64,
    /// Address and stride of elements, addends, factors, gains, results; gains have no stride.
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
        bytes
    }
}

/// A job: a chain of one to `chain` descriptors on a bus of `address_width` bits, for rows of up to `most` elements; of each
/// four chains one is spoilt.
pub fn draw(rng: &mut StimulusRng, (address_width, most): (u32, u32), chain: u32) -> Program {
    Program::draw(rng, address_width, chain, |rng, program| descriptor(rng, program, most).bytes())
}

/// An operation of the vector accelerator, with its operands in a share of what is left of the memory.
pub fn descriptor(rng: &mut StimulusRng, places: &mut Program, most: u32) -> Descriptor {
    let mut columns = match rng.random_range(0..4u8) {
        0 => rng.random_range(1..=most.min(20)),
        1 => most,
        _ => rng.random_range(1..=most),
    };
    // Five operands of as many rows, and the rest of the chain.
    let share = places.left() / 4;
    while 5 * (u64::from(2 * columns).next_multiple_of(64) + 256) > share {
        columns = columns.div_ceil(2);
    }
    let row = u64::from(2 * columns).next_multiple_of(64) + 64;
    let most_rows = (share / (5 * (row + 128))).clamp(1, 6);
    let rows = rng.random_range(1..=most_rows) as u32;
    let mut steps = rng.random_range(0..1u32 << 6) | [0, 1, 2][rng.random_range(0..3usize)] << 8;
    if steps >> 4 & 1 == 0 {
        steps &= !(1 << 5);
    }
    steps |= u32::from(rng.random_range(0..8u8) == 0) << 12;
    // Elements, addends, factors, gains, results, the tag, in any order.
    let mut order = [0, 1, 2, 3, 4, 5];
    order.shuffle(rng);
    let (mut areas, mut tag_address) = ([(0, 0); 5], 0);
    for part in order {
        if part == 5 {
            tag_address = places.take(rng, 64);
            continue;
        }
        let stride = (row - 64 * rng.random_range(0..2)) as u32;
        let once = part == 3 || (part < 3 && rng.random_range(0..5u8) == 0);
        areas[part] = if once { (places.take(rng, row), 0) } else { (places.take(rng, u64::from(rows) * row), stride) };
    }
    // In place, where that may be.
    if steps >> 8 & 3 == 0 && areas[0].1 != 0 && rng.random_range(0..6u8) == 0 {
        areas[4] = areas[0];
    }
    let number = |rng: &mut StimulusRng| rng.random_range(0x2c00..0x5000u16) | rng.random_range(0..2u16) << 15;
    Descriptor {
        flags: rng.random_range(0..4),
        next: 0,
        tag: rng.random(),
        tag_address,
        rows,
        columns,
        steps,
        scale: number(rng),
        quantizer: number(rng),
        epsilon: epsilon(rng),
        places: areas,
    }
}
