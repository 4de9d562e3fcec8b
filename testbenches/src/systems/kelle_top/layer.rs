//! A whole decoder layer of the real model from the residual stream to the residual stream, as one chain. A prompt
//! comes first, then token after token, while the heads keep to their budgets.

pub mod decoding;
mod popular;

use anyhow::ensure;
use golden::systems::kelle_top::{CONSTANT_BYTES, KelleTop};
use golden::tender::granularity::relative_error;
use host::Window;
use host::kelle::{Attention, AttentionJob, Caps, ClearJob, Linear, LinearJob, Panels, Policy, Quantizers, Rows};
use host::vector::Operand;

use super::super::chain_builder::{ChainBuilder, Floats, Measured};
use super::super::float_head::angles;
use super::super::float_layer::{Exact, HEAD, Layer, sum};
use popular::Popular;
pub use popular::Recomputed;

/// The largest integer of a calibrated activation: half of the range, since evictions change later activations.
const LARGEST: f64 = 16_000.0;
/// The largest weight.
const LARGEST_WEIGHT: f64 = 127.0;

/// A layer's run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The residual stream before the layer, a row for each token.
    pub residual: &'a [Vec<f64>],
    /// Tokens of the prompt, which come first.
    pub prompt: usize,
    /// Tokens after the prompt that share a pass of the weights; they still enter heads one by one.
    pub pass: usize,
    /// Which tokens heads keep after the prompt.
    pub policy: Policy,
    /// Each query head has keys, values and victims of its own.
    pub expanded: bool,
    /// Most tokens that are kept as their normalised rows, of tokens that most heads hold.
    pub recompute: usize,
}

/// Weights in memory.
#[derive(Clone, Debug)]
pub(super) struct Weights {
    pub(super) panels: Operand,
    /// Address of scale and bias of each column, for activations times `quantizer`.
    constants: u64,
    quantizer: f32,
    channels: u32,
    pub(super) columns: u32,
}

impl Weights {
    /// Some of the columns, from the first one of a panel on; panels have `panel` columns.
    pub(super) fn slice(&self, first: u32, columns: u32, panel: u32) -> Self {
        let address = self.panels.address + u64::from(first / panel) * u64::from(self.panels.stride);
        let panels = Operand { address, ..self.panels };
        Self { panels, constants: self.constants + CONSTANT_BYTES * u64::from(first), columns, ..*self }
    }
}

/// The matrices of a layer, in memory.
struct Matrices {
    q: Weights,
    k: Weights,
    v: Weights,
    o: Weights,
    gate: Weights,
    up: Weights,
    down: Weights,
    quantizers: Vec<Quantizers>,
}

pub(super) struct Builder<'a> {
    pub(super) caps: &'a Caps,
    pub(super) b: ChainBuilder<KelleTop>,
}

fn most(rows: &[Vec<f64>]) -> f64 {
    rows.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()))
}

/// The quantizer of activations like these.
pub(super) fn quantizer(like: &[Vec<f64>]) -> f32 {
    (LARGEST / most(like)) as f32
}

