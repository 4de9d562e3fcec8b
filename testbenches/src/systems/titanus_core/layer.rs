//! A whole decoder layer on the Titanus core, Llama and OPT shapes: weights of all projections, a prompt as one chain from the residual
//! stream to the residual stream, then token by token. Keys and values of all heads are side by side in one cache.

pub mod decoding;

use anyhow::ensure;
use golden::systems::titanus_core::TitanusCore;
use golden::tender::granularity::relative_error;
use host::Window;
use host::titanus::{AppendJob, Caps, Constant, Matrix, ProductJob, RestoreJob};
use host::vector::{Epsilon, Operand};

use super::super::chain_builder::{Floats, Job};
use super::super::float_head::{EPSILON, angles};
use super::super::float_layer::{HEAD, sum};
use super::builder::{Builder, Integers, Weights, largest, lent, over, threshold, times};
use super::float_decoder::{Activation, Decoder, Exact, Linear, Norm};

/// How keys and values are kept.
#[derive(Clone, Copy, Debug)]
pub struct Compression {
    /// Share of the prompt's keys, and of its values, that pruning leaves 0, at least; thresholds are the smallest ones that do so.
    pub sparsity: f64,
    /// Bits of quantized keys and values.
    pub bits: [u8; 2],
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
    /// Those of them that are the prompt.
    pub of_prompt: usize,
    /// Squared errors beside the float layer, relative to the squares: what the layer adds to the prompt, and to the further tokens.
    pub errors: [f64; 2],
    /// Thresholds of keys and of values.
    pub thresholds: [u8; 2],
    /// Share of the prompt's keys and values that pruning by `sparsity` leaves 0; token by token of the first one's.
    pub pruned: f64,
    /// Bits of both streams behind each job.
    pub bits: Vec<[u64; 2]>,
    /// The output of the layer, as the golden model has it.
    pub out: Vec<Vec<f64>>,
}

/// A projection in the store.
struct Projection {
    weights: Weights,
    constants: u32,
}

/// A norm: steps of the vector unit, gains in memory.
struct Gains {
    at: u64,
    layer_norm: bool,
}

/// All that stays from job to job, and what integers are worth.
struct Held {
    /// Query heads, and heads of keys and values.
    heads: [usize; 2],
    rotary: bool,
    /// Negative numbers become 0 between the projections of the feed-forward network.
    relu: bool,
    q: Projection,
    k: Projection,
    v: Projection,
    o: Projection,
    up: Projection,
    gate: Option<Projection>,
    down: Projection,
    norms: [Gains; 2],
    /// Of attended, queries, keys, normed, gated.
    units: [f64; 5],
    scores: u32,
    attention: u32,
    areas: [u64; 2],
    lines: u16,
}

/// Loads the matrices one after the other, the largest first, so that they fill the store; returns them in order.
fn stored(b: &mut Builder<'_>, matrices: &[Vec<Vec<f64>>]) -> anyhow::Result<Vec<Weights>> {
    let mut order: Vec<usize> = (0..matrices.len()).collect();
    // High ones close what lower ones, side by side, have filled.
    order.sort_by_key(|&n| (matrices[n].len(), std::cmp::Reverse(matrices[n][0].len())));
    let mut found: Vec<Option<Weights>> = matrices.iter().map(|_| None).collect();
    for n in order {
        found[n] = Some(b.weights(&matrices[n])?);
    }
    Ok(found.into_iter().flatten().collect())
}

