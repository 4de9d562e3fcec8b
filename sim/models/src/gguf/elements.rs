//! How the elements of a tensor are stored, and how their blocks are decoded.

use std::ops::Range;

use half::{bf16, f16};

/// Elements of a block of the older quantized types.
const SMALL: usize = 32;

/// Elements of a block of the K types.
const LARGE: usize = 256;

/// How elements are stored.
///
/// A block of 32 or 256 elements has scales of its own. Scale d and least value m are float16. The low halves of 16
/// bytes are elements 0 to 15 of a block of 32, the high halves are elements 16 to 31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// Floats of 32 bits.
    F32,
    /// Floats of 16 bits, IEEE 754.
    F16,
    /// The upper 16 bits of a float of 32 bits.
    BF16,
    /// Blocks of 32: d, then 16 bytes of two codes. Element = d * (code - 8).
    Q4_0,
    /// Blocks of 32: d, m, then 16 bytes of two codes. Element = d * code + m.
    Q4_1,
    /// Blocks of 32: d, the fifth bits of all codes, then 16 bytes of two codes. Element = d * (code - 16).
    Q5_0,
    /// Blocks of 32: d, m, the fifth bits of all codes, then 16 bytes of two codes. Element = d * code + m.
    Q5_1,
    /// Blocks of 32: d, then 32 signed bytes. Element = d * code.
    Q8_0,
    /// Blocks of 256, each 16 with a scale and a least value of 4 bits. Codes have 2 bits.
    Q2K,
    /// Blocks of 256, each 16 with a signed scale of 6 bits. Codes have 3 bits.
    Q3K,
    /// Blocks of 256, each 32 with a scale and a least value of 6 bits. Codes have 4 bits.
    Q4K,
    /// As [`ElementType::Q4K`], with codes of 5 bits.
    Q5K,
    /// Blocks of 256, each 16 with a signed scale of 8 bits. Codes have 6 bits.
    Q6K,
}

impl ElementType {
    /// All types that are read.
    pub const ALL: [Self; 13] = [
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::Q4_0,
        Self::Q4_1,
        Self::Q5_0,
        Self::Q5_1,
        Self::Q8_0,
        Self::Q2K,
        Self::Q3K,
        Self::Q4K,
        Self::Q5K,
        Self::Q6K,
    ];