impl Builder<'_> {
    /// Weights, [in, out], as integers of 8 bits with a scale for each output, for activations like `like`.
    pub(super) fn weights(&mut self, weights: &[Vec<f64>], like: &[Vec<f64>]) -> anyhow::Result<Weights> {
        self.weights_with(weights, &vec![0.0; weights[0].len()], like)
    }

    /// The same, and biases of the outputs.
    pub(super) fn weights_with(
        &mut self,
        weights: &[Vec<f64>],
        biases: &[f64],
        like: &[Vec<f64>],
    ) -> anyhow::Result<Weights> {
        let (channels, columns) = (weights.len(), weights[0].len());
        ensure!(biases.len() == columns, "{} biases of {columns} outputs", biases.len());
        let scale = |n: usize| weights.iter().fold(0.0, |most: f64, row| most.max(row[n].abs())) / LARGEST_WEIGHT;
        let scales: Vec<f64> = (0..columns).map(scale).collect();
        let integer = |(w, scale): (&f64, &f64)| (w / scale).round_ties_even() as i8;
        let integers: Vec<i8> = weights.iter().flat_map(|row| row.iter().zip(&scales).map(integer)).collect();
        let panels = Panels::new(self.caps, columns, channels)?;
        let address = self.b.store(panels.pack(&integers)?)?;
        let quantizer = quantizer(like);
        let constant = |(scale, bias): (&f64, &f64)| [(scale / f64::from(quantizer)) as f32, *bias as f32];
        let constants = scales.iter().zip(biases).flat_map(constant);
        let constants = self.b.store(constants.flat_map(f32::to_le_bytes).collect())?;
        let panels = Operand { address, stride: panels.stride().try_into()? };
        Ok(Weights { panels, constants, quantizer, channels: channels as u32, columns: columns as u32 })
    }

    /// Rows times weights, as many rows at a time as the accelerator takes.
    pub(super) fn linear(&mut self, name: &'static str, x: &Floats, w: &Weights) -> anyhow::Result<Floats> {
        ensure!(x.columns == w.channels as usize, "{} channels times {}", x.columns, w.channels);
        let out = self.b.floats(name, x.rows, w.columns as usize)?;
        for first in (0..x.rows).step_by(self.caps.tokens as usize) {
            let rows = (x.rows - first).min(self.caps.tokens as usize);
            let behind = |of: &Floats| place(of, first);
            let job = LinearJob::new(Linear {
                rows: rows as u32,
                columns: w.columns,
                channels: w.channels,
                x: behind(x),
                quantizer: w.quantizer,
                panels: w.panels,
                constants: w.constants,
                out: behind(&out),
            });
            let job = if self.b.is_exact() { job.exact() } else { job };
            self.b.then(job.build(self.caps, &self.b.window)?)?;
        }
        Ok(out)
    }

    /// As many columns of both at a time as the vector unit takes.
    fn gate(&mut self, gate: &Floats, up: &Floats) -> anyhow::Result<Floats> {
        let out = self.b.floats("gated", gate.rows, gate.columns)?;
        let most = (self.caps.vector.lanes * self.caps.vector.max_beats) as usize / HEAD * HEAD;
        for first in (0..gate.columns).step_by(most) {
            let columns = most.min(gate.columns - first);
            let (from, up) = (gate.slice(first, columns)?, up.slice(first, columns)?);
            self.b.rows(&from, &out.slice(first, columns)?, |job| job.activate().multiply_rows(up.at))?;
        }
        Ok(out)
    }

    fn matrices(&mut self, layer: &Layer, all: &Exact, expanded: bool) -> anyhow::Result<Matrices> {
        let heads = if expanded { all.queries.len() } else { all.keys.len() };
        let group = all.queries.len() / heads;
        let of_head = |number: usize| {
            let stored = number * all.keys.len() / heads;
            Quantizers {
                queries: quantizer(&all.queries[number * group..(number + 1) * group].concat()),
                keys: quantizer(&all.keys[stored]),
                values: quantizer(&all.values[stored]),
            }
        };
        Ok(Matrices {
            q: self.weights(&layer.q, &all.attended)?,
            k: self.weights(&layer.k, &all.attended)?,
            v: self.weights(&layer.v, &all.attended)?,
            o: self.weights(&layer.o, &all.attention)?,
            gate: self.weights(&layer.gate, &all.normed)?,
            up: self.weights(&layer.up, &all.normed)?,
            down: self.weights(&layer.down, &all.gated)?,
            quantizers: (0..heads).map(of_head).collect(),
        })
    }

    /// The layer for the tokens of `residual` from position `first` on. Tokens from position 0 are the prompt.
    fn tokens(
        &mut self,
        (residual, first): (&Floats, usize),
        (m, gains): (&Matrices, &[Vec<f64>; 2]),
        (policy, popular): (Policy, Option<&mut Popular>),
    ) -> anyhow::Result<(Floats, Floats)> {
        let normed = self.b.norm("normalised", residual, &gains[0])?;
        let (mut made_of, mut again, mut positions) = (normed, 0, Vec::new());
        let popular = match popular {
            Some(popular) if first == 0 => {
                Self::without_slots(popular, &normed);
                Some(popular)
            }
            Some(popular) => {
                made_of = self.with_slots(popular, &normed)?;
                again = popular.slots();
                positions.extend(popular.positions());
                Some(popular)
            }
            None => None,
        };
        let q = self.linear("queries", &normed, &m.q)?;
        let k = self.linear("keys", &made_of, &m.k)?;
        let v = self.linear("values", &made_of, &m.v)?;
        positions.extend(first..first + q.rows);
        let all = angles(first + q.rows, HEAD);
        let angles: Vec<Vec<f64>> = positions.iter().map(|&at| all[at].repeat(q.columns / HEAD)).collect();
        let turns = self.b.given(&angles)?;
        self.b.rows(&q, &q, |job| job.rotate(place(&turns, again)))?;
        self.b.rows(&k, &k, |job| job.rotate(turns.at))?;
        let attention = self.b.floats("attention", q.rows, q.columns)?;
        let heads = m.quantizers.len();
        let group = q.columns / HEAD / heads;
        for (number, &quantizers) in m.quantizers.iter().enumerate() {
            let of = |rows: &Floats, head: usize, width: usize| rows.slice(head * width, width).map(|rows| rows.at);
            let stored = number * (k.columns / HEAD) / heads;
            let rows = Rows {
                queries: of(&q, number, group * HEAD)?,
                keys: of(&k, stored, HEAD)?,
                values: of(&v, stored, HEAD)?,
                out: of(&attention, number, group * HEAD)?,
            };
            let entering = Attention {
                head: number as u32,
                tokens: q.rows as u32,
                group: group as u32,
                elements: HEAD as u32,
                policy,
                quantizers,
                scale: (1.0 / (HEAD as f64).sqrt()) as f32,
                rows,
            };
            let job = AttentionJob::new(entering).again(again as u8);
            let job = if self.b.is_exact() { job.exact() } else { job };
            let descriptors = match first {
                0 => job.build_prompt(self.caps, &self.b.window)?,
                _ => vec![job.build(self.caps, &self.b.window)?],
            };
            descriptors.into_iter().try_for_each(|descriptor| self.b.then(descriptor))?;
        }
        if let Some(popular) = popular {
            self.keep(popular, heads, policy)?;
        }
        let projected = self.linear("projected", &attention, &m.o)?;
        let hidden = self.b.floats("behind the attention", q.rows, residual.columns)?;
        self.b.rows(&projected, &hidden, |job| job.add_rows(residual.at))?;
        let normed = self.b.norm("normalised again", &hidden, &gains[1])?;
        let (gate, up) = (self.linear("gate", &normed, &m.gate)?, self.linear("up", &normed, &m.up)?);
        let gated = self.gate(&gate, &up)?;
        let down = self.linear("down", &gated, &m.down)?;
        let out = self.b.floats("behind the layer", q.rows, residual.columns)?;
        self.b.rows(&down, &out, |job| job.add_rows(hidden.at))?;
        Ok((attention, out))
    }
}

