//! Descriptors byte by byte, and the errors that they can have.

use std::ops::Range;

use golden::systems::kelle_top::Shape;
use rand::RngExt;
use sim::stimulus::StimulusRng;

/// A descriptor; there is no next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// Its bytes.
    pub bytes: [u8; 128],
}

/// The fields of an operation, by kind.
struct Table {
    /// Sizes: where, how many bytes, and the first value that is too large; 0 is wrong where the last one says so.
    sizes: Vec<(usize, usize, u64, bool)>,
    /// Address and stride of each operand; what has no stride, has the address twice.
    operands: Vec<(usize, usize)>,
    /// Bytes that must be 0.
    zeros: [Range<usize>; 2],
    /// Where options are, of which bit 12 may be up, of attention also bit 1.
    options: Option<usize>,
}

impl Table {
    fn of(opcode: u8, shape: &Shape) -> Self {
        let (heads, beyond_width) = (u64::from(shape.heads), u64::from(shape.width) + 1);
        let one = 1 << 16;
        match opcode {
            1 => Self {
                sizes: vec![
                    (32, 4, u64::from(shape.tokens) + 1, true),
                    (36, 4, one, true),
                    (40, 4, u64::from(shape.inner) + 1, true),
                ],
                operands: vec![(64, 52), (72, 56), (80, 80), (88, 60)],
                zeros: [96..128, 0..0],
                options: Some(44),
            },
            2 => Self {
                sizes: vec![
                    (32, 4, heads, false),
                    (36, 4, one, true),
                    (40, 4, u64::from(shape.group) + 1, true),
                    (44, 4, beyond_width, true),
                    (52, 2, u64::from(shape.slots) + 1, true),
                    // Sink and window that leave nobody.
                    (54, 2, shape.slots.into(), false),
                    (56, 2, shape.slots.into(), false),
                    (58, 1, 48, false),
                    (59, 1, u64::from(shape.recompute) + 1, false),
                ],
                operands: vec![(96, 80), (104, 84), (112, 88), (120, 92)],
                zeros: [0..0, 0..0],
                options: Some(48),
            },
            4 => Self {
                sizes: vec![(32, 4, heads, false), (36, 4, heads + 1, true)],
                operands: vec![],
                zeros: [40..128, 0..0],
                options: None,
            },
            5 => {
                let interval = |at| (at, 4, 1 << shape.interval_bits, true);
                let threshold = (32, 4, shape.top_score() as u64 + 1, false);
                let sizes = [threshold].into_iter().chain([36, 40, 44, 48].map(interval)).collect();
                Self { sizes, operands: vec![], zeros: [52..128, 0..0], options: None }
            }
            8 => Self {
                sizes: vec![
                    (32, 4, heads, false),
                    (36, 4, shape.slots.into(), false),
                    (40, 4, shape.recompute.into(), false),
                ],
                operands: vec![],
                zeros: [44..128, 0..0],
                options: None,
            },
            _ => Self {
                sizes: vec![
                    (32, 4, heads, false),
                    (36, 4, shape.slots.into(), false),
                    (40, 4, u64::from(shape.slots) + 1, true),
                    (44, 4, beyond_width, true),
                ],
                operands: vec![(56, 48)],
                zeros: [52..56, 64..128],
                options: None,
            },
        }
    }
}

impl Descriptor {
    /// A header, and zeros after it.
    pub fn new(opcode: u8, flags: u16, tag: u32, tag_address: u64) -> Self {
        let mut one = Self { bytes: [0; 128] };
        one.put(0, 0x5a42_4e53, 4);
        one.put(4, 1, 1);
        one.put(5, opcode.into(), 1);
        one.put(6, flags.into(), 2);
        one.put(16, tag.into(), 4);
        one.put(24, tag_address, 8);
        one
    }

    fn put(&mut self, at: usize, value: u64, count: usize) {
        self.bytes[at..at + count].copy_from_slice(&value.to_le_bytes()[..count]);
    }

    /// Words at their offsets.
    pub fn words(&mut self, words: &[(usize, u32)]) {
        words.iter().for_each(|&(at, word)| self.put(at, word.into(), 4));
    }

    /// 8 bytes at an offset.
    pub fn long(&mut self, at: usize, value: u64) {
        self.put(at, value, 8);
    }

    /// Addresses and strides at their offsets.
    pub fn operands(&mut self, operands: &[(usize, usize, (u64, u32))]) {
        for &(address, stride, place) in operands {
            self.put(address, place.0, 8);
            self.put(stride, place.1.into(), 4);
        }
    }

    /// Makes a field wrong that a check of its own is for; now and then it is right nevertheless.
    pub fn spoil(&mut self, rng: &mut StimulusRng, shape: &Shape) {
        let table = Table::of(self.bytes[5], shape);
        let zeros: Vec<usize> = table.zeros.into_iter().flatten().collect();
        match rng.random_range(0..6u8) {
            0 if !zeros.is_empty() => {
                self.bytes[zeros[rng.random_range(0..zeros.len())]] = 1 << rng.random_range(0..8u8);
            }
            1 if table.options.is_some() => {
                let at = table.options.unwrap_or(0) + rng.random_range(0..4usize);
                self.bytes[at] |= 1 << rng.random_range(0..8u8);
            }
            2 | 3 if !table.operands.is_empty() => {
                let (address, stride) = table.operands[rng.random_range(0..table.operands.len())];
                match rng.random_range(0..3u8) {
                    0 => self.bytes[address] |= 1 << rng.random_range(0..6u8),
                    1 => self.bytes[stride] |= 1 << rng.random_range(0..6u8),
                    _ => self.bytes[address + 1 + rng.random_range(0..7usize)] ^= 1 << rng.random_range(0..8u8),
                }
            }
            _ => {
                let (at, bytes, most, zero) = table.sizes[rng.random_range(0..table.sizes.len())];
                let values = [if zero { 0 } else { most }, most, most - 1, u64::MAX];
                self.put(at, values[rng.random_range(0..4usize)], bytes);
            }
        }
    }
}
