//! Elements of a tensor: where they are, and how their blocks are decoded.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use half::f16;
use sim::{Error, Result};

use super::by;

/// Elements of a block of a quantized type.
const BLOCK: usize = 32;

/// How elements are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// Floats of 32 bits.
    F32,
    /// Blocks of 32: a scale d and a least value m in float16, then 16 bytes of two codes. The low halves are elements
    /// 0 to 15, the high halves 16 to 31. Element = d * code + m.
    Q4_1,
    /// Blocks of 32: a scale d in float16, then 32 signed bytes. Element = d * code.
    Q8_0,
}

impl ElementType {
    /// All types that are read.
    pub const ALL: [Self; 3] = [Self::F32, Self::Q4_1, Self::Q8_0];

    /// The format's number of the type.
    #[must_use]
    pub fn number(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::Q4_1 => 3,
            Self::Q8_0 => 8,
        }
    }

    pub(super) fn of(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|t| t.number() == number)
    }

    /// Elements and bytes of a block.
    fn block(self) -> (usize, usize) {
        match self {
            Self::F32 => (1, 4),
            Self::Q4_1 => (BLOCK, 2 + 2 + BLOCK / 2),
            Self::Q8_0 => (BLOCK, 2 + BLOCK),
        }
    }

    /// Appends the elements of one block. In `f32`: products of a float16 and a code are exact, the sum is rounded
    /// once.
    fn dequantize(self, block: &[u8], to: &mut Vec<f32>) {
        let half = |at: usize| f16::from_le_bytes([block[at], block[at + 1]]).to_f32();
        match self {
            Self::F32 => to.push(f32::from_le_bytes([block[0], block[1], block[2], block[3]])),
            Self::Q4_1 => {
                let (scale, least) = (half(0), half(2));
                let element = |code: u8| scale * f32::from(code) + least;
                to.extend(block[4..].iter().map(|b| element(b & 15)));
                to.extend(block[4..].iter().map(|b| element(b >> 4)));
            }
            Self::Q8_0 => to.extend(block[2..].iter().map(|&b| half(0) * f32::from(b as i8))),
        }
    }
}

/// A tensor as numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Its shape; elements along the last dimension are neighbours.
    pub shape: Vec<usize>,
    /// Its elements, row by row.
    pub values: Vec<f32>,
}

/// The place, shape and element type of a tensor.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) shape: Vec<usize>,
    pub(super) element: ElementType,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl Place {
    pub(super) fn new(shape: Vec<usize>, element: ElementType, offset: u64) -> std::result::Result<Self, String> {
        let (per_block, block_bytes) = element.block();
        let row = *shape.last().unwrap_or(&0);
        if !row.is_multiple_of(per_block) {
            return Err(format!("has rows of {row} elements, wanted is a multiple of {per_block} ({element:?})"));
        }
        let elements = shape.iter().try_fold(1_usize, |n, &size| n.checked_mul(size)).filter(|&n| n > 0);
        let bytes = elements.and_then(|n| (n / per_block).checked_mul(block_bytes));
        let bytes = bytes.ok_or_else(|| format!("is {}: no elements, or more than there can be", by(&shape)))?;
        Ok(Self { shape, element, offset, bytes: bytes as u64 })
    }

    pub(super) fn read(&self, path: &Path, file: &File, name: &str) -> Result<Tensor> {
        let (per_block, block_bytes) = self.element.block();
        let mut raw = vec![0; self.bytes as usize];
        file.read_exact_at(&mut raw, self.offset).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        let mut values = Vec::with_capacity(raw.len() / block_bytes * per_block);
        raw.chunks_exact(block_bytes).for_each(|block| self.element.dequantize(block, &mut values));
        if let Some(at) = values.iter().position(|x| !x.is_finite()) {
            let problem =
                format!("element {at} of tensor `{name}` is {}, wanted is a finite number: damaged", values[at]);
            return Err(Error::Data { path: path.to_owned(), problem });
        }
        Ok(Tensor { shape: self.shape.clone(), values })
    }
}
