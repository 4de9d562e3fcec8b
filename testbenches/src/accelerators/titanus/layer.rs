//! A whole decoder layer on the Titanus core, Llama and OPT shapes, with weights of all projections. A prompt is one
//! chain from the residual stream to the residual stream; then tokens come one by one.

pub mod decoding;
pub mod encoder;

use anyhow::ensure;
use golden::accelerators::titanus::TitanusCore;
use golden::tender::granularity::relative_error;
use host::Window;
use host::titanus::Caps;
use lower::chain::Job;
use lower::exact::{Exact, sum};
use lower::layer::Layer;
use lower::needs::Room;
use lower::titanus::builder::Builder;
use lower::titanus::{Compression, Held, Prompt, Turn};

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

/// The layer for a prompt and further tokens of a residual stream.
///
/// # Errors
/// The layer does not fit on the core; an error of the host crate.
pub fn chains(
    (caps, window): (&Caps, &Window),
    golden: TitanusCore,
    layer: &Layer,
    (residual, prompt, comes): (&[Vec<f64>], usize, Prompt),
    how: Compression,
) -> anyhow::Result<Chains> {
    let tokens = residual.len();
    ensure!((1..=tokens).contains(&prompt), "a prompt of {prompt} tokens, must be 1 to {tokens}");
    let exact = Exact::of(layer, residual);
    let b = &mut Builder::new(caps, window, golden)?;
    let mut held = Held::load(b, layer, &exact, Room::for_one(tokens))?;
    let (mut jobs, mut bits, mut out, mut found) = (Vec::new(), Vec::new(), Vec::new(), None);
    let whole = if comes == Prompt::AtOnce { prompt } else { 1 };
    let of_prompt = prompt + 1 - whole;
    for (first, count) in std::iter::once((0, whole)).chain((whole..tokens).map(|token| (token, 1))) {
        let rows = b.b.given(&residual[first..first + count])?;
        let behind = b.b.floats("residual stream", rows.rows, rows.columns)?;
        let begun = held.pass(b, ([&rows, &behind], Turn { text: 0, first }), (prompt, comes), how)?;
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