impl Held {
    fn load(b: &mut Builder<'_>, decoder: &Decoder, exact: &Exact, tokens: usize) -> anyhow::Result<Self> {
        let heads = decoder.heads();
        let projections = [&decoder.q, &decoder.k, &decoder.v].map(|p| &p.weights[..]);
        let of_attention = lent(&exact.attended, &projections);
        let gate = match &decoder.activation {
            Activation::GatedSilu(gate) => Some(gate),
            _ => None,
        };
        let into: Vec<&[Vec<f64>]> = [Some(&decoder.up), gate].into_iter().flatten().map(|p| &p.weights[..]).collect();
        let of_feed = lent(&exact.normed, &into);
        let of_output = lent(&exact.attention, &[&decoder.o.weights]);
        // What is no multiple of the up projection's results cannot be lent there.
        let of_down = match decoder.activation {
            Activation::Gelu => vec![1.0; decoder.down.weights.len()],
            _ => lent(&exact.gated, &[&decoder.down.weights]),
        };
        let unit = |rows: &[Vec<f64>], lent: &[f64]| largest(&over(rows, lent)) / 127.0;
        let [x, mixed] = [unit(&exact.attended, &of_attention), unit(&exact.attention, &of_output)];
        let [fed, gated] = [unit(&exact.normed, &of_feed), unit(&exact.gated, &of_down)];
        let [s_q, s_k, s_v] = [&exact.queries, &exact.keys, &exact.values].map(|rows| largest(rows) / 127.0);

        let mut matrices: Vec<Vec<Vec<f64>>> =
            projections.iter().map(|weights| times(weights, &of_attention)).collect();
        matrices.push(times(&decoder.o.weights, &of_output));
        matrices.push(times(&decoder.down.weights, &of_down));
        matrices.extend(into.iter().map(|weights| times(weights, &of_feed)));
        let mut weights = stored(b, &matrices)?.into_iter();
        let mut next = |b: &mut Builder<'_>, of: &Linear, x: f64, to: &dyn Fn(usize) -> f64| -> anyhow::Result<_> {
            let weights = weights.next().expect("one for each matrix");
            let constants = b.constants(&weights.constants(x, to, &of.biases))?;
            Ok(Projection { weights, constants })
        };
        let (to_q, to_k) = if decoder.rotary { (1.0, 1.0) } else { (s_q, s_k) };
        let q = next(b, &decoder.q, x, &|_| to_q)?;
        let k = next(b, &decoder.k, x, &|_| to_k)?;
        let v = next(b, &decoder.v, x, &|_| s_v)?;
        let o = next(b, &decoder.o, mixed, &|_| 1.0)?;
        let down = next(b, &decoder.down, gated, &|_| 1.0)?;
        let relu = matches!(decoder.activation, Activation::Relu);
        let up = next(b, &decoder.up, fed, &|j| if relu { gated * of_down[j] } else { of_down[j] })?;
        let gate = gate.map(|gate| next(b, gate, fed, &|_| 1.0)).transpose()?;

        let single = |scale: f64| Constant { scale: scale as f32, bias: 0 };
        let scores = b.constants(&[single(s_q * s_k / (HEAD as f64).sqrt())])?;
        let of_channel = |c: usize| single(s_v / 255.0 / (mixed * of_output[c]));
        let attention = b.constants(&(0..heads[0] * HEAD).map(of_channel).collect::<Vec<_>>())?;
        let norms = [(0, &of_attention), (1, &of_feed)].map(|(n, lent)| Gains::new(b, &decoder.norms[n], lent));
        let [first, second] = norms;
        let lines = u16::try_from(b.caps.most_lines(tokens as u32, 8))?;
        let bytes = 64 * usize::from(lines);
        let areas = [b.b.room("stream of keys", bytes)?, b.b.room("stream of values", bytes)?];
        let (norms, units) = ([first?, second?], [x, s_q, s_k, fed, gated]);
        let rotary = decoder.rotary;
        Ok(Self { heads, rotary, relu, q, k, v, o, up, gate, down, norms, units, scores, attention, areas, lines })
    }
}

impl Gains {
    fn new(b: &mut Builder<'_>, norm: &Norm, lent: &[f64]) -> anyhow::Result<Self> {
        let layer_norm = !norm.biases.is_empty();
        let of = |row: &[f64]| over(&[row.to_vec()], lent).remove(0);
        let (gains, biases) = (of(&norm.gains), of(&norm.biases));
        let row = match layer_norm {
            true => gains.into_iter().zip(biases).flat_map(|(gain, bias)| [gain, bias]).collect(),
            false => gains,
        };
        Ok(Self { at: b.b.given(&[row])?.at.address, layer_norm })
    }

    /// Rows behind the norm, as integers.
    fn apply(&self, b: &mut Builder<'_>, name: &'static str, x: &Floats, unit: f64) -> anyhow::Result<Integers> {
        let epsilon = Epsilon::new(EPSILON)?;
        b.quantized(name, x, unit, |job| match self.layer_norm {
            true => job.layer_norm_with_gains(epsilon, self.at),
            false => job.norm_with_gains(epsilon, self.at),
        })
    }
}

