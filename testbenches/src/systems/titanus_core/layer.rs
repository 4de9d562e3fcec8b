//! A whole decoder layer on the Titanus core, Llama and OPT shapes, with weights of all projections. A prompt is one
//! chain from the residual stream to the residual stream; then tokens come one by one. Keys and values of all heads are
//! side by side in one cache.

mod attention;
pub mod decoding;
pub mod encoder;
mod feed;
pub mod linked;
mod parts;

use anyhow::ensure;
use golden::systems::titanus_core::TitanusCore;
use golden::tender::granularity::relative_error;
use host::Window;
use host::titanus::{Caps, Opening};

use super::super::chain_builder::{Floats, Job};
use super::super::float_layer::sum;
use super::builder::Builder;
use super::float_decoder::{Decoder, Exact};
use attention::Attention;
use feed::Feed;

/// How keys and values are kept.
#[derive(Clone, Copy, Debug)]
pub struct Compression {
    /// Least share of the prompt's keys, and of its values, that pruning sets to 0. Thresholds are the smallest ones
    /// that reach it.
    pub sparsity: f64,
    /// Bits of quantized keys and values.
    pub bits: [u8; 2],
}

impl Compression {
    /// What begins a cache whose first `prefill` tokens give the levels. Thresholds are of keys and of values.
    fn opening(self, prefill: u16, [key_threshold, value_threshold]: [u8; 2]) -> Opening {
        let [key_bits, value_bits] = self.bits;
        Opening { prefill, key_threshold, value_threshold, key_bits, value_bits }
    }
}

/// How a prompt comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// All tokens as one job.
    AtOnce,
    /// A job for each token, with these thresholds of keys and of values.
    ByToken([u8; 2]),
}

/// All of a layer.
#[derive(Clone, Debug)]
pub struct Chains {
    /// Loads and the prompt, or its first token; then a job for each further token.
    pub jobs: Vec<Job>,
    /// How many of these jobs are the prompt.
    pub of_prompt: usize,
    /// Squared errors beside the float layer, relative to the squares: of the layer's addition to the prompt, and to
    /// the further tokens.
    pub errors: [f64; 2],
    /// Thresholds of keys and of values.
    pub thresholds: [u8; 2],
    /// Share of the prompt's keys and values that pruning by `sparsity` leaves 0; with a job for each token, the share
    /// of the first token's.
    pub pruned: f64,
    /// Bits of both streams after each job.
    pub bits: Vec<[u64; 2]>,
    /// The output of the layer, as the golden model has it.
    pub out: Vec<Vec<f64>>,
}

/// Thresholds of a new cache, and the share of keys and values that they prune.
type Begun = ([u8; 2], f64);

/// All that stays from job to job.
struct Held {
    attention: Attention,
    feed: Feed,
}

impl Held {
    fn load(b: &mut Builder<'_>, decoder: &Decoder, exact: &Exact, tokens: usize) -> anyhow::Result<Self> {
        let attention = Attention::load(b, decoder, exact, tokens)?;
        Ok(Self { attention, feed: Feed::load(b, decoder, exact)? })
    }

    /// The layer for tokens after the `first` ones; the prompt has so many tokens. Returns the residual stream after
    /// the layer, and thresholds of a cache that it has begun.
    fn pass(
        &self,
        b: &mut Builder<'_>,
        rows: (&Floats, usize),
        prompt: (usize, Prompt),
        how: Compression,
    ) -> anyhow::Result<(Floats, Option<Begun>)> {
        let (hidden, begun) = self.attention.pass(b, rows, prompt, how)?;
        Ok((self.feed.pass(b, &hidden)?, begun))
    }
}

/// The layer for a prompt and further tokens of a residual stream.
///
/// # Errors
/// The layer does not fit on the core; an error of the host crate.
pub fn chains(
    (caps, window): (&Caps, &Window),
    golden: TitanusCore,
    decoder: &Decoder,
    (residual, prompt, comes): (&[Vec<f64>], usize, Prompt),
    how: Compression,
) -> anyhow::Result<Chains> {
    let (tokens, channels) = (residual.len(), decoder.k.outputs());
    ensure!(caps.channels() as usize >= channels, "a token has {channels} channels, the cache {}", caps.channels());
    ensure!((1..=tokens).contains(&prompt), "a prompt of {prompt} tokens, must be 1 to {tokens}");
    let exact = Exact::of(decoder, residual);
    let b = &mut Builder::new(caps, window, golden)?;
    let held = Held::load(b, decoder, &exact, tokens)?;
    let (mut jobs, mut bits, mut out, mut found) = (Vec::new(), Vec::new(), Vec::new(), None);
    let whole = if comes == Prompt::AtOnce { prompt } else { 1 };
    let of_prompt = prompt + 1 - whole;
    for (first, count) in std::iter::once((0, whole)).chain((whole..tokens).map(|token| (token, 1))) {
        let rows = b.b.given(&residual[first..first + count])?;
        let (behind, begun) = held.pass(b, (&rows, first), (prompt, comes), how)?;
        found = begun.or(found);
        out.extend(b.b.values(&behind));
        bits.push(b.b.model().stream_bits());
        jobs.push(b.b.job()?);
    }
    let (thresholds, pruned) = found.expect("the prompt begins a cache");
    let added = |rows: &[Vec<f64>], range: std::ops::Range<usize>| sum(&rows[range.clone()], &residual[range], -1.0);
    let errors =
        [0..prompt, prompt..tokens].map(|range| relative_error(&added(&exact.out, range.clone()), &added(&out, range)));
    Ok(Chains { jobs, of_prompt, errors, thresholds, pruned, bits, out })
}
