//! Jobs of the vector accelerator: descriptors, right and wrong, and what they work on.

use std::ops::RangeInclusive;

use golden::common::shell::job_controller::Limits;
use rand::RngExt;
use sim::stimulus::StimulusRng;

use crate::common::row::rms_norm::{epsilon, numbers};

/// Bytes of memory that a job may touch.
const ARENA: u64 = 1 << 15;

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

/// A job and the memory it works on.
#[derive(Clone, Debug)]
pub struct Program {
    /// What the host allows.
    pub limits: Limits,
    /// Address of the first descriptor.
    pub job: u64,
    /// Bytes from `limits.base` on.
    pub image: Vec<u8>,
    /// Nothing overlaps: all results are defined.
    pub plain: bool,
}

impl Program {
    /// A chain of one to three descriptors on a bus of `address_width` bits, for rows of up to `most` elements; of each four
    /// chains one is spoilt.
    pub fn draw(rng: &mut StimulusRng, (address_width, most): (u32, u32)) -> Self {
        let top = if address_width == 64 { u64::MAX } else { (1 << address_width) - 1 };
        // Anywhere, at the very end of all addresses too.
        let last = (top - (ARENA - 1)) / 4096;
        let page = if rng.random_range(0..4u8) == 0 { last } else { rng.random_range(0..=last) };
        let base = 4096 * page;
        let mut image = Vec::new();
        while image.len() < ARENA as usize {
            image.extend(numbers(rng, 64).into_iter().flat_map(u16::to_le_bytes));
        }
        let count = rng.random_range(1..=3);
        let limits =
            Limits { base, limit: base + (ARENA - 1), max_descriptors: [count, 7][rng.random_range(0..2usize)] };
        let mut places = Places { base, next: 0 };
        let at: Vec<u64> = (0..count).map(|_| places.take(rng, 128)).collect();
        let mut program = Self { limits, job: at[0], image, plain: true };
        for (k, &address) in at.iter().enumerate() {
            let mut one = descriptor(rng, &mut places, most);
            one.next = at.get(k + 1).copied().unwrap_or(0);
            program.put(address, &one.bytes());
        }
        if rng.random_range(0..4u8) == 0 {
            program.spoil(rng, &at);
        }
        program
    }

    fn put(&mut self, address: u64, bytes: &[u8]) {
        let at = (address - self.limits.base) as usize;
        self.image[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Something about the chain is wrong, or only odd.
    fn spoil(&mut self, rng: &mut StimulusRng, at: &[u64]) {
        self.plain = false;
        let offset = (at[rng.random_range(0..at.len())] - self.limits.base) as usize;
        let bytes = &mut self.image[offset..offset + 128];
        match rng.random_range(0..6u8) {
            // Bits.
            0 | 1 => (0..rng.random_range(1..4u8))
                .for_each(|_| bytes[rng.random_range(0..128usize)] ^= 1 << rng.random_range(0..8u8)),
            // A field's byte.
            2 => bytes[rng.random_range(32..128usize)] = rng.random(),
            // Anything behind a good header.
            3 => bytes[32..].iter_mut().for_each(|byte| *byte = rng.random()),
            // The window ends earlier, or begins later.
            4 => self.limits.limit -= rng.random_range(0..ARENA / 2),
            // A loop.
            _ => {
                let to = at[rng.random_range(0..at.len())];
                bytes[8..16].copy_from_slice(&to.to_le_bytes());
            }
        }
    }

    /// 64 bytes of the memory.
    pub fn any_block(&self, rng: &mut StimulusRng) -> RangeInclusive<u64> {
        let first = self.limits.base + 64 * rng.random_range(0..ARENA / 64);
        first..=first + 63
    }
}

/// Memory that is handed out once; `next` counts from `base` on.
struct Places {
    base: u64,
    next: u64,
}

impl Places {
    fn take(&mut self, rng: &mut StimulusRng, bytes: u64) -> u64 {
        let gap = 64 * rng.random_range(0..3);
        let at = self.next + if self.next + gap + bytes <= ARENA { gap } else { 0 };
        assert!(at + bytes <= ARENA, "the arena holds what a job needs");
        self.next = (at + bytes).next_multiple_of(64);
        self.base + at
    }

    fn left(&self) -> u64 {
        ARENA - self.next
    }
}

fn descriptor(rng: &mut StimulusRng, places: &mut Places, most: u32) -> Descriptor {
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
    let mut area = |rng: &mut StimulusRng, repeats: bool| {
        let stride = (row - 64 * rng.random_range(0..2)) as u32;
        if repeats && rng.random_range(0..5u8) == 0 {
            return (places.take(rng, row), 0);
        }
        (places.take(rng, u64::from(rows) * row), stride)
    };
    let x = area(rng, true);
    let operands = [x, area(rng, true), area(rng, true), (area(rng, true).0, 0)];
    // In place, where that may be.
    let in_place = steps >> 8 & 3 == 0 && x.1 != 0 && rng.random_range(0..6u8) == 0;
    let out = if in_place { x } else { area(rng, false) };
    let tag_address = places.take(rng, 64);
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
        places: [operands[0], operands[1], operands[2], operands[3], out],
    }
}
