//! The arithmetic of a model: floats, or the numbers of an accelerator.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_PI};

use anyhow::Result;
use golden::kelle::aerp::softmax;

use super::config::Activation;
use super::matrix::Matrix;
pub use super::projection::{Norm, Projection};
use super::weight::Weight;

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

    /// Adds the biases of a projection to each row of its results.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn bias(&mut self, layer: usize, projection: Projection, y: &mut Matrix, bias: &[f32]) -> Result<()> {
        let _ = (layer, projection);
        add_bias(y, bias);
        Ok(())
    }

    /// RMSNorm of each row.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn norm(&mut self, layer: usize, norm: Norm, x: &Matrix, gain: &[f32], eps: f64) -> Result<Matrix> {
        let _ = (layer, norm);
        Ok(rms_norm(x, gain, eps))
    }

    /// `LayerNorm` of each row; `affine` has gains and biases.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn layer_norm(&mut self, layer: usize, norm: Norm, x: &Matrix, affine: [&[f32]; 2], eps: f64) -> Result<Matrix> {
        let _ = (layer, norm);
        Ok(layer_norm(x, affine, eps))
    }

    /// Rotary embedding of heads, rows at positions from `past` on.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn rotate(&mut self, layer: usize, projection: Projection, x: &mut Matrix, turn: Rotation<'_>) -> Result<()> {
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

    /// The activation of a feed-forward network without a gate.
    ///
    /// # Errors
    /// The scheme cannot compute it.
    fn activate(&mut self, layer: usize, up: Matrix, activation: Activation) -> Result<Matrix> {
        let _ = layer;
        Ok(activated(up, activation))
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

/// `(x - mean) / sqrt(variance + eps) * gain + bias` of each row (Ba, Kiros and Hinton 2016).
#[must_use]
pub fn layer_norm(x: &Matrix, [gain, bias]: [&[f32]; 2], eps: f64) -> Matrix {
    let mut y = x.clone();
    for row in y.iter_mut() {
        let n = row.len() as f64;
        let mean = row.iter().sum::<f64>() / n;
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n;
        let scale = (variance + eps).sqrt();
        for (x, (&gain, &bias)) in row.iter_mut().zip(gain.iter().zip(bias)) {
            *x = (*x - mean) / scale * f64::from(gain) + f64::from(bias);
        }
    }
    y
}

/// Adds a bias to each column.
pub fn add_bias(y: &mut Matrix, bias: &[f32]) {
    y.iter_mut().for_each(|row| row.iter_mut().zip(bias).for_each(|(y, &b)| *y += f64::from(b)));
}

/// Rotary embedding: angles and positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation<'a> {
    /// Radians that each pair of a head turns a token; a head has twice as many elements.
    pub frequencies: &'a [f64],
    /// Factor of the turned elements.
    pub factor: f64,
    /// Position of the first row.
    pub past: usize,
}

/// Turns elements 2i and 2i + 1 of each head by `position * frequency`: the order of elements in GGUF files of Llama
/// models (`RoFormer`, Su et al. 2021, equation 34).
pub fn rotate(x: &mut Matrix, turn: Rotation<'_>) {
    for (row, values) in x.iter_mut().enumerate() {
        let position = (turn.past + row) as f64;
        let scaled = |(sin, cos): (f64, f64)| (sin * turn.factor, cos * turn.factor);
        let turns: Vec<(f64, f64)> = turn.frequencies.iter().map(|f| scaled((position * f).sin_cos())).collect();
        for head in values.chunks_exact_mut(2 * turns.len().max(1)) {
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

/// An activation of each element.
#[must_use]
pub fn activated(mut x: Matrix, activation: Activation) -> Matrix {
    let of = |x: f64| match activation {
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Relu => x.max(0.0),
        Activation::Gelu => 0.5 * x * (1.0 + libm::erf(x * FRAC_1_SQRT_2)),
        Activation::GeluTanh => 0.5 * x * (1.0 + (FRAC_2_PI.sqrt() * (x + 0.044_715 * x.powi(3))).tanh()),
    };
    x.values.iter_mut().for_each(|x| *x = of(*x));
    x
}
