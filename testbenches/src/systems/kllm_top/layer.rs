//! A whole decoder layer of the real model from the residual stream to the residual stream, as one chain that puts its keys and values
//! into the caches of all heads itself.

use golden::systems::kllm_top::KllmTop;
use golden::tender::granularity::relative_error;
use host::Window;
use host::kllm::{Bits, Caps};

use super::super::chain_builder::{ChainBuilder, Floats, Measured, Seen};
use super::super::float_head::angles;
use super::super::float_layer::{Exact, HEAD, Layer, sum};
use super::builder::{Builder, Quantized, columns_of, fp16, train};
use super::cache::{Cache, Codebooks};

/// Outliers on each side, of so many positions: half a percent, as in the paper.
pub(super) fn outliers(positions: usize) -> usize {
    positions.div_ceil(200)
}

impl Builder<'_> {
    pub(super) fn tokens(&mut self, name: &'static str, x: &Floats, like: &[Vec<f64>]) -> anyhow::Result<Quantized> {
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

    /// Attention of a group of query heads that share keys and values: both are put behind those that are cached, and the group's
    /// queries meet all of them. Of `exact` the cache has what is ahead of `q`.
    fn group(
        &mut self,
        number: usize,
        [q, k, v]: [&Floats; 3],
        (exact, all): (&Exact, &Exact),
        out: &Floats,
    ) -> anyhow::Result<()> {
        let (cached, heads) = (exact.residual.len() - q.rows, q.columns / k.columns);
        let group = number * heads..(number + 1) * heads;
        let like: Vec<Vec<f64>> = all.queries[group.clone()].concat();
        let of_queries = train(self.bits, &like, outliers(HEAD))?;
        let codebooks = Codebooks::new(&of_queries, [&all.keys[number], &all.values[number]], self.caps.centroid_bits)?;
        let before = [&exact.keys[number][..cached], &exact.values[number][..cached]];
        let mut cache = Cache::new(self, codebooks, before, (HEAD, cached + q.rows))?;
        cache.append(self, &k.slice(number * HEAD, HEAD)?, &v.slice(number * HEAD, HEAD)?)?;
        for head in group {
            let q = q.slice(head * HEAD, HEAD)?;
            let how = (self.bits, outliers(HEAD));
            let queries = self.quantize_with("tokens of queries", &q, how, of_queries.clone())?;
            self.attend(&queries, &cache, Seen::Before, &out.slice(head * HEAD, HEAD)?)?;
        }
        Ok(())
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

/// The layer for `new` tokens behind `cached` ones, whose keys and values a host has put into the caches. Codebooks are trained on the
/// float layer's numbers for all 64 tokens of the text.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; what the host crate refuses.
pub fn real_layer(
    (caps, window): (&Caps, &Window),
    golden: KllmTop,
    bits: Bits,
    [cached, new]: [usize; 2],
    layer: &Layer,
) -> anyhow::Result<Measured> {
    let tokens = cached + new;
    let (exact, all) = (Exact::of(tokens, layer)?, Exact::of(64, layer)?);
    let mut b = Builder { caps, bits, b: ChainBuilder::new(caps.vector, window, golden)? };
    let residual = b.b.given(&exact.residual[cached..])?;
    let normed = b.b.norm("normalised", &residual, &layer.gains[0])?;
    let x = b.tokens("tokens", &normed, &all.attended)?;
    let [q, k, v] =
        [("queries", &layer.q), ("keys", &layer.k), ("values", &layer.v)].map(|(name, w)| b.project(name, &x, w));
    let [q, k, v] = [q?, k?, v?];
    let turns: Vec<Vec<f64>> = angles(tokens, HEAD)[cached..].iter().map(|row| row.repeat(q.columns / HEAD)).collect();
    let turns = b.b.given(&turns)?;
    b.b.rows(&q, &q, |job| job.rotate(turns.at))?;
    b.b.rows(&k, &k, |job| job.rotate(turns.at))?;

    let attention = b.b.floats("attention", new, q.columns)?;
    for group in 0..k.columns / HEAD {
        b.group(group, [&q, &k, &v], (&exact, &all), &attention)?;
    }
    let x = b.tokens("tokens of the attention", &attention, &all.attention)?;
    let hidden = b.add_projection("behind the attention", &x, &layer.o, &residual)?;
    let normed = b.b.norm("normalised again", &hidden, &layer.gains[1])?;
    let x = b.tokens("tokens again", &normed, &all.normed)?;
    let (gate, up) = (b.project("gate", &x, &layer.gate)?, b.project("up", &x, &layer.up)?);
    let gated = b.gate(&gate, &up)?;
    let x = b.tokens("tokens of the gated", &gated, &all.gated)?;
    let out = b.add_projection("behind the layer", &x, &layer.down, &hidden)?;

    let added = |rows: &[Vec<f64>]| sum(rows, &exact.residual[cached..], -1.0);
    let rounded = Exact::rounded(tokens, layer, Some(if bits == Bits::Three { 3 } else { 4 }))?;
    let error = |exact: &[Vec<f64>], rows: &Floats| relative_error(&exact[cached..], &b.b.values(rows));
    let exactly = added(&exact.out[cached..]);
    let errors = vec![
        ("attention", error(&exact.attention, &attention)),
        ("gated", error(&exact.gated, &gated)),
        ("what the layer adds", relative_error(&exactly, &added(&b.b.values(&out)))),
        ("behind the layer", error(&exact.out, &out)),
        ("what integers to the nearest add", relative_error(&exactly, &added(&rounded.out[cached..]))),
    ];
    Ok(Measured { job: b.b.finish()?, errors })
}
