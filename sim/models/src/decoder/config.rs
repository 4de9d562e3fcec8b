//! Shape and constants of a model.

use anyhow::{Result, ensure};

use super::projection::Projection;
use super::rotary::Rotary;
use crate::json::SIZES;

/// Which decoder a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `RMSNorm`, a gated feed-forward network with `SiLU`, rotary embedding (Touvron et al. 2023, section 2.2). Mistral and
    /// Qwen2 are of this family.
    Llama,
    /// `LayerNorm`, a feed-forward network of two matrices, learned positions (Radford et al. 2019). OPT is of this family.
    Gpt,
}

/// The function between the matrices of the feed-forward network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x / (1 + exp(-x))`, times the other input matrix: the Llama family.
    Silu,
    /// `max(x, 0)`.
    Relu,
    /// `x / 2 (1 + erf(x / sqrt(2)))` (Hendrycks and Gimpel 2016).
    Gelu,
    /// The same with tanh for erf: `x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))`.
    GeluTanh,
}

/// How a model knows the order of tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Positions {
    /// Queries and keys turn: the Llama family.
    Rotary(Rotary),
    /// A row for each position is added to the embedding: the GPT family.
    Learned {
        /// Rows of the table ahead of the first position. OPT has two.
        offset: usize,
    },
}

/// Shape and constants of a model, all from its file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Config {
    /// Which decoder it is.
    pub family: Family,
    /// Decoder layers.
    pub layers: usize,
    /// Elements of the residual stream.
    pub width: usize,
    /// Elements between the two halves of the feed-forward network.
    pub ffn_width: usize,
    /// Query heads.
    pub heads: usize,
    /// Key heads; query head h reads key head `h / (heads / kv_heads)`.
    pub kv_heads: usize,
    /// Elements of a head.
    pub head_width: usize,
    /// Positions.
    pub positions: Positions,
    /// Function of the feed-forward network.
    pub activation: Activation,
    /// Epsilon that a norm adds to the mean of the squares.
    pub norm_eps: f64,
    /// Tokens of the vocabulary.
    pub vocabulary: usize,
    /// Tokens of a text that the model was made for.
    pub context: usize,
}

impl Config {
    pub(super) fn check(&self) -> Result<()> {
        for (what, size) in [
            ("layers", self.layers),
            ("elements of a row", self.width),
            ("elements of the feed-forward network", self.ffn_width),
            ("heads", self.heads),
            ("key heads", self.kv_heads),
            ("elements of a head", self.head_width),
            ("tokens of the vocabulary", self.vocabulary),
            ("tokens of the context", self.context),
        ] {
            ensure!(SIZES.contains(&size), "{size} {what}, wanted are {} to {}", SIZES.start(), SIZES.end());
        }
        ensure!(
            self.heads.is_multiple_of(self.kv_heads),
            "{} heads cannot share {} key heads",
            self.heads,
            self.kv_heads
        );
        ensure!(self.norm_eps.is_finite() && self.norm_eps >= 0.0, "epsilon {}", self.norm_eps);
        match (self.family, self.positions, self.activation) {
            (Family::Llama, Positions::Rotary(rotary), Activation::Silu) => {
                ensure!(
                    self.head_width.is_multiple_of(2),
                    "heads of {}, wanted is an even number: pairs turn",
                    self.head_width
                );
                rotary.check()
            }
            (Family::Gpt, Positions::Learned { .. }, Activation::Relu | Activation::Gelu | Activation::GeluTanh) => {
                Ok(())
            }
            (family, positions, activation) => {
                anyhow::bail!("the family {family:?} has not {activation:?} with {positions:?}")
            }
        }
    }

    /// The projections of a layer, in the order of computation.
    #[must_use]
    pub fn projections(&self) -> &'static [Projection] {
        use Projection::{Down, Gate, K, O, Q, Up, V};
        match self.family {
            Family::Llama => &[Q, K, V, O, Gate, Up, Down],
            Family::Gpt => &[Q, K, V, O, Up, Down],
        }
    }

    /// Outputs and inputs of a projection.
    #[must_use]
    pub fn shape(&self, projection: Projection) -> [usize; 2] {
        let (queries, keys) = (self.heads * self.head_width, self.kv_heads * self.head_width);
        match projection {
            Projection::Q => [queries, self.width],
            Projection::O => [self.width, queries],
            Projection::K | Projection::V => [keys, self.width],
            Projection::Gate | Projection::Up => [self.ffn_width, self.width],
            Projection::Down => [self.width, self.ffn_width],
            Projection::Logits => [self.vocabulary, self.width],
        }
    }
}
