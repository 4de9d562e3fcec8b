//! A decoder on an accelerator that multiplies rows of fp16 by matrices in its memory.

use std::fmt::Debug;

use anyhow::{Result, ensure};
use half::f16;
use host::vector::{Caps, Epsilon, Operand};
use host::{ALIGNMENT, Descriptor, Window};
use models::decoder::arithmetic::Norm;
use models::decoder::{Config, Family, Model};

use super::executor::{Executor, Spent};
use super::placer::{Affine, Placer, columns_from, rows_from};
use super::steps::Steps;
use super::{DecoderModel, Sizes, Source};
use crate::layer::{Heads, turns};
use crate::needs::Asked;
use crate::pass::{Rows, Shares};

/// Elements of a head in rows are a multiple of this: heads begin where operands may.
pub const HEAD_UNIT: usize = ALIGNMENT as usize / 2;

/// Products of an accelerator, as [`Decoder`] asks for them. Everything else is steps on rows.
///
/// Rows of a pass come in blocks, each with its first row and its number of rows. Operands of a block begin at its first
/// row.
pub trait Products: Clone + Debug + Send + Sync + 'static {
    /// A matrix in memory, with what its products need besides.
    type Weights: Clone + Debug + Send + Sync;
    /// Keys and values of a layer, of all heads and texts.
    type Cache: Clone + Debug + Send + Sync;

    /// The vector unit.
    fn vector(&self) -> &Caps;

    /// Whether operations overlap.
    fn overlaps(&self) -> bool;

    /// The engine of a descriptor, and about how long it takes, where operations overlap.
    fn order(&self, descriptor: &Descriptor) -> (usize, u64);

    /// Blocks of so many rows.
    fn blocks(&self, rows: usize) -> Vec<(usize, usize)> {
        vec![(0, rows)]
    }

    /// Rows times a matrix; biases are added.
    ///
    /// # Errors
    /// The hardware would refuse it; the job before fails. So for all products.
    fn project(
        &self,
        s: &mut Steps<'_>,
        block: (usize, usize),
        x: Operand,
        weights: &Self::Weights,
        out: Operand,
    ) -> Result<()>;

    /// What the accelerator does with keys and values before the host [keeps](Self::keep) them.
    ///
    /// # Errors
    /// As for products.
    fn store(&self, s: &mut Steps<'_>, block: (usize, usize), cache: &Self::Cache, rows: &Stored) -> Result<()> {
        let _ = (s, block, cache, rows);
        Ok(())
    }

    /// The host's part of a layer: keys and values of a pass join those of the tokens before.
    ///
    /// # Errors
    /// The executor fails.
    fn keep(&self, on: &mut dyn Executor, cache: &mut Self::Cache, rows: &Stored, shares: &Shares) -> Result<()>;

    /// How many of the tokens of a text its heads still have, after a pass up to so many.
    fn kept(&self, cache: &Self::Cache, text: usize, tokens: usize) -> usize {
        let _ = (cache, text);
        tokens
    }

    /// Counts what probabilities of a head say of its tokens, for a cache that drops some.
    ///
    /// # Errors
    /// As for products.
    fn weigh(&self, s: &mut Steps<'_>, rows: (usize, Operand), of: &Seen<'_, Self::Cache>) -> Result<()> {
        let _ = (s, rows, of);
        Ok(())
    }

    /// Rows of queries times the keys of a head, with the factor of softmax.
    ///
    /// # Errors
    /// As for products.
    fn scores(&self, s: &mut Steps<'_>, rows: (usize, Operand), of: Seen<'_, Self::Cache>, out: Operand) -> Result<()>;

    /// Rows of probabilities times the values of a head.
    ///
    /// # Errors
    /// As for products.
    fn mix(&self, s: &mut Steps<'_>, rows: (usize, Operand), of: Seen<'_, Self::Cache>, out: Operand) -> Result<()>;
}

/// Rows of keys and values in fp16.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// Keys of all heads, side by side.
    pub keys: Operand,
    /// Room for values next to these keys.
    pub beside: Operand,
    /// Values of all heads.
    pub values: Operand,
    /// Sizes of the heads.
    pub heads: Heads,
}

impl Stored {
    /// Key and value of a head, of a row.
    ///
    /// # Errors
    /// The executor fails.
    pub fn read(&self, on: &mut dyn Executor, row: usize, head: usize) -> Result<[Vec<f64>; 2]> {
        let mut of = |at: Operand| -> Result<Vec<f64>> {
            let mut bytes = vec![0; 2 * self.heads.width];
            on.read(columns_from(rows_from(at, row), head * self.heads.width).address, &mut bytes)?;
            Ok(bytes.chunks(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]]).to_f64()).collect())
        };
        Ok([of(self.keys)?, of(self.values)?])
    }

    /// From a row on.
    pub(super) fn from(&self, row: usize) -> Self {
        let [keys, beside, values] = [self.keys, self.beside, self.values].map(|at| rows_from(at, row));
        Self { keys, beside, values, ..*self }
    }
}

