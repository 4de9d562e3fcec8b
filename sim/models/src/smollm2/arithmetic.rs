//! The arithmetic of a model: floats, or the numbers of an accelerator.

use anyhow::Result;
use golden::kelle::aerp::softmax;

use super::matrix::{Matrix, Weight};

/// A matrix product with a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Projection {
    /// Queries of all heads.
    Q,
    /// Keys of all key heads.
    K,
    /// Values of all key heads.
    V,
    /// Output of the attention.
    O,
    /// Gate of the feed-forward network.
    Gate,
    /// The other input matrix of the feed-forward network.
    Up,
    /// Output matrix of the feed-forward network.
    Down,
    /// The last product: a number for each token of the vocabulary. Its layer is the number of layers.
    Logits,
}

/// An RMSNorm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Norm {
    /// Before the attention.
    Attention,
    /// Before the feed-forward network.
    FeedForward,
    /// Before the last product. Its layer is the number of layers.
    Output,
}

/// A key head with the queries that share it.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// The layer.
    pub layer: usize,
    /// The key head.
    pub head: usize,
    /// Tokens before the first query: query i is at position `past + i`, and reads the keys up to that.
    pub past: usize,
    /// Keys by position, after rotary embedding.
    pub keys: &'a Matrix,
    /// Values by position.
    pub values: &'a Matrix,
}

impl Group<'_> {
    /// Width of a head.
    #[must_use]
    pub fn width(&self) -> usize {
        self.keys.columns
    }
}

/// Operations of a decoder. Each has the float's result unless it is replaced.
pub trait Arithmetic {
    /// `x` times a weight.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn linear(&mut self, layer: usize, projection: Projection, x: &Matrix, weight: &Weight) -> Result<Matrix> {
        let _ = (layer, projection);
        Ok(x.through(weight))
    }

    /// RMSNorm of each row.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn norm(&mut self, layer: usize, norm: Norm, x: &Matrix, gain: &[f32], eps: f64) -> Result<Matrix> {
        let _ = (layer, norm);
        Ok(rms_norm(x, gain, eps))
    }

    /// Rotary embedding of heads of `width`, rows at positions from `past` on.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn rotate(&mut self, layer: usize, projection: Projection, x: &mut Matrix, turn: Rotation) -> Result<()> {
        let _ = (layer, projection);
        rotate(x, turn);
        Ok(())
    }

    /// Attention of the heads that share a key head: `queries` after rotary embedding, a matrix a head.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn attention(&mut self, group: Group<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        let head = |q: &Matrix| {
            let scores = self.scores(group, q)?;
            let weights = self.softmax(group, scores)?;
            self.mix(group, &weights)
        };
        queries.iter().map(head).collect()
    }

    /// Products of queries and keys.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn scores(&mut self, group: Group<'_>, q: &Matrix) -> Result<Matrix> {
        Ok(q.times_transposed(group.keys))
    }

    /// Softmax of scores, divided by the root of a head's width, over the keys that a query may read; 0 for the others.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn softmax(&mut self, group: Group<'_>, scores: Matrix) -> Result<Matrix> {
        Ok(causal_softmax(group, scores))
    }

    /// Weights times values.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn mix(&mut self, group: Group<'_>, weights: &Matrix) -> Result<Matrix> {
        Ok(weights.times(group.values))
    }

    /// `silu(gate) * up`.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn gate(&mut self, layer: usize, gate: Matrix, up: &Matrix) -> Result<Matrix> {
        let _ = layer;
        Ok(silu_gate(gate, up))
    }

    /// Adds the results of a block to the residual stream.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn add(&mut self, layer: usize, residual: &mut Matrix, block: &Matrix) -> Result<()> {
        let _ = layer;
        residual.values.iter_mut().zip(&block.values).for_each(|(x, y)| *x += y);
        Ok(())
    }
}

/// Everything in f64.
#[derive(Clone, Copy, Debug, Default)]
pub struct Float;

impl Arithmetic for Float {}

/// `x / sqrt(mean(x^2) + eps) * gain` of each row (Zhang and Sennrich 2019).
#[must_use]
pub fn rms_norm(x: &Matrix, gain: &[f32], eps: f64) -> Matrix {
    let mut y = x.clone();
    for row in y.iter_mut() {
        let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
        let scale = (mean + eps).sqrt();
        row.iter_mut().zip(gain).for_each(|(x, &gain)| *x = *x / scale * f64::from(gain));
    }
    y
}

/// Rotary embedding: angles and positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation {
    /// Width of a head.
    pub width: usize,
    /// Base of the angles.
    pub base: f64,
    /// Position of the first row.
    pub past: usize,
}

/// Turns elements 2i and 2i + 1 of each head by `position * base^(-2i / width)`: the order of elements in GGUF files of
/// Llama models (RoFormer, Su et al. 2021, equation 34).
pub fn rotate(x: &mut Matrix, turn: Rotation) {
    let frequency = |i: usize| turn.base.powf(-((2 * i) as f64) / turn.width as f64);
    let frequencies: Vec<f64> = (0..turn.width / 2).map(frequency).collect();
    for (row, values) in x.iter_mut().enumerate() {
        let position = (turn.past + row) as f64;
        let turns: Vec<(f64, f64)> = frequencies.iter().map(|f| (position * f).sin_cos()).collect();
        for head in values.chunks_exact_mut(turn.width) {
            for (pair, &(sin, cos)) in head.chunks_exact_mut(2).zip(&turns) {
                (pair[0], pair[1]) = (pair[0] * cos - pair[1] * sin, pair[0] * sin + pair[1] * cos);
            }
        }
    }
}

/// See [`Arithmetic::softmax`].
#[must_use]
pub fn causal_softmax(group: Group<'_>, mut scores: Matrix) -> Matrix {
    let scale = (group.width() as f64).sqrt();
    for (i, row) in scores.iter_mut().enumerate() {
        let (seen, hidden) = row.split_at_mut(group.past + i + 1);
        seen.iter_mut().for_each(|s| *s /= scale);
        let weights = softmax(seen);
        seen.copy_from_slice(&weights);
        hidden.fill(0.0);
    }
    scores
}

/// `silu(gate) * up`.
#[must_use]
pub fn silu_gate(mut gate: Matrix, up: &Matrix) -> Matrix {
    gate.values.iter_mut().zip(&up.values).for_each(|(g, u)| *g = *g / (1.0 + (-*g).exp()) * u);
    gate
}
