//! Shapes of decoders.

use crate::decoder::{Config, Described, Family};

/// A decoder's layers, and its vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Layers.
    pub layers: u64,
    /// Elements of a token.
    pub width: u64,
    /// Width between the matrices of the feed-forward network.
    pub between: u64,
    /// Gated: two matrices go into the feed-forward network, norms divide by the root mean square, and pairs are
    /// rotated. Otherwise one matrix goes in, and norms are layer norms.
    pub gated: bool,
    /// Heads of queries, and of keys and values.
    pub heads: [u64; 2],
    /// Elements of a head.
    pub head: u64,
    /// Tokens of the vocabulary.
    pub vocabulary: u64,
}

impl From<&Config> for Model {
    fn from(config: &Config) -> Self {
        let size = |size: usize| size as u64;
        Self {
            layers: size(config.layers),
            width: size(config.width),
            between: size(config.ffn_width),
            gated: config.family == Family::Llama,
            heads: [size(config.heads), size(config.kv_heads)],
            head: size(config.head_width),
            vocabulary: size(config.vocabulary),
        }
    }
}

impl Model {
    /// Elements of the queries of a token.
    #[must_use]
    pub const fn queries(&self) -> u64 {
        self.head * self.heads[0]
    }

    /// Elements of the keys of a token, and of its values.
    #[must_use]
    pub const fn keys(&self) -> u64 {
        self.head * self.heads[1]
    }

    /// Matrices that come into the feed-forward network.
    #[must_use]
    pub const fn inner(&self) -> u64 {
        if self.gated { 2 } else { 1 }
    }

    /// Weights of a layer by matrix: inputs, outputs, and how many matrices have this shape.
    #[must_use]
    pub const fn projections(&self) -> [[u64; 3]; 5] {
        [
            [self.width, self.queries(), 1],
            [self.queries(), self.width, 1],
            [self.width, self.keys(), 2],
            [self.width, self.between, self.inner()],
            [self.between, self.width, 1],
        ]
    }

    /// Weights of a layer.
    #[must_use]
    pub fn weights(&self) -> u64 {
        self.projections().iter().map(|[inputs, outputs, count]| inputs * outputs * count).sum()
    }
}

/// A model whose shape is in this crate ([`Described`]), by its name.
#[must_use]
pub fn model(name: &str) -> Option<Model> {
    Some(Model::from(&Described::shipped(name).ok()??.config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_models() {
        // Spec of SmolLM2: 3.54 M a layer; Llama-2-7B 202 M, OPT 12 squares.
        let of = |name| model(name).unwrap().weights();
        assert_eq!((of("SmolLM2-135M"), of("Llama-2-7B"), of("OPT-6.7B")), (3_538_944, 202_375_168, 12 * 4096 * 4096));
        assert_eq!(model("Llama-9"), None);
        let (llama, all) = (model("Llama-3.2-3B").unwrap(), Described::shipped("Llama-3.2-3B").unwrap().unwrap());
        assert_eq!((llama.queries(), llama.keys(), llama.vocabulary), (3072, 1024, 128_256));
        // Norms and the embedding are the rest.
        let rest = (2 * llama.layers + 1 + llama.vocabulary) * llama.width;
        assert_eq!(Some(llama.layers * llama.weights() + rest), all.parameters);
    }
}
