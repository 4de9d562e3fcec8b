//! A whole decoder layer of the real model from the residual stream to the residual stream, as one chain. The chain
//! itself puts keys and values into the caches of all heads.

pub mod decoding;

use golden::kllm::codebook::Codebook as GoldenCodebook;
use golden::systems::kllm_top::KllmTop;
use golden::tender::granularity::relative_error;
use host::Window;
use host::kllm::{Bits, Caps};

use super::super::chain_builder::{ChainBuilder, Floats, Measured, Seen};
use super::super::float_head::angles;
use super::super::float_layer::{Exact, HEAD, Layer, sum};
use super::builder::{Builder, Quantized, Weights, columns_of, fp16, train};
use super::cache::{Cache, Codebooks};

/// Outliers on each side, of so many positions: half a percent, as in the paper.
pub(super) fn outliers(positions: usize) -> usize {
    positions.div_ceil(200)
}

/// Query heads that share keys and values.
struct Group {
    /// Codebook of the queries' tokens.
    queries: GoldenCodebook,
    cache: Cache,
}

/// All of a layer that stays from pass to pass: weights in memory, codebooks of tokens, the caches of its heads.
struct Kept {
    gains: [Vec<f64>; 2],
    q: Weights,
    k: Weights,
    v: Weights,
    o: Weights,
    gate: Weights,
    up: Weights,
    down: Weights,
    /// Codebooks of tokens before the attention, its output projection, the feed-forward network, and its last
    /// projection.
    tokens: [GoldenCodebook; 4],
    groups: Vec<Group>,
}

/// The results of a pass in memory.
struct Passed {
    attention: Floats,
    gated: Floats,
    /// The residual stream.
    out: Floats,
}

/// How a layer begins.
struct Begin<'a> {
    layer: &'a Layer,
    /// Numbers that codebooks are trained on.
    like: &'a Exact,
    /// Channels of a matrix that its codebook is trained on, about.
    training: usize,
    /// Tokens there is room for.
    room: usize,
}

impl Kept {
    /// The layer; `before` are the keys, turned, and the values of a head that its cache has from the beginning.
    fn new<'a>(
        b: &mut Builder<'_>,
        begin: &Begin<'_>,
        before: impl Fn(usize) -> [&'a [Vec<f64>]; 2],
    ) -> anyhow::Result<Self> {
        let Begin { layer, like, training, room } = *begin;
        let mut weights = |weights: &[Vec<f64>]| b.weights_by(&columns_of(&fp16(weights)), training);
        let [q, k, v, o] = [&layer.q, &layer.k, &layer.v, &layer.o].map(|of| weights(of));
        let [gate, up, down] = [&layer.gate, &layer.up, &layer.down].map(|of| weights(of));
        let book = |like: &[Vec<f64>]| train(b.bits, like, outliers(like.first().map_or(0, Vec::len)));
        let tokens = [book(&like.attended)?, book(&like.attention)?, book(&like.normed)?, book(&like.gated)?];
        let heads = like.queries.len() / like.keys.len();
        let mut groups = Vec::new();
        for number in 0..like.keys.len() {
            let queries = train(b.bits, &like.queries[number * heads..(number + 1) * heads].concat(), outliers(HEAD))?;
            let alike = [&like.keys[number], &like.values[number]].map(Vec::as_slice);
            let codebooks = Codebooks::new(&queries, alike, b.caps.centroid_bits)?;
            let cache = Cache::new(b, codebooks, before(number), (HEAD, room))?;
            groups.push(Group { queries, cache });
        }
        let (gate, up, down) = (gate?, up?, down?);
        Ok(Self { gains: layer.gains.clone(), q: q?, k: k?, v: v?, o: o?, gate, up, down, tokens, groups })
    }
}