    /// The format's number of the type.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q4_0 => 2,
            Self::Q4_1 => 3,
            Self::Q5_0 => 6,
            Self::Q5_1 => 7,
            Self::Q8_0 => 8,
            Self::Q2K => 10,
            Self::Q3K => 11,
            Self::Q4K => 12,
            Self::Q5K => 13,
            Self::Q6K => 14,
            Self::BF16 => 30,
        }
    }

    pub(super) fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.number() == number)
    }

    /// Elements and bytes of a block.
    pub(crate) fn block(self) -> (usize, usize) {
        match self {
            Self::F32 => (1, 4),
            Self::F16 | Self::BF16 => (1, 2),
            Self::Q4_0 => (SMALL, 2 + SMALL / 2),
            Self::Q4_1 => (SMALL, 2 + 2 + SMALL / 2),
            Self::Q5_0 => (SMALL, 2 + SMALL / 8 + SMALL / 2),
            Self::Q5_1 => (SMALL, 2 + 2 + SMALL / 8 + SMALL / 2),
            Self::Q8_0 => (SMALL, 2 + SMALL),
            Self::Q2K => (LARGE, LARGE / 16 + LARGE / 4 + 2 + 2),
            Self::Q3K => (LARGE, LARGE / 8 + LARGE / 4 + 12 + 2),
            Self::Q4K => (LARGE, 2 + 2 + 12 + LARGE / 2),
            Self::Q5K => (LARGE, 2 + 2 + 12 + LARGE / 8 + LARGE / 2),
            Self::Q6K => (LARGE, LARGE / 2 + LARGE / 4 + LARGE / 16 + 2),
        }
    }

    /// Appends the elements of one block. In `f32`, with the order of operations of the `gguf` package: so every bit is
    /// the same.
    pub(crate) fn dequantize(self, block: &[u8], to: &mut Vec<f32>) {
        match self {
            Self::F32 => to.push(f32::from_le_bytes([block[0], block[1], block[2], block[3]])),
            Self::F16 => to.push(half(block, 0)),
            Self::BF16 => to.push(bf16::from_le_bytes([block[0], block[1]]).to_f32()),
            Self::Q4_0 | Self::Q4_1 | Self::Q5_0 | Self::Q5_1 => self.halves(block, to),
            Self::Q8_0 => {
                let scale = half(block, 0);
                to.extend(block[2..].iter().map(|&b| f32::from(b as i8) * scale));
            }
            Self::Q2K => q2k(block, to),
            Self::Q3K => q3k(block, to),
            Self::Q4K => q45k(block, None, &block[16..], to),
            Self::Q5K => q45k(block, Some(&block[16..48]), &block[48..], to),
            Self::Q6K => q6k(block, to),
        }
    }

    /// Blocks of 32 with two codes a byte.
    fn halves(self, block: &[u8], to: &mut Vec<f32>) {
        let scale = half(block, 0);
        let with_least = matches!(self, Self::Q4_1 | Self::Q5_1);
        let after = if with_least { 4 } else { 2 };
        let (fifth, codes) = if matches!(self, Self::Q5_0 | Self::Q5_1) {
            let bits = [block[after], block[after + 1], block[after + 2], block[after + 3]];
            (u32::from_le_bytes(bits), &block[after + 4..])
        } else {
            (0, &block[after..])
        };
        let middle = match self {
            Self::Q4_0 => 8.0,
            Self::Q5_0 => 16.0,
            _ => 0.0,
        };
        let least = if with_least { half(block, 2) } else { 0.0 };
        let number = |i: usize, low: u8| {
            let code = f32::from(low | ((fifth >> i & 1) as u8) << 4);
            if with_least { scale * code + least } else { scale * (code - middle) }
        };
        let mut numbers = [[0.0; SMALL / 2]; 2];
        let [low, high] = &mut numbers;
        for (i, (byte, (low, high))) in codes.iter().zip(low.iter_mut().zip(high)).enumerate() {
            (*low, *high) = (number(i, byte & 15), number(i + SMALL / 2, byte >> 4));
        }
        to.extend(numbers.as_flattened());
    }
}

/// Elements of a tensor in the bytes of its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elements {
    kind: ElementType,
    bytes: Vec<u8>,
}

impl Elements {
    /// Whole blocks.
    ///
    /// # Panics
    /// When the last block is not whole.
    #[must_use]
    pub fn new(kind: ElementType, bytes: Vec<u8>) -> Self {
        assert!(bytes.len().is_multiple_of(kind.block().1), "{} bytes are not whole blocks of {kind:?}", bytes.len());
        Self { kind, bytes }
    }

    /// Floats of 32 bits.
    #[must_use]
    pub fn of_floats(values: &[f32]) -> Self {
        Self { kind: ElementType::F32, bytes: values.iter().flat_map(|x| x.to_le_bytes()).collect() }
    }

    /// How they are stored.
    #[must_use]
    pub fn kind(&self) -> ElementType {
        self.kind
    }

    /// How many they are.
    #[must_use]
    pub fn count(&self) -> usize {
        let (per_block, bytes) = self.kind.block();
        self.bytes.len() / bytes * per_block
    }

    /// All of them as numbers.
    #[must_use]
    pub fn values(&self) -> Vec<f32> {
        let mut values = Vec::with_capacity(self.count());
        self.decode(0..self.count(), &mut values);
        values
    }

