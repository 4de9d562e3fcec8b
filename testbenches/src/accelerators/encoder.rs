//! A layer of an encoder as a test gives it to the chains of an accelerator: weights, and the numbers of float arithmetic.

use golden::tender::granularity::relative_error;
use lower::layer::{Linear, Norm};

/// Weights of a layer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Heads; each has queries, keys and values of its own.
    pub heads: usize,
    /// The epsilon that a layer norm adds to the variance.
    pub epsilon: f64,
    /// Queries, keys, values, side by side.
    pub qkv: [Linear; 3],
    /// Output of the attention.
    pub o: Linear,
    /// Into the feed-forward network and out of it.
    pub feed: [Linear; 2],
    /// Norms after the attention and after the feed-forward network.
    pub norms: [Norm; 2],
}

/// Results of float arithmetic for some tokens.
#[derive(Clone, Debug)]
pub struct Exact {
    /// Input.
    pub input: Vec<Vec<f64>>,
    /// Queries, keys, values of all heads, side by side.
    pub qkv: [Vec<Vec<f64>>; 3],
    /// Results of all heads.
    pub attention: Vec<Vec<f64>>,
    /// After the first norm.
    pub hidden: Vec<Vec<f64>>,
    /// After GELU.
    pub active: Vec<Vec<f64>>,
    /// Output: after the second norm.
    pub out: Vec<Vec<f64>>,
}

impl Exact {
    /// Squared errors relative to the squares, by name: queries, keys, attention, after the attention, after GELU,
    /// after the layer.
    #[must_use]
    pub fn errors(&self, found: &[Vec<Vec<f64>>; 6]) -> Vec<(&'static str, f64)> {
        let names = ["queries", "keys", "attention", "behind the attention", "active", "behind the layer"];
        let exact = [&self.qkv[0], &self.qkv[1], &self.attention, &self.hidden, &self.active, &self.out];
        let errors = exact.iter().zip(found).map(|(exact, found)| relative_error(exact, found));
        names.into_iter().zip(errors).collect()
    }
}

/// Some columns of all rows.
#[must_use]
pub fn columns(rows: &[Vec<f64>], first: usize, count: usize) -> Vec<Vec<f64>> {
    rows.iter().map(|row| row[first..first + count].to_vec()).collect()
}
