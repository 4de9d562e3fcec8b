//! One attention head of the real model as one chain: tokens and queries are quantized by the accelerator; the panels of weights,
//! keys and values are there, as a host or an earlier job has left them.

use golden::systems::kllm_top::KllmTop;
use golden::tender::granularity::relative_error;
use host::Window;
use host::kllm::{Bits, Caps};
use host::vector::Epsilon;

use super::super::chain_builder::{ChainBuilder, Floats, Job};
use super::super::float_head::{EPSILON, Exact};
use super::builder::{Builder, columns_of, fp16};

/// A job, and how far its numbers are from those of float arithmetic: squared error relative to the squares, by name.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The job.
    pub job: Job,
    /// Errors.
    pub errors: Vec<(&'static str, f64)>,
}

/// Query head 6 of layer 14 for the first tokens of the text, from the residual stream on; keys and values are those of the
/// float layer, quantized. `outliers` of a token on each side stay as they are, one of a query for 16 of these.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; what the host crate refuses.
pub fn real_head(
    caps: &Caps,
    window: &Window,
    golden: KllmTop,
    bits: Bits,
    (tokens, outliers): (usize, usize),
) -> anyhow::Result<Measured> {
    let (exact, all) = (Exact::of(tokens)?, Exact::of(64)?);
    let b = ChainBuilder::new(caps.vector, window, golden)?;
    let mut head = Builder { caps, bits, b };
    let residual = head.b.given(&exact.residual)?;
    let angles = head.b.given(&exact.angles)?;
    let gains = head.b.given(std::slice::from_ref(&exact.gains))?.at.address;
    let normed = head.b.floats("normalised", tokens, residual.columns)?;
    let epsilon = Epsilon::new(EPSILON)?;
    head.b.rows(&residual, &normed, |job| job.norm_with_gains(epsilon, gains))?;
    let x = head.quantize("tokens", &normed, outliers, &all.normed)?;
    let w_q = head.weights(&columns_of(&fp16(&exact.w_q)))?;
    let q = head.multiply("queries", &x, &w_q, 1.0)?;
    head.b.rows(&q, &q, |job| job.rotate(angles.at))?;
    let queries = head.quantize("tokens of queries", &q, outliers.div_ceil(16), &all.queries)?;
    let keys = head.weights(&fp16(&exact.keys))?;
    let p = head.multiply("probabilities", &queries, &keys, 1.0 / (q.columns as f64).sqrt())?;
    head.b.rows(&p, &p, |job| job.causal_softmax(1))?;
    let values = golden::tender::granularity::product(&exact.normed, &exact.w_v);
    let out = head.b.floats("attention", tokens, q.columns)?;
    head.mean_of(&p, &fp16(&values), &out)?;
    let error = |exact: &[Vec<f64>], rows: &Floats| relative_error(exact, &head.b.values(rows));
    let errors = vec![
        ("normalised", error(&exact.normed, &normed)),
        ("queries", error(&exact.queries, &q)),
        ("probabilities", error(&exact.probabilities, &p)),
        ("attention", error(&exact.attention, &out)),
    ];
    Ok(Measured { job: head.b.finish()?, errors })
}