impl Projection {
    fn outputs(&self) -> usize {
        self.weights.scales.len()
    }

    fn multiply(
        &self,
        b: &mut Builder<'_>,
        x: &Integers,
        out: Operand,
        more: impl FnOnce(ProductJob) -> ProductJob,
    ) -> anyhow::Result<()> {
        let sizes = [x.rows, self.weights.inner, self.outputs()];
        b.product(sizes, self.weights.place, [x.at, out], self.constants, more)
    }

    fn floats(&self, b: &mut Builder<'_>, name: &'static str, x: &Integers) -> anyhow::Result<Floats> {
        let out = b.b.floats(name, x.rows, self.outputs())?;
        self.multiply(b, x, out.at, ProductJob::exact)?;
        Ok(out)
    }

    fn integers(
        &self,
        b: &mut Builder<'_>,
        name: &'static str,
        x: &Integers,
        more: impl FnOnce(ProductJob) -> ProductJob,
    ) -> anyhow::Result<Integers> {
        let out = b.integers(name, x.rows, self.outputs())?;
        self.multiply(b, x, out.at, |job| more(job.to_integers()))?;
        Ok(out)
    }
}

/// Rows of a step, from the residual stream to the residual stream.
struct Steps<'a, 'b> {
    b: &'a mut Builder<'b>,
    held: &'a Held,
    /// Tokens before these, and tokens of the prompt.
    first: usize,
    prompt: usize,
}

impl Steps<'_, '_> {
    /// Queries or keys.
    fn turned(
        &mut self,
        name: &'static str,
        x: &Integers,
        projection: &Projection,
        unit: f64,
    ) -> anyhow::Result<Integers> {
        if !self.held.rotary {
            return projection.integers(self.b, name, x, |job| job);
        }
        let out = projection.floats(self.b, name, x)?;
        let heads = out.columns / HEAD;
        let last = self.first + out.rows;
        let turns: Vec<Vec<f64>> = angles(last, HEAD)[self.first..].iter().map(|row| row.repeat(heads)).collect();
        let turns = self.b.b.given(&turns)?;
        self.b.quantized(name, &out, unit, |job| job.rotate(turns.at))
    }

    /// Keys and values go to the cache; what queries meet becomes the context. Returns the thresholds of a new cache.
    fn keep(&mut self, [k, v]: [&Integers; 2], how: Compression, comes: Prompt) -> anyhow::Result<Option<Begun>> {
        let (areas, lines) = (self.held.areas, self.held.lines);
        let (count, channels, first) = (k.rows as u32, k.columns as u32, self.first as u32);
        if first == 0 {
            let prefill = u16::try_from((self.prompt as u32).min(self.b.caps.buffer))?;
            let [keys, values] = [k, v].map(|rows| threshold(&self.b.values(rows), how.sparsity));
            let thresholds = match comes {
                Prompt::AtOnce => [keys.0, values.0],
                Prompt::ByToken(thresholds) => thresholds,
            };
            let begin = (thresholds, how.bits);
            self.b.then(|caps, held, window| {
                let job = AppendJob::first((count, channels), prefill, begin, [k.at, v.at], (areas, lines));
                job.keep().build(caps, held, window)
            })?;
            return Ok(Some((thresholds, (keys.1 + values.1) / 2.0)));
        }
        let columns = 32 * usize::from(lines);
        for (name, address) in [("stream of keys", areas[0]), ("stream of values", areas[1])] {
            self.b.b.writes(name, &Floats { at: Operand { address, stride: 0 }, rows: 1, columns });
        }
        let append = AppendJob::behind(first, (count, channels), [k.at, v.at], areas, lines);
        if self.first < self.prompt {
            self.b.then(|caps, held, window| append.keep().build(caps, held, window))?;
            return Ok(None);
        }
        self.b.then(|caps, held, window| append.build(caps, held, window))?;
        self.b.then(|caps, held, window| {
            RestoreJob::to_context((first + count, channels), areas, lines).build(caps, held, window)
        })?;
        Ok(None)
    }

