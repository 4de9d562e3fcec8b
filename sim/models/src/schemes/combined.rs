//! Parts of a decoder's arithmetic from different schemes: products of one, and a cache of another.

use std::borrow::Cow;

use anyhow::{Result, bail};

use super::scheme::{Found, Passage, Reader, Tally};
use crate::decoder::arithmetic::{Group, Norm, Projection, Rotation};
use crate::decoder::key_values::{Behind, Cached, KeyValues};
use crate::decoder::perplexity::Window;
use crate::decoder::{Activation, Arithmetic, Float, Matrix, Model, Weight};

/// What a scheme replaces. The rest is floats, or another scheme's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Nothing.
    Nothing,
    /// Products of the projections, and what is between them, except the attention.
    Products,
    /// How keys and values are stored.
    Storage,
    /// Which tokens stay in the cache.
    Tokens,
    /// How keys and values are stored, and which tokens stay.
    Cache,
    /// Everything.
    Whole,
}

impl Part {
    /// All of them, in the order of computation.
    pub const ALL: [Self; 6] = [Self::Nothing, Self::Products, Self::Storage, Self::Tokens, Self::Cache, Self::Whole];

    /// What it is, for a message.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Products => "the products of projections",
            Self::Storage => "how keys and values are stored",
            Self::Tokens => "which tokens stay in the cache",
            Self::Cache => "how keys and values are stored, and which tokens stay",
            Self::Whole => "everything",
        }
    }

    /// Whether a cache may be it.
    #[must_use]
    pub fn is_cache(self) -> bool {
        matches!(self, Self::Nothing | Self::Storage | Self::Tokens | Self::Cache)
    }

    /// Whether both cannot be replaced by two schemes.
    #[must_use]
    pub fn excludes(self, other: Self) -> bool {
        let is_stored = |part| matches!(part, Self::Storage | Self::Cache);
        let is_chosen = |part| matches!(part, Self::Tokens | Self::Cache);
        match (self, other) {
            (Self::Nothing, _) | (_, Self::Nothing) => false,
            (Self::Whole, _) | (_, Self::Whole) | (Self::Products, Self::Products) => true,
            (a, b) => is_stored(a) && is_stored(b) || is_chosen(a) && is_chosen(b),
        }
    }
}

/// Goes on with an arithmetic.
type WithArithmetic<'r> = dyn FnMut(&mut dyn Arithmetic) -> Result<()> + 'r;
/// Goes on with a cache.
type WithCache<'r> = dyn FnMut(&mut dyn KeyValues) -> Result<()> + 'r;
/// Makes an arithmetic for a passage, has the passage read with it, and returns the figures of the arithmetic.
type MakeArithmetic<'a> = dyn Fn(&Passage<'_>, &mut WithArithmetic<'_>) -> Result<Vec<Tally>> + Send + Sync + 'a;
/// The same of a cache.
type MakeCache<'a> = dyn Fn(&Passage<'_>, &mut WithCache<'_>) -> Result<Vec<Tally>> + Send + Sync + 'a;

