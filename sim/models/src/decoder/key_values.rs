//! Keys and values rounded to integers, as a reference for schemes for caches.

use anyhow::Result;
use golden::tender::granularity::{Granularity, round_trip};

use super::arithmetic::{Arithmetic, Float, Group};
use super::matrix::Matrix;

/// A model whose keys and values are symmetric integers, a scale a token of a head (round to nearest).
#[derive(Clone, Copy, Debug)]
pub struct RoundedCache {
    /// Bits of an element, 2 to 8.
    pub bits: u32,
}

impl Arithmetic for RoundedCache {
    fn attention(&mut self, group: Group<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        let rounded = |x: &Matrix| {
            let rows: Vec<Vec<f64>> = x.iter().map(<[f64]>::to_vec).collect();
            Matrix::from_rows(&round_trip(&rows, self.bits, Granularity::Row))
        };
        let (keys, values) = (rounded(group.keys)?, rounded(group.values)?);
        Float.attention(Group { keys: &keys, values: &values, ..group }, queries)
    }
}
