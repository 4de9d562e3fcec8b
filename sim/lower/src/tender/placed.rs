//! What a model has in memory: its matrices, keys and values, and packed rows.

use host::vector::Operand;

use super::image::Projection;

/// Largest integer that stands for a probability.
pub(super) const PROBABILITY: f64 = 255.0;

/// A projection, and the constants that pack its input.
#[derive(Clone, Copy, Debug)]
pub struct Weights {
    pub(super) packing: u64,
    pub(super) projection: Projection,
}

/// Keys and values of a layer.
#[derive(Clone, Debug)]
pub struct Cache {
    /// Elements of a head.
    pub(super) width: usize,
    /// Constants that pack keys and values.
    pub(super) packing: u64,
    pub(super) heads: Vec<Head>,
}

/// Keys and values of a head, or of several that share them.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) queries: PackedQueries,
    /// By text, as the values.
    pub(super) keys: Vec<Operand>,
    pub(super) values: Vec<Operand>,
    pub(super) value_constants: u64,
}

/// How the queries of a head are packed, and the factor of their scores.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedQueries {
    pub(super) constants: u64,
    pub(super) table: (u64, u32),
    pub(super) scores: u64,
}

/// Packed rows of the attention of a head.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadBuffers {
    pub(super) queries: Operand,
    /// Probabilities.
    pub(super) weights: Operand,
}
