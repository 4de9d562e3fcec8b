//! What a model has in memory: its layers, and the rows that pass from operation to operation.

use host::vector::Operand;

use super::image::{Affine, Projection};

/// Largest integer that stands for a probability.
pub(super) const PROBABILITY: f64 = 255.0;

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

#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) norms: [Affine; 2],
    /// Constants of packings, by their input.
    pub(super) attention: u64,
    pub(super) attention_out: u64,
    pub(super) feed_forward: u64,
    pub(super) down: u64,
    /// Queries, keys and values side by side.
    pub(super) qkv: Projection,
    pub(super) o: Projection,
    /// Into the feed-forward network: up, or gate and up side by side.
    pub(super) into: Projection,
    pub(super) back: Projection,
    /// Constants that pack keys and values.
    pub(super) stored: u64,
    pub(super) heads: Vec<Head>,
}

/// The last norm and the last product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    pub(super) norm: Affine,
    /// Constants of the packing between them.
    pub(super) packing: u64,
    pub(super) logits: Projection,
}

/// Rows that pass from operation to operation, and packed ones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffers {
    pub(super) x: Operand,
    pub(super) hidden: Operand,
    pub(super) normed: Operand,
    pub(super) qkv: Operand,
    pub(super) turned: Operand,
    pub(super) attention: Operand,
    pub(super) added: Operand,
    pub(super) into: Operand,
    pub(super) gated: Operand,
    pub(super) logits: Operand,
    pub(super) left: Operand,
    pub(super) stored: Operand,
    /// Of a head. Heads take turns, so that two can be under way where operations overlap.
    pub(super) turns: [HeadBuffers; 2],
    pub(super) job: u64,
    /// The part of a row that one of several accelerators has.
    pub(super) share: Operand,
}

/// Rows of the attention of a head.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadBuffers {
    /// Queries, packed.
    pub(super) queries: Operand,
    pub(super) scores: Operand,
    pub(super) probabilities: Operand,
    /// Probabilities, packed.
    pub(super) weights: Operand,
}
