//! Elements of a tensor: where they are, and how they are stored.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use sim::{Error, Result};

use super::elements::{ElementType, Elements};
use super::shape::by;

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

    pub(super) fn read(&self, path: &Path, file: &File, name: &str) -> Result<Elements> {
        let (per_block, block_bytes) = self.element.block();
        let mut raw = vec![0; self.bytes as usize];
        file.read_exact_at(&mut raw, self.offset).map_err(|source| Error::Io { path: path.to_owned(), source })?;
        let elements = Elements::new(self.element, raw);
        if let Some((at, found)) = elements.not_finite() {
            let byte = self.offset + (at / per_block * block_bytes) as u64;
            let problem =
                format!("element {at} of tensor `{name}` is {found}, wanted is a finite number: damaged (byte {byte})");
            return Err(Error::Data { path: path.to_owned(), problem });
        }
        Ok(elements)
    }
}
