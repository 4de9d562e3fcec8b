//! A whole decoder layer of the real model from the residual stream to the residual stream, as two jobs. Between them the host makes
//! panels of the keys and values that the first one leaves.

use golden::systems::kllm_top::KllmTop;
use golden::tender::granularity::relative_error;
use host::Window;
use host::kllm::{Bits, Caps};

use super::super::chain_builder::{ChainBuilder, Floats, Job};
use super::super::float_head::angles;
use super::super::float_layer::{Exact, HEAD, Layer, sum};
use super::builder::{Builder, Quantized, bits_of, columns_of, fp16};

/// Both jobs, and how far their numbers are from those of float arithmetic: squared error relative to the squares, by name.
#[derive(Clone, Debug)]
pub struct Layers {
    /// Up to queries, keys and values; the rest.
    pub jobs: [Job; 2],
    /// Errors.
    pub errors: Vec<(&'static str, f64)>,
}

/// Outliers on each side, of so many positions: half a percent, as in the paper.
fn outliers(positions: usize) -> usize {
    positions.div_ceil(200)
}

impl Builder<'_> {
    fn tokens(&mut self, name: &'static str, x: &Floats, like: &[Vec<f64>]) -> anyhow::Result<Quantized> {
        self.quantize(name, x, outliers(x.columns), like)
    }

    fn project(&mut self, name: &'static str, x: &Quantized, weights: &[Vec<f64>]) -> anyhow::Result<Floats> {
        let weights = self.weights(&columns_of(&fp16(weights)))?;
        self.multiply(name, x, &weights, 1.0)
    }

    /// A projection that is added to rows.
    fn add_projection(
        &mut self,
        name: &'static str,
        x: &Quantized,
        weights: &[Vec<f64>],
        to: &Floats,
    ) -> anyhow::Result<Floats> {
        let weights = self.weights(&columns_of(&fp16(weights)))?;
        let out = self.b.floats(name, to.rows, to.columns)?;
        self.multiply_to(x, &weights, 1.0, Some(to), &out)?;
        Ok(out)
    }

    /// One head's attention, causal: of queries that were turned, with keys and values as the host has read them.
    fn head(
        &mut self,
        q: &Floats,
        (keys, values): (&[Vec<u64>], &[Vec<u64>]),
        like: &[Vec<f64>],
        out: &Floats,
    ) -> anyhow::Result<()> {
        let queries = self.tokens("tokens of queries", q, like)?;
        let keys = self.weights(keys)?;
        let p = self.multiply("probabilities", &queries, &keys, 1.0 / (q.columns as f64).sqrt())?;
        self.b.rows(&p, &p, |job| job.causal_softmax(1))?;
        self.mean_of(&p, values, out)
    }

    /// As many columns of both at a time as the vector unit takes.
    fn gate(&mut self, gate: &Floats, up: &Floats) -> anyhow::Result<Floats> {
        let out = self.b.floats("gated", gate.rows, gate.columns)?;
        let most = (self.caps.vector.lanes * self.caps.vector.max_beats) as usize / HEAD * HEAD;
        for first in (0..gate.columns).step_by(most) {
            let columns = most.min(gate.columns - first);
            let up = up.slice(first, columns)?;
            let (from, to) = (gate.slice(first, columns)?, out.slice(first, columns)?);
            self.b.rows(&from, &to, |job| job.activate().multiply_rows(up.at))?;
        }
        Ok(out)
    }
}

/// The layer for the first tokens of the text; codebooks of activations are trained on the float layer's numbers for all 64.
///
/// # Errors
/// A missing or damaged file; what the host crate refuses.
pub fn real_layer(
    (caps, window): (&Caps, &Window),
    golden: KllmTop,
    bits: Bits,
    tokens: usize,
    layer: &Layer,
) -> anyhow::Result<Layers> {
    let (exact, all) = (Exact::of(tokens, layer)?, Exact::of(64, layer)?);
    let mut b = Builder { caps, bits, b: ChainBuilder::new(caps.vector, window, golden)? };
    let residual = b.b.given(&exact.residual)?;
    let normed = b.b.norm("normalised", &residual, &layer.gains[0])?;
    let x = b.tokens("tokens", &normed, &all.attended)?;
    let [q, k, v] =
        [("queries", &layer.q), ("keys", &layer.k), ("values", &layer.v)].map(|(name, w)| b.project(name, &x, w));
    let [q, k, v] = [q?, k?, v?];
    let (heads, shared) = (q.columns / HEAD, k.columns / HEAD);
    let turns: Vec<Vec<f64>> = angles(tokens, HEAD).iter().map(|row| row.repeat(heads)).collect();
    let turns = b.b.given(&turns)?;
    b.b.rows(&q, &q, |job| job.rotate(turns.at))?;
    b.b.rows(&k, &k, |job| job.rotate(turns.at))?;
    let first = b.b.job()?;

    let attention = b.b.floats("attention", tokens, q.columns)?;
    for number in 0..heads {
        let group = number * shared / heads * HEAD;
        let (keys, values) = (bits_of(&b.b, &k.slice(group, HEAD)?), bits_of(&b.b, &v.slice(group, HEAD)?));
        let like = &all.queries[number];
        b.head(&q.slice(number * HEAD, HEAD)?, (&keys, &values), like, &attention.slice(number * HEAD, HEAD)?)?;
    }
    let x = b.tokens("tokens of the attention", &attention, &all.attention)?;
    let hidden = b.add_projection("behind the attention", &x, &layer.o, &residual)?;
    let normed = b.b.norm("normalised again", &hidden, &layer.gains[1])?;
    let x = b.tokens("tokens again", &normed, &all.normed)?;
    let (gate, up) = (b.project("gate", &x, &layer.gate)?, b.project("up", &x, &layer.up)?);
    let gated = b.gate(&gate, &up)?;
    let x = b.tokens("tokens of the gated", &gated, &all.gated)?;
    let out = b.add_projection("behind the layer", &x, &layer.down, &hidden)?;

    let added = |rows: &[Vec<f64>]| sum(rows, &exact.residual, -1.0);
    let rounded = Exact::rounded(tokens, layer, Some(if bits == Bits::Three { 3 } else { 4 }))?;
    let error = |exact: &[Vec<f64>], rows: &Floats| relative_error(exact, &b.b.values(rows));
    let errors = vec![
        ("attention", error(&exact.attention, &attention)),
        ("gated", error(&exact.gated, &gated)),
        ("what the layer adds", relative_error(&added(&exact.out), &added(&b.b.values(&out)))),
        ("behind the layer", error(&exact.out, &out)),
        ("what integers to the nearest add", relative_error(&added(&exact.out), &added(&rounded.out))),
    ];
    Ok(Layers { jobs: [first, b.b.finish()?], errors })
}
