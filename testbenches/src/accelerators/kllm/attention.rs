//! One attention head of the real model as one chain: tokens and queries are quantized by the accelerator. A host has
//! put panels of keys and values into memory, or the chain adds its own tokens after the cached ones.

use golden::accelerators::kllm::KllmTop;
use golden::tender::granularity::relative_error;
use host::Window;
use host::kllm::{Bits, Caps};
use lower::chain::{ChainBuilder, Floats, Measured, Seen};
use lower::kllm::SHARE;
use lower::kllm::builder::{Builder, columns_of, fp16, train};
use lower::kllm::cache::{Cache, Codebooks};

use super::super::float_head::Exact;

/// Query head 6 of layer 14 for the first tokens of the text, from the residual stream on. Keys and values come from
/// the float layer, quantized. `outliers` of a token on each side stay as they are, one of a query for 16 of these.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; an error of the host crate.
pub fn real_head(
    caps: &Caps,
    window: &Window,
    golden: KllmTop,
    bits: Bits,
    (tokens, outliers): (usize, usize),
) -> anyhow::Result<Measured> {
    let (exact, all) = (Exact::of(tokens)?, Exact::of(64)?);
    let b = ChainBuilder::new(caps.vector, window, golden)?;
    let mut head = Builder { caps, bits, share: SHARE, b };
    let residual = head.b.given(&exact.residual)?;
    let angles = head.b.given(&exact.angles)?;
    let normed = head.b.norm("normalised", &residual, (&exact.norm, exact.epsilon))?;
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

/// A head whose keys and values are cached, and the bytes that a host makes of its tokens.
#[derive(Clone, Debug)]
pub struct CachedHead {
    /// The chain.
    pub measured: Measured,
    /// For a cache that was empty before: results of the job by name. Each has the bytes with which it must begin, as a
    /// host makes them of the same tokens.
    pub by_host: Vec<(&'static str, Vec<u8>)>,
}

/// The same head for `new` tokens after `cached` ones. A host has put keys and values of the cached tokens into the
/// cache; the chain adds the new ones. Codebooks of queries, keys and values are trained on the float layer's numbers
/// for all 64 tokens.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; an error of the host crate.
pub fn cached_head(
    caps: &Caps,
    window: &Window,
    golden: KllmTop,
    bits: Bits,
    ([cached, new], outliers): ([usize; 2], usize),
) -> anyhow::Result<CachedHead> {
    let (exact, all) = (Exact::of(cached + new)?, Exact::of(64)?);
    let mut head = Builder { caps, bits, share: SHARE, b: ChainBuilder::new(caps.vector, window, golden)? };
    let values = golden::tender::granularity::product(&all.normed, &all.w_v);
    let of_a_query = outliers.div_ceil(16);
    let of_queries = train(bits, &all.queries, of_a_query)?;
    let codebooks =
        Codebooks::new(&of_queries, [&all.keys, &values], (1.0 / (values[0].len() as f64).sqrt(), caps.centroid_bits))?;
    let before = [&exact.keys[..cached], &values[..cached]];
    let mut cache = Cache::new(&mut head, codebooks, before, (values[0].len(), cached + new))?;

    let residual = head.b.given(&exact.residual[cached..])?;
    let angles = head.b.given(&exact.angles[cached..])?;
    let normed = head.b.norm("normalised", &residual, (&exact.norm, exact.epsilon))?;
    let x = head.quantize("tokens", &normed, outliers, &all.normed)?;
    let mut project = |name, weights: &[Vec<f64>]| {
        let weights = head.weights(&columns_of(&fp16(weights)))?;
        head.multiply(name, &x, &weights, 1.0)
    };
    let (q, k) = (project("queries", &exact.w_q)?, project("keys", &exact.w_k)?);
    let v = project("values", &exact.w_v)?;
    head.b.rows(&q, &q, |job| job.rotate(angles.at))?;
    head.b.rows(&k, &k, |job| job.rotate(angles.at))?;
    cache.append(&mut head, &k, &v)?;
    let queries = head.quantize_with("tokens of queries", &q, (bits, of_a_query), of_queries)?;
    let out = head.b.floats("attention", new, q.columns)?;
    let p = head.attend(&queries, &cache, Seen::Before, &out)?;
    let error = |exact: &[Vec<f64>], rows: &Floats| relative_error(&exact[cached..], &head.b.values(rows));
    let errors = vec![
        ("queries", error(&exact.queries, &q)),
        ("keys", error(&exact.keys, &k)),
        ("values", error(&values[..cached + new], &v)),
        ("probabilities", error(&exact.probabilities, &p)),
        ("attention", error(&exact.attention, &out)),
    ];
    let job = head.b.job()?;
    let by_host = if cached == 0 { cache.by_host(&head, &job)? } else { Vec::new() };
    Ok(CachedHead { measured: Measured { job, errors }, by_host })
}
