//! Shapes of decoders.

/// A decoder's layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
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
}

impl Model {
    const fn opt(name: &'static str, layers: u64, width: u64, heads: u64) -> Self {
        Self { name, layers, width, between: 4 * width, gated: false, heads: [heads, heads] }
    }

    const fn llama(name: &'static str, layers: u64, [width, between]: [u64; 2], heads: [u64; 2]) -> Self {
        Self { name, layers, width, between, gated: true, heads }
    }

    /// Elements of a head.
    #[must_use]
    pub const fn head(&self) -> u64 {
        self.width / self.heads[0]
    }

    /// Matrices that come into the feed-forward network.
    #[must_use]
    pub const fn inner(&self) -> u64 {
        if self.gated { 2 } else { 1 }
    }

    /// Weights of a layer by matrix: inputs, outputs, and how many matrices have this shape.
    #[must_use]
    pub const fn projections(&self) -> [[u64; 3]; 4] {
        [
            [self.width, self.width, 2],
            [self.width, self.head() * self.heads[1], 2],
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

/// The models of the papers, and ours.
pub const MODELS: [Model; 8] = [
    Model::llama("SmolLM2-135M", 30, [576, 1536], [9, 3]),
    Model::opt("OPT-125M", 12, 768, 12),
    Model::opt("OPT-6.7B", 32, 4096, 32),
    Model::opt("OPT-13B", 40, 5120, 40),
    Model::opt("OPT-66B", 64, 9216, 72),
    Model::llama("Llama-2-7B", 32, [4096, 11008], [32, 32]),
    Model::llama("Llama-2-13B", 40, [5120, 13824], [40, 40]),
    Model::llama("Llama-2-70B", 80, [8192, 28672], [64, 8]),
];

/// A model by its name.
#[must_use]
pub fn model(name: &str) -> Option<Model> {
    MODELS.into_iter().find(|model| model.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_models() {
        // Spec of SmolLM2: 3.54 M a layer; Llama-2-7B 202 M, OPT 12 squares.
        let of = |name| model(name).unwrap().weights();
        assert_eq!((of("SmolLM2-135M"), of("Llama-2-7B"), of("OPT-6.7B")), (3_538_944, 202_375_168, 12 * 4096 * 4096));
        assert!(MODELS.iter().all(|m| m.width.is_multiple_of(m.heads[0]) && m.heads[0].is_multiple_of(m.heads[1])));
    }
}
