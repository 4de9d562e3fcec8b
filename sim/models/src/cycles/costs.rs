//! What an accelerator says of itself to be compared with others: costs of layers, and what it has room for.

use std::fmt;

use anyhow::{Result, ensure};

use super::shapes::Model;
use super::{Cost, Event, Work};
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

    /// What comes with time for a layer, whatever is done, such as refreshes of keys and values: events, and how many of
    /// them a cycle.
    fn steady(&self, _model: &Model, _work: Work) -> Vec<(Event, f64)> {
        Vec::new()
    }
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

    /// Multiply-accumulates, if each token sees as many as the last one.
    fn products(self, model: &Model, work: Work) -> u128 {
        let of = |factors: &[u64]| factors.iter().map(|&factor| u128::from(factor)).fold(1, u128::saturating_mul);
        let weights = model
            .projections()
            .map(|[inputs, outputs, count]| of(&[work.sequences, work.tokens, inputs, outputs, count]));
        let attention = of(&[2, work.sequences, work.tokens, work.context, model.queries()]);
        let layer = weights.into_iter().fold(attention, u128::saturating_add);
        match self {
            Self::Layer => layer,
            Self::Model => {
                let head = of(&[work.sequences, model.width, model.vocabulary]);
                layer.saturating_mul(model.layers.into()).saturating_add(head)
            }
        }
    }

    /// What comes with time, as [`Costs::steady`] says it of a layer.
    #[must_use]
    pub fn steady(self, costs: &dyn Costs, model: &Model, work: Work) -> Vec<(Event, f64)> {
        let layers = if self == Self::Layer { 1 } else { model.layers };
        costs.steady(model, work).into_iter().map(|(event, rate)| (event, rate * layers as f64)).collect()
    }

    /// The cost on an accelerator.
    ///
    /// # Errors
    /// It does not fit: the message says what there is too much of.
    pub fn cost(self, costs: &dyn Costs, model: &Model, work: Work) -> Result<Cost> {
        if let Some(most) = costs.most() {
            ensure!(work.context <= most, "a context of {} tokens, it has room for {most}", work.context);
        }
        let products = self.products(model, work);
        ensure!(products <= MOST, "{products} multiply-accumulates, counted are up to {MOST}");
        let layer = costs.layer(model, work)?;
        if self == Self::Layer {
            return Ok(layer);
        }
        let mut all = layer.times(model.layers);
        all += costs.head(model, work.sequences)?;
        Ok(all)
    }
}

/// Multiply-accumulates that are counted. Cycles and bytes of so many fit into their numbers.
const MOST: u128 = 1 << 58;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cycles::Described;

    const MODEL: Model =
        Model { layers: 3, width: 8, between: 16, gated: true, heads: [2, 1], head: 4, vocabulary: 32 };

    fn machine() -> Described {
        let (rows, weight_rows, fixed) = (1, None, 0);
        let (weights_in_memory, cache_in_memory, refreshed, interval) = (true, true, 0, 1);
        let (weight_bits, activation_bits, cache_bits) = (8.0, 8.0, 8.0);
        let (products, elements, tokens, kept) = (1.0, 1.0, Some(1 << 40), None);
        Described {
            products,
            elements,
            weight_bits,
            activation_bits,
            cache_bits,
            rows,
            weight_rows,
            weights_in_memory,
            cache_in_memory,
            refreshed,
            interval,
            fixed,
            tokens,
            kept,
        }
    }

    /// All layers and the product with the vocabulary.
    #[test]
    fn parts() {
        let work = Work { sequences: 2, tokens: 1, context: 5 };
        let cost = |part: Part| part.cost(&machine(), &MODEL, work).unwrap();
        let (layer, model) = (cost(Part::Layer), cost(Part::Model));
        assert_eq!(model.products, 3 * layer.products + 2 * 8 * 32);
        for part in Part::ALL {
            assert_eq!(u128::from(cost(part).products), part.products(&MODEL, work));
        }
    }

    /// Numbers that would overflow are refused; the largest ones do not.
    #[test]
    fn too_much_work() {
        let told = |model: Model, work: Work| Part::Model.cost(&machine(), &model, work).unwrap_err().to_string();
        let work = Work { sequences: 65_536, tokens: 1 << 20, context: 1 << 20 };
        assert!(told(MODEL, work).contains("multiply-accumulates, counted are up to 288230376151711744"));
        let most = (1 << 30) - 1;
        let large = Model { layers: most, width: most, between: most, vocabulary: most, ..MODEL };
        assert!(told(large, Work { sequences: 1, tokens: 1, context: 1 }).contains("counted are up to"));
        let long = Work { sequences: 1, tokens: 1, context: (1 << 40) + 1 };
        assert_eq!(told(MODEL, long), "a context of 1099511627777 tokens, it has room for 1099511627776");
        Part::Layer.cost(&machine(), &MODEL, Work { sequences: 1 << 9, ..work }).unwrap();
    }
}