/// Where rows are from a row on.
fn place(of: &Floats, first: usize) -> Operand {
    Operand { address: of.at.address + first as u64 * u64::from(of.at.stride), ..of.at }
}

/// The layer for a prompt and tokens after it. Activations are calibrated on the float layer's numbers for all of them.
/// The errors compare with the float layer with a full cache. Attention and the layer's addition to the residual stream
/// have an error each, for the prompt and for the tokens after it.
///
/// # Errors
/// No prompt, or no tokens for a pass; an error of the host crate.
pub fn real_layer(
    (caps, window): (&Caps, &Window),
    golden: KelleTop,
    run: Run<'_>,
    layer: &Layer,
) -> anyhow::Result<(Measured, Recomputed)> {
    let Run { residual, prompt, pass, policy, expanded, recompute } = run;
    let tokens = residual.len();
    ensure!((1..=tokens).contains(&prompt), "a prompt of {prompt} tokens, must be 1 to {tokens}");
    ensure!(pass > 0, "passes of no token");
    let all = Exact::of_rows(residual, layer);
    let mut builder = Builder { caps, b: ChainBuilder::new(caps.vector, window, golden)? };
    let matrices = builder.matrices(layer, &all, expanded)?;
    let heads = matrices.quantizers.len() as u32;
    builder.b.then(ClearJob { first: 0, heads }.build(caps, window)?)?;
    let mut popular = match recompute {
        0 => None,
        _ => Some(builder.popular(recompute, pass, residual[0].len())?),
    };
    let behind = (prompt..tokens).step_by(pass).map(|first| (first, pass.min(tokens - first)));
    let (mut attention, mut out) = (Vec::new(), Vec::new());
    for (first, count) in [(0, prompt)].into_iter().chain(behind) {
        let rows = builder.b.given(&residual[first..first + count])?;
        let kept = (policy, popular.as_mut());
        let (attended, behind) = builder.tokens((&rows, first), (&matrices, &layer.gains), kept)?;
        attention.extend(builder.b.values(&attended));
        out.extend(builder.b.values(&behind));
    }
    let added = |rows: &[Vec<f64>]| sum(rows, residual, -1.0);
    let (exact, ours) = (added(&all.out), added(&out));
    let error = |of: &[Vec<f64>], to: &[Vec<f64>], range: std::ops::Range<usize>| {
        relative_error(&of[range.clone()], &to[range])
    };
    let mut errors = vec![
        ("attention of the prompt", error(&all.attention, &attention, 0..prompt)),
        ("what the layer adds to the prompt", error(&exact, &ours, 0..prompt)),
    ];
    if prompt < tokens {
        errors.push(("attention of the steps", error(&all.attention, &attention, prompt..tokens)));
        errors.push(("what the layer adds to the steps", error(&exact, &ours, prompt..tokens)));
    }
    let recomputed = popular.map_or_else(Recomputed::default, |popular| popular.recomputed);
    Ok((Measured { job: builder.b.finish()?, errors }, recomputed))
}