/// Tokens of a text that a head looks at.
#[derive(Debug)]
pub struct Seen<'a, C> {
    /// Keys and values of the layer.
    pub cache: &'a C,
    /// The key head.
    pub head: usize,
    /// The text.
    pub text: usize,
    /// Its tokens that the head has, up to the last one of the pass.
    pub tokens: usize,
    /// 0 or 1: of two heads under way at the same time each has its own.
    pub turn: usize,
}

/// What a decoder is made for.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The model.
    pub config: Config,
    /// Its heads in rows.
    pub heads: Heads,
    /// Tokens and texts.
    pub sizes: Sizes,
    /// Accelerators side by side.
    pub parts: usize,
}

/// Matrices of a layer in memory.
#[derive(Clone, Debug)]
pub struct Matrices<P: Products> {
    /// Queries, keys and values side by side.
    pub qkv: P::Weights,
    /// Output of the attention.
    pub o: P::Weights,
    /// Into the feed-forward network: up, or gate and up side by side.
    pub into: P::Weights,
    /// Back to the residual stream.
    pub back: P::Weights,
    /// Keys and values.
    pub cache: P::Cache,
}

/// How a model gets into memory. Accelerators side by side have an equal share of the columns of each projection.
pub trait Images<P: Products> {
    /// The accelerator, with its own buffers.
    ///
    /// # Errors
    /// No room.
    fn products(&mut self, p: &mut Placer<'_>, shape: &Shape) -> Result<P>;

    /// The matrices of a layer.
    ///
    /// # Errors
    /// No room; what the accelerator has learnt is of another model.
    fn layer(&mut self, p: &mut Placer<'_>, of: (&Model, usize), shape: &Shape) -> Result<Matrices<P>>;

    /// The last product.
    ///
    /// # Errors
    /// No room; what the accelerator has learnt is of another model.
    fn output(&mut self, p: &mut Placer<'_>, model: &Model, shape: &Shape) -> Result<P::Weights>;
}

#[derive(Clone, Debug)]
pub(super) struct Layer<P: Products> {
    pub norms: [Affine; 2],
    pub matrices: Matrices<P>,
}

/// Rows that pass from operation to operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffers {
    pub x: Operand,
    pub hidden: Operand,
    pub normed: Operand,
    pub qkv: Operand,
    pub turned: Operand,
    pub attention: Operand,
    pub added: Operand,
    pub into: Operand,
    pub gated: Operand,
    pub logits: Operand,
    /// Scores and probabilities of a head. Heads take turns, so that two can be under way where operations overlap.
    pub turns: [[Operand; 2]; 2],
    pub job: u64,
    /// The part of a row that one of several accelerators has.
    pub share: Operand,
}

impl Buffers {
    fn new(p: &mut Placer<'_>, shape: &Shape, overlaps: bool) -> Result<Self> {
        let Shape { config: c, heads, sizes, parts } = shape;
        let rows = sizes.rows;
        let (queries, stored) = (heads.queries * heads.width, heads.keys * heads.width);
        let of_heads = heads.queries.max(rows);
        let mut head =
            || -> Result<_> { Ok([p.rows(of_heads, sizes.room.tokens)?, p.rows(of_heads, sizes.room.tokens)?]) };
        let first = head()?;
        // Two heads have the same buffers where operations follow each other.
        let turns = [first, if overlaps { head()? } else { first }];
        let longest = c.vocabulary.max(c.ffn_width).max(queries + 2 * stored).max(c.width);
        Ok(Self {
            x: p.rows(rows, c.width)?,
            hidden: p.rows(rows, c.width)?,
            normed: p.rows(rows, c.width)?,
            qkv: p.rows(rows, queries + 2 * stored)?,
            turned: p.rows(rows, queries + 2 * stored)?,
            attention: p.rows(rows, queries)?,
            added: p.rows(rows, c.width)?,
            into: p.rows(rows, 2 * c.ffn_width)?,
            gated: p.rows(rows, c.ffn_width)?,
            logits: p.rows(sizes.room.texts, c.vocabulary)?,
            turns,
            job: p.room(Steps::most())?,
            share: p.rows(rows.max(sizes.room.texts), if *parts > 1 { longest / parts } else { 1 })?,
        })
    }
}

/// A model in memory, with the keys and values of texts.
#[derive(Clone, Debug)]
pub struct Decoder<P: Products> {
    pub(super) products: P,
    pub(super) window: Window,
    pub(super) shape: Shape,
    pub(super) epsilon: Epsilon,
    pub(super) layers: Vec<Layer<P>>,
    /// The last norm and the last product, where the model is whole.
    pub(super) output: Option<(Affine, P::Weights)>,
    /// By position, where heads turn.
    pub(super) angles: Option<Operand>,
    pub(super) buffers: Buffers,
    /// Tokens by text.
    tokens: Vec<usize>,
}

/// Refuses a model without equal shares for so many accelerators side by side.
///
/// # Errors
/// Outputs that are no multiple; the message says of what.
pub fn equal_shares(config: &Config, parts: usize) -> Result<()> {
    // Rows of gate and up side by side are cut where operands may begin; all others are cut anywhere.
    let of_ffn = if config.family == Family::Llama { HEAD_UNIT * parts } else { parts };
    for (what, outputs, share) in [
        ("a feed-forward network", config.ffn_width, of_ffn),
        ("a residual stream", config.width, parts),
        ("a vocabulary", config.vocabulary, parts),
    ] {
        let problem = format!("{what} of {outputs} for {parts} accelerators side by side");
        ensure!(outputs.is_multiple_of(share), "{problem}; wanted are multiples of {share}");
    }
    Ok(())
}

impl<P: Products> Decoder<P> {
    /// Puts a model, or a layer of it, into memory.
    ///
    /// # Errors
    /// The accelerator or the window has no room for the model, or its outputs have no equal shares for the accelerators.
    pub fn new(
        images: &mut impl Images<P>,
        (source, window): (Source<'_>, &Window),
        sizes: Sizes,
        memory: &mut dyn Executor,
    ) -> Result<Self> {
        let Source { model, layers, is_whole } = source;
        let (config, parts, Sizes { rows, room }) = (*model.config(), memory.parts(), sizes);
        room.check()?;
        ensure!(rows > 0, "passes of no token");
        let context = config.context;
        ensure!(room.tokens <= context, "room for {} tokens; the model's context is {context}", room.tokens);
        equal_shares(&config, parts)?;
        let heads = Asked { config: &config, room, prompt: rows }.heads(HEAD_UNIT);
        let shape = Shape { config, heads, sizes, parts };
        let mut p = Placer::new(window, memory);
        let products = images.products(&mut p, &shape)?;
        let layers = layers.map(|(number, model)| {
            let matrices = images.layer(&mut p, (&model, number), &shape)?;
            let norm = |p: &mut Placer<'_>, norm| p.affine(&model, number, norm);
            Ok(Layer { norms: [norm(&mut p, Norm::Attention)?, norm(&mut p, Norm::FeedForward)?], matrices })
        });
        let layers = layers.collect::<Result<Vec<_>>>()?;
        let output = is_whole.then(|| -> Result<_> {
            let weights = images.output(&mut p, model, &shape)?;
            Ok((p.affine(model, config.layers, Norm::Output)?, weights))
        });
        let output = output.transpose()?;
        let angles = turns(model, heads.width).map(|turns| p.angles(&turns, room.tokens)).transpose()?;
        let buffers = Buffers::new(&mut p, &shape, products.overlaps())?;
        let (window, epsilon, tokens) = (*window, Epsilon::new(config.norm_eps)?, vec![0; room.texts]);
        Ok(Self { products, window, shape, epsilon, layers, output, angles, buffers, tokens })
    }

    /// What there is room for.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        self.shape.sizes
    }

    /// The next token of the first text: [`pass`](DecoderModel::pass) for a row alone.
    ///
    /// # Errors
    /// The errors of [`pass`](DecoderModel::pass).
    pub fn token(
        &mut self,
        on: &mut dyn Executor,
        (row, wanted): (Vec<f64>, bool),
        done: &mut dyn FnMut(&Spent) -> Result<()>,
    ) -> Result<Vec<f16>> {
        Ok(self.pass(on, (&[(0, vec![row])], wanted), done)?.pop().unwrap_or_default())
    }
}

impl<P: Products> DecoderModel for Decoder<P> {
    fn tokens(&self, text: usize) -> usize {
        self.tokens.get(text).copied().unwrap_or(0)
    }

    fn jobs(&self) -> usize {
        let of_layer = if self.shape.parts > 1 { 5 } else { 1 };
        of_layer * self.layers.len() + 1
    }

    fn residual(&self) -> Operand {
        self.buffers.x
    }

    fn pass(
        &mut self,
        on: &mut dyn Executor,
        (texts, wanted): (&[(usize, Rows)], bool),
        done: &mut dyn FnMut(&Spent) -> Result<()>,
    ) -> Result<Vec<Vec<f16>>> {
        let Sizes { rows: most, room } = self.shape.sizes;
        let (rows, shares) = Shares::of(texts, &self.tokens, room.tokens)?;
        ensure!(rows.len() <= most, "a pass of {} tokens, there is room for {most}", rows.len());
        let parts = self.shape.parts;
        ensure!(on.parts() == parts, "{} accelerators, the model is on {parts}", on.parts());
        ensure!(self.output.is_some() || !wanted, "a layer alone has no logits");
        let logits = self.through(on, (&rows, &shares), wanted, done)?;
        shares.add_to(&mut self.tokens);
        Ok(logits)
    }

    fn duplicate(&self) -> Box<dyn DecoderModel> {
        Box::new(self.clone())
    }
}
