//! What an accelerator says of itself to be compared with others: costs of layers, and what it has room for.

use std::fmt;

use anyhow::{Result, ensure};

use super::shapes::Model;
use super::{Cost, Work};
use crate::schemes::{Choice, Settings};

/// An accelerator at work on decoders. An error of a cost says why the accelerator has no room for the work.
pub trait Costs {
    /// Sizes, and numbers that it computes with, in a few words.
    fn about(&self) -> String;

    /// Multiply-accumulates a cycle, if no multiplier ever waits.
    fn peak(&self) -> f64;

    /// Tokens that a sequence may have. None if memory is the only limit.
    fn most(&self) -> Option<u64> {
        None
    }

    /// A layer.
    ///
    /// # Errors
    /// It does not fit.
    fn layer(&self, model: &Model, work: Work) -> Result<Cost>;

    /// The last norm, and the last product: a token of each sequence becomes a number for each token of the vocabulary.
    ///
    /// # Errors
    /// It does not fit.
    fn head(&self, model: &Model, sequences: u64) -> Result<Cost>;
}

/// The part of a model that is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// One layer.
    #[default]
    Layer,
    /// All layers, one after the other, and the product with the vocabulary.
    Model,
}

impl Part {
    /// All parts.
    pub const ALL: [Self; 2] = [Self::Layer, Self::Model];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Layer => "layer",
            Self::Model => "model",
        }
    }

    /// The cost on an accelerator.
    ///
    /// # Errors
    /// It does not fit: the message says what there is too much of.
    pub fn cost(self, costs: &dyn Costs, model: &Model, work: Work) -> Result<Cost> {
        if let Some(most) = costs.most() {
            ensure!(work.context <= most, "a context of {} tokens, it has room for {most}", work.context);
        }
        let layer = costs.layer(model, work)?;
        if self == Self::Layer {
            return Ok(layer);
        }
        let mut all = layer.times(model.layers);
        all += costs.head(model, work.sequences)?;
        Ok(all)
    }
}

/// The costs of a block with some settings, and with so many cycles until memory answers.
pub type OfBlock<B> = fn(&B, &Settings, u32) -> Result<Box<dyn Costs>>;

/// How costs of a block are counted.
#[derive(Clone, Copy)]
pub struct Counts<B> {
    /// Its parameters where a user sets none.
    pub block: fn() -> B,
    /// Choices of its software: numbers, groups, tokens that are kept.
    pub choices: fn() -> Vec<Choice>,
    /// The costs.
    pub costs: OfBlock<B>,
}

impl<B> fmt::Debug for Counts<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counts").field("choices", &(self.choices)()).finish_non_exhaustive()
    }
}