/// A scheme that has quantized what does not depend on the text that is judged.
pub enum Prepared<'a> {
    /// Everything in floats.
    Float,
    /// An arithmetic without attention, and the model that it computes.
    Products(Box<Cow<'a, Model>>, Box<MakeArithmetic<'a>>),
    /// A cache.
    Cache(Box<MakeCache<'a>>),
    /// A reader of its own.
    Whole(Box<dyn Reader + 'a>),
}

impl<'a> Prepared<'a> {
    /// Products of a model; `with` makes an arithmetic for a passage, has the passage read with it, and returns the
    /// figures of the arithmetic.
    pub fn products<F>(model: Cow<'a, Model>, with: F) -> Self
    where
        F: Fn(&Passage<'_>, &mut WithArithmetic<'_>) -> Result<Vec<Tally>> + Send + Sync + 'a,
    {
        Self::Products(Box::new(model), Box::new(with))
    }

    /// The same of a cache.
    pub fn cache<F>(with: F) -> Self
    where
        F: Fn(&Passage<'_>, &mut WithCache<'_>) -> Result<Vec<Tally>> + Send + Sync + 'a,
    {
        Self::Cache(Box::new(with))
    }
}

/// A reader with products of one scheme, and caches of others: storage ahead of the choice of tokens.
///
/// # Errors
/// There are two schemes of products, or a whole one beside others.
pub(super) fn reader<'a>(model: &'a Model, parts: Vec<Prepared<'a>>) -> Result<Box<dyn Reader + 'a>> {
    let (mut products, mut caches) = (None, Vec::new());
    let count = parts.len();
    for part in parts {
        match part {
            Prepared::Float => (),
            Prepared::Products(..) if products.is_some() => bail!("two schemes compute products"),
            Prepared::Products(model, make) => products = Some((*model, make)),
            Prepared::Cache(make) => caches.push(make),
            Prepared::Whole(reader) if count == 1 => return Ok(reader),
            Prepared::Whole(_) => bail!("a scheme that computes everything goes with no other one"),
        }
    }
    let (model, products) = match products {
        Some((model, products)) => (model, Some(products)),
        None => (Cow::Borrowed(model), None),
    };
    Ok(Box::new(Joined { model, products, caches }))
}

struct Joined<'a> {
    model: Cow<'a, Model>,
    products: Option<Box<MakeArithmetic<'a>>>,
    caches: Vec<Box<MakeCache<'a>>>,
}

impl Reader for Joined<'_> {
    fn read(&self, passage: &Passage<'_>) -> Result<Found> {
        let window = Window { tokens: 0..passage.tokens.len(), scored: passage.scored };
        let (mut surprises, mut of_caches) = (Vec::new(), Vec::new());
        let mut read = |products: &mut dyn Arithmetic| -> Result<()> {
            if self.caches.is_empty() {
                surprises = window.surprises(&self.model, passage.tokens, products)?;
                return Ok(());
            }
            let mut with = |cache: &mut dyn KeyValues| {
                surprises = window.surprises(&self.model, passage.tokens, &mut Both { products, cache })?;
                Ok(())
            };
            of_caches = nested(&self.caches, passage, &mut Exact, &mut with)?;
            Ok(())
        };
        let mut tallies = match &self.products {
            Some(products) => products(passage, &mut read)?,
            None => {
                read(&mut Float)?;
                Vec::new()
            }
        };
        tallies.extend(of_caches);
        Ok(Found { surprises, tallies })
    }
}

/// A cache that changes nothing.
struct Exact;

impl KeyValues for Exact {}

/// Makes the caches one after the other, each behind the ones before, and goes on with all of them.
fn nested(
    caches: &[Box<MakeCache<'_>>],
    passage: &Passage<'_>,
    before: &mut dyn KeyValues,
    with: &mut WithCache<'_>,
) -> Result<Vec<Tally>> {
    let Some((make, others)) = caches.split_first() else {
        with(before)?;
        return Ok(Vec::new());
    };
    let mut more = Vec::new();
    let mut tallies = make(passage, &mut |cache| {
        more = nested(others, passage, &mut Behind { first: before, second: cache }, with)?;
        Ok(())
    })?;
    tallies.extend(more);
    Ok(tallies)
}

/// Attention from a cache, everything else from products.
struct Both<'a> {
    products: &'a mut dyn Arithmetic,
    cache: &'a mut dyn KeyValues,
}

impl Arithmetic for Both<'_> {
    fn linear(&mut self, layer: usize, projection: Projection, x: &Matrix, weight: &Weight) -> Result<Matrix> {
        self.products.linear(layer, projection, x, weight)
    }

    fn bias(&mut self, layer: usize, projection: Projection, y: &mut Matrix, bias: &[f32]) -> Result<()> {
        self.products.bias(layer, projection, y, bias)
    }

    fn norm(&mut self, layer: usize, norm: Norm, x: &Matrix, gain: &[f32], eps: f64) -> Result<Matrix> {
        self.products.norm(layer, norm, x, gain, eps)
    }

    fn layer_norm(&mut self, layer: usize, norm: Norm, x: &Matrix, affine: [&[f32]; 2], eps: f64) -> Result<Matrix> {
        self.products.layer_norm(layer, norm, x, affine, eps)
    }

    fn rotate(&mut self, layer: usize, projection: Projection, x: &mut Matrix, turn: Rotation<'_>) -> Result<()> {
        self.products.rotate(layer, projection, x, turn)
    }

    fn attention(&mut self, group: Group<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        let cached = self.cache.store(Cached::exact(group))?;
        self.cache.attend(&cached, queries)
    }

    fn gate(&mut self, layer: usize, gate: Matrix, up: &Matrix) -> Result<Matrix> {
        self.products.gate(layer, gate, up)
    }

    fn activate(&mut self, layer: usize, up: Matrix, activation: Activation) -> Result<Matrix> {
        self.products.activate(layer, up, activation)
    }

    fn add(&mut self, layer: usize, residual: &mut Matrix, block: &Matrix) -> Result<()> {
        self.products.add(layer, residual, block)
    }
}