    /// Appends the numbers of whole blocks.
    ///
    /// # Panics
    /// When there are no such elements, or a block is not whole.
    pub fn decode(&self, range: Range<usize>, to: &mut Vec<f32>) {
        let bytes = &self.bytes[self.place(range)];
        to.reserve(bytes.len() / self.kind.block().1 * self.kind.block().0);
        match self.kind {
            // Loops without a choice for each element.
            ElementType::F32 => to.extend(bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes))),
            ElementType::F16 => {
                to.extend(bytes.as_chunks().0.iter().map(|&bytes| f16::from_le_bytes(bytes).to_f32()));
            }
            kind => bytes.chunks_exact(kind.block().1).for_each(|block| kind.dequantize(block, to)),
        }
    }

    /// Some of the blocks, one range after the other.
    ///
    /// # Panics
    /// When there are no such elements, or a block is not whole.
    #[must_use]
    pub fn chosen(&self, ranges: impl Iterator<Item = Range<usize>>) -> Self {
        let mut bytes = Vec::new();
        ranges.for_each(|range| bytes.extend_from_slice(&self.bytes[self.place(range)]));
        Self { kind: self.kind, bytes }
    }

    /// The first element that is infinite or not a number, and its place.
    pub(crate) fn not_finite(&self) -> Option<(usize, f32)> {
        let (count, mut values) = (self.count(), Vec::new());
        (0..count).step_by(PIECE).find_map(|from| {
            values.clear();
            self.decode(from..(from + PIECE).min(count), &mut values);
            values.iter().position(|x| !x.is_finite()).map(|at| (from + at, values[at]))
        })
    }

    fn place(&self, range: Range<usize>) -> Range<usize> {
        let (per_block, bytes) = self.kind.block();
        assert!(
            range.start.is_multiple_of(per_block) && range.end.is_multiple_of(per_block),
            "elements {range:?} are not whole blocks of {per_block}"
        );
        range.start / per_block * bytes..range.end / per_block * bytes
    }
}

/// Elements that are looked at together: whole blocks of any type.
const PIECE: usize = 1 << 12;

fn half(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// 16 bytes of scale and least value, 64 bytes of codes, d, and the scale of the least values.
fn q2k(block: &[u8], to: &mut Vec<f32>) {
    let (scales, codes) = (&block[..16], &block[16..80]);
    let (d, least) = (half(block, 80), half(block, 82));
    to.extend((0..LARGE).map(|i| {
        let scale = scales[i / 16];
        let code = codes[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
        (d * f32::from(scale & 15)) * f32::from(code) - least * f32::from(scale >> 4)
    }));
}

/// 32 bytes of third bits, 64 bytes of codes, 12 bytes of scales, d. A third bit of 0 means minus 4.
fn q3k(block: &[u8], to: &mut Vec<f32>) {
    let (third, codes, scales) = (&block[..32], &block[32..96], &block[96..108]);
    let d = half(block, 108);
    let scale = |s: usize| {
        let low = scales[s % 8] >> (s / 8 * 4) & 15;
        let high = scales[8 + s % 4] >> (s / 4 * 2) & 3;
        d * f32::from((low | high << 4) as i8 - 32)
    };
    to.extend((0..LARGE).map(|i| {
        let low = (codes[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3) as i8;
        let high = third[i % 32] >> (i / 32) & 1;
        scale(i / 16) * f32::from(low - if high == 1 { 0 } else { 4 })
    }));
}

/// d, the scale of the least values, 12 bytes of scales and least values of 6 bits, then codes of 4 bits; of 5 bits if
/// there are fifth bits.
fn q45k(block: &[u8], fifth: Option<&[u8]>, codes: &[u8], to: &mut Vec<f32>) {
    let (d, least, scales) = (half(block, 0), half(block, 2), &block[4..16]);
    // The first four are 6 bits of a byte. The others have their upper 2 bits there, and 4 bits in the last four bytes.
    let six = |of: usize, i: usize| {
        f32::from(match i {
            0..4 => scales[4 * of + i] & 63,
            _ => (scales[4 + i] >> (4 * of) & 15) | (scales[4 * of + i - 4] >> 2 & 0x30),
        })
    };
    to.extend((0..LARGE).map(|i| {
        let low = codes[i / 64 * 32 + i % 32] >> (i / 32 % 2 * 4) & 15;
        let high = fifth.map_or(0, |bits| bits[i % 32] >> (i / 32) & 1);
        (d * six(0, i / 32)) * f32::from(low | high << 4) - least * six(1, i / 32)
    }));
}

/// 128 bytes of the lower 4 bits, 64 bytes of the upper 2, 16 signed scales, d.
fn q6k(block: &[u8], to: &mut Vec<f32>) {
    let (low, high, scales) = (&block[..128], &block[128..192], &block[192..208]);
    let d = half(block, 208);
    to.extend((0..LARGE).map(|i| {
        let low = low[i / 128 * 64 + i % 64] >> (i / 64 % 2 * 4) & 15;
        let high = high[i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
        (d * f32::from(scales[i / 16] as i8)) * f32::from((low | high << 4) as i8 - 32)
    }));
}