    /// Attention of all heads, side by side as integers.
    fn attend(&mut self, q: &Integers) -> anyhow::Result<Integers> {
        let (count, known) = (q.rows, self.first + q.rows);
        let [heads, shared] = self.held.heads;
        let out = self.b.integers("attention", count, heads * HEAD)?;
        for head in 0..heads {
            let tile = u16::try_from(head * shared / heads * HEAD / self.b.caps.lanes as usize)?;
            let p = self.b.b.floats("probabilities", count, known)?;
            let (from, to) = (q.from(head * HEAD), out.from(head * HEAD));
            let scores = self.held.scores;
            self.b.product([count, HEAD, known], Matrix::Keys { tile }, [from, p.at], scores, |job| {
                job.one_constant().exact()
            })?;
            self.b.b.rows(&p, &p, |job| job.causal_softmax(self.first as u32 + 1))?;
            let constants = self.held.attention + (head * HEAD) as u32;
            let sizes = [count, known, HEAD];
            self.b.product(sizes, Matrix::Values { tile }, [p.at, to], constants, ProductJob::to_integers)?;
        }
        Ok(out)
    }

    /// A projection that is added to rows.
    fn add(&mut self, name: &'static str, x: &Integers, of: &Projection, to: &Floats) -> anyhow::Result<Floats> {
        let y = of.floats(self.b, name, x)?;
        let out = self.b.b.floats("residual stream", to.rows, to.columns)?;
        self.b.b.rows(&y, &out, |job| job.add_rows(to.at))?;
        Ok(out)
    }

    /// The feed-forward network up to the input of its last projection.
    fn feed(&mut self, x: &Integers) -> anyhow::Result<Integers> {
        let (held, unit) = (self.held, self.held.units[4]);
        if held.relu {
            return held.up.integers(self.b, "gated", x, ProductJob::relu);
        }
        let up = held.up.floats(self.b, "up", x)?;
        let gate = held.gate.as_ref().map(|gate| gate.floats(self.b, "gate", x)).transpose()?;
        let out = self.b.integers("gated", up.rows, up.columns)?;
        // As many columns at a time as the vector unit takes.
        let most = (self.b.caps.vector.lanes * self.b.caps.vector.max_beats) as usize / HEAD * HEAD;
        for first in (0..up.columns).step_by(most) {
            let columns = most.min(up.columns - first);
            let up = up.slice(first, columns)?;
            match &gate {
                Some(gate) => {
                    let gate = gate.slice(first, columns)?;
                    self.b.quantize_to(&gate, out.from(first), unit, |job| job.activate().multiply_rows(up.at))?;
                }
                None => self.b.quantize_to(&up, out.from(first), unit, |job| job.activate())?,
            }
        }
        Ok(out)
    }
}

/// Thresholds of a new cache, and the share of keys and values that they prune.
type Begun = ([u8; 2], f64);

/// The layer for tokens behind the `first` ones, of a prompt of so many: the residual stream behind it, and what it has begun.
fn pass(
    b: &mut Builder<'_>,
    held: &Held,
    (residual, first): (&[Vec<f64>], usize),
    (prompt, comes): (usize, Prompt),
    how: Compression,
) -> anyhow::Result<(Floats, Option<Begun>)> {
    let rows = b.b.given(residual)?;
    let [x, s_q, s_k, fed, _] = held.units;
    let x = held.norms[0].apply(b, "normalised", &rows, x)?;
    let mut steps = Steps { b, held, first, prompt };
    let q = steps.turned("queries", &x, &held.q, s_q)?;
    let k = steps.turned("keys", &x, &held.k, s_k)?;
    let v = held.v.integers(steps.b, "values", &x, |job| job)?;
    let begun = steps.keep([&k, &v], how, comes)?;
    let attention = steps.attend(&q)?;
    let hidden = steps.add("projected", &attention, &held.o, &rows)?;
    let x = held.norms[1].apply(steps.b, "normalised again", &hidden, fed)?;
    let gated = steps.feed(&x)?;
    Ok((steps.add("down", &gated, &held.down, &hidden)?, begun))
}

/// The layer for a prompt and further tokens of a residual stream.
///
/// # Errors
/// The layer does not fit on the core; what the host crate refuses.
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
        let (behind, begun) = pass(b, &held, (&residual[first..first + count], first), (prompt, comes), how)?;
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
