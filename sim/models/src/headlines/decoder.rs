//! Sizes of models, and the work of their decoders.

/// A stack of decoder layers.
pub(super) struct Decoder {
    pub(super) layers: f64,
    pub(super) width: f64,
    /// Weights of a layer in squares of the width.
    squares: f64,
}

impl Decoder {
    /// Attention of four squares, a feed-forward network of two matrices of 4 x width.
    pub(super) const fn opt(layers: f64, width: f64) -> Self {
        Self { layers, width, squares: 12.0 }
    }

    /// Weights of the layers.
    pub(super) fn weights(&self) -> f64 {
        self.layers * self.squares * self.width * self.width
    }

    /// Multiply-accumulates of so many tokens from the beginning: weights, and scores and values of all pairs of
    /// tokens.
    pub(super) fn work(&self, tokens: f64) -> f64 {
        self.weights() * tokens + 2.0 * self.layers * tokens * tokens * self.width
    }
}

/// LLaMA-2-7B: four squares of 4096 in attention, three matrices of 4096 x 11008.
pub(super) const LLAMA_2_7B: Decoder = Decoder { layers: 32.0, width: 4096.0, squares: 4.0 + 3.0 * 11008.0 / 4096.0 };
