//! Decoder layers of drawn weights, of the Llama and of the OPT shape.

use lower::layer::{Activation, Heads, Layer, Linear, Norm, Turns};
use models::decoder::Rotary;
use rand::RngExt;
use sim::stimulus::StimulusRng;

/// Sizes of a layer with drawn weights.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Channels of the residual stream.
    pub width: usize,
    /// Query heads, and heads of keys and values.
    pub heads: [usize; 2],
    /// Elements of a head.
    pub head: usize,
    /// Channels of the feed-forward network.
    pub inner: usize,
}

/// How a drawn layer is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Norm by the root mean square, rotary embedding, gated `SiLU`, no biases.
    Llama,
    /// Layer norm, biases, no rotary embedding, `ReLU`.
    Opt,
    /// The same with GELU by the hyperbolic tangent.
    OptGelu,
}

/// What norms add in drawn layers.
pub const EPSILON: f64 = 1e-5;

impl Sizes {
    /// The heads, whose rows have no other elements.
    #[must_use]
    pub fn heads(self) -> Heads {
        let [queries, keys] = self.heads;
        Heads { queries, keys, width: self.head, own: self.head }
    }
}

/// How heads of so many elements turn in drawn layers.
#[must_use]
pub fn turns(width: usize) -> Turns {
    let rotary = Rotary::plain(100_000.0);
    Turns { frequencies: rotary.frequencies(width), factor: rotary.factor() }
}

/// A layer of drawn weights.
pub fn drawn(rng: &mut StimulusRng, shape: Shape, sizes: Sizes) -> Layer {
    let opt = shape != Shape::Llama;
    let Sizes { width, heads, head, inner } = sizes;
    let mut linear = |inputs: usize, outputs: usize| {
        let most = 1.7 / (inputs as f64).sqrt();
        let weights = (0..inputs).map(|_| (0..outputs).map(|_| rng.random_range(-most..most)).collect()).collect();
        let biases = (0..if opt { outputs } else { 0 }).map(|_| rng.random_range(-0.3..0.3)).collect();
        Linear::with_biases(weights, biases)
    };
    let [q, k, v] = [heads[0], heads[1], heads[1]].map(|heads| linear(width, heads * head));
    let (o, up, down) = (linear(heads[0] * head, width), linear(width, inner), linear(inner, width));
    let activation = match shape {
        Shape::Llama => Activation::GatedSilu(linear(width, inner)),
        Shape::Opt => Activation::Relu,
        Shape::OptGelu => Activation::GeluTanh,
    };
    let norms = [0, 1].map(|_| Norm {
        gains: (0..width).map(|_| rng.random_range(0.5..1.5)).collect(),
        biases: (0..if opt { width } else { 0 }).map(|_| rng.random_range(-0.2..0.2)).collect(),
    });
    let turns = if opt { None } else { Some(turns(head)) };
    Layer { norms, epsilon: EPSILON, q, k, v, o, up, activation, down, heads: sizes.heads(), turns }
}

/// Drawn rows of a residual stream of so many channels.
pub fn drawn_rows(rng: &mut StimulusRng, width: usize, tokens: usize) -> Vec<Vec<f64>> {
    (0..tokens).map(|_| (0..width).map(|_| rng.random_range(-2.0..2.0)).collect()).collect()
}