impl Builder<'_> {
    pub(super) fn tokens(&mut self, name: &'static str, x: &Floats, like: &[Vec<f64>]) -> anyhow::Result<Quantized> {
        self.quantize(name, x, outliers(x.columns), like)
    }

    fn tokens_by(&mut self, name: &'static str, x: &Floats, codebook: &GoldenCodebook) -> anyhow::Result<Quantized> {
        self.quantize_with(name, x, (self.bits, outliers(x.columns)), codebook.clone())
    }

    /// A projection that is added to rows.
    fn add_projection(
        &mut self,
        name: &'static str,
        x: &Quantized,
        weights: &Weights,
        to: &Floats,
    ) -> anyhow::Result<Floats> {
        let out = self.b.floats(name, to.rows, to.columns)?;
        self.multiply_to(x, weights, 1.0, Some(to), &out)?;
        Ok(out)
    }

    /// Attention of a group: keys and values are added after the cached ones, and the queries meet all of them.
    fn group(
        &mut self,
        (number, group): (usize, &mut Group),
        [q, k, v]: [&Floats; 3],
        out: &Floats,
    ) -> anyhow::Result<()> {
        group.cache.append(self, &k.slice(number * HEAD, HEAD)?, &v.slice(number * HEAD, HEAD)?)?;
        let heads = q.columns / k.columns;
        for head in number * heads..(number + 1) * heads {
            let queries = self.tokens_by("tokens of queries", &q.slice(head * HEAD, HEAD)?, &group.queries)?;
            self.attend(&queries, &group.cache, Seen::Before, &out.slice(head * HEAD, HEAD)?)?;
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

    /// The layer for tokens after `cached` ones.
    fn pass(&mut self, kept: &mut Kept, residual: &Floats, cached: usize) -> anyhow::Result<Passed> {
        let normed = self.b.norm("normalised", residual, &kept.gains[0])?;
        let x = self.tokens_by("tokens", &normed, &kept.tokens[0])?;
        let q = self.multiply("queries", &x, &kept.q, 1.0)?;
        let k = self.multiply("keys", &x, &kept.k, 1.0)?;
        let v = self.multiply("values", &x, &kept.v, 1.0)?;
        let turns = angles(cached + residual.rows, HEAD);
        let turns: Vec<Vec<f64>> = turns[cached..].iter().map(|row| row.repeat(q.columns / HEAD)).collect();
        let turns = self.b.given(&turns)?;
        self.b.rows(&q, &q, |job| job.rotate(turns.at))?;
        self.b.rows(&k, &k, |job| job.rotate(turns.at))?;

        let attention = self.b.floats("attention", residual.rows, q.columns)?;
        for group in kept.groups.iter_mut().enumerate() {
            self.group(group, [&q, &k, &v], &attention)?;
        }
        let x = self.tokens_by("tokens of the attention", &attention, &kept.tokens[1])?;
        let hidden = self.add_projection("behind the attention", &x, &kept.o, residual)?;
        let normed = self.b.norm("normalised again", &hidden, &kept.gains[1])?;
        let x = self.tokens_by("tokens again", &normed, &kept.tokens[2])?;
        let gate = self.multiply("gate", &x, &kept.gate, 1.0)?;
        let up = self.multiply("up", &x, &kept.up, 1.0)?;
        let gated = self.gate(&gate, &up)?;
        let x = self.tokens_by("tokens of the gated", &gated, &kept.tokens[3])?;
        let out = self.add_projection("behind the layer", &x, &kept.down, &hidden)?;
        Ok(Passed { attention, gated, out })
    }
}

/// The layer for `new` tokens after `cached` ones. A host has put keys and values of the cached tokens into the caches.
/// Codebooks are trained on the float layer's numbers for all 64 tokens of the text.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; an error of the host crate.
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
    let begin = Begin { layer, like: &all, training: usize::MAX, room: tokens };
    let before = |head: usize| [&exact.keys[head][..cached], &exact.values[head][..cached]];
    let mut kept = Kept::new(&mut b, &begin, before)?;
    let Passed { attention, gated, out } = b.pass(&mut kept, &residual, cached)?;

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
