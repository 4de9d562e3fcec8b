//! A whole decoder layer of the real model from the residual stream to the residual stream, as one chain: a prompt, then token after
//! token, while the heads keep to their budgets.

use anyhow::ensure;
use golden::systems::kelle_top::KelleTop;
use golden::tender::granularity::relative_error;
use host::Window;
use host::kelle::{AttentionJob, Caps, ClearJob, LinearJob, Panels, Policy, Quantizers, Rows};
use host::vector::Operand;

use super::super::chain_builder::{ChainBuilder, Floats, Measured};
use super::super::float_head::angles;
use super::super::float_layer::{Exact, HEAD, Layer, sum};

/// The largest integer of a calibrated activation.
const LARGEST: f64 = 30_000.0;
/// The largest weight.
const LARGEST_WEIGHT: f64 = 127.0;

/// Weights in memory.
struct Weights {
    panels: Operand,
    /// Address of scale and bias of each column, for activations times `quantizer`.
    constants: u64,
    quantizer: f32,
    channels: u32,
    columns: u32,
}

/// What a layer needs, in memory.
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

struct Builder<'a> {
    caps: &'a Caps,
    b: ChainBuilder<KelleTop>,
}

fn most(rows: &[Vec<f64>]) -> f64 {
    rows.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()))
}

/// What activations like these are multiplied by.
fn quantizer(like: &[Vec<f64>]) -> f32 {
    (LARGEST / most(like)) as f32
}

impl Builder<'_> {
    /// Weights, [in, out], as integers of 8 bits with a scale for each output, for activations like `like`.
    fn weights(&mut self, weights: &[Vec<f64>], like: &[Vec<f64>]) -> anyhow::Result<Weights> {
        let (channels, columns) = (weights.len(), weights[0].len());
        let scale = |n: usize| weights.iter().fold(0.0, |most: f64, row| most.max(row[n].abs())) / LARGEST_WEIGHT;
        let scales: Vec<f64> = (0..columns).map(scale).collect();
        let integer = |(w, scale): (&f64, &f64)| (w / scale).round_ties_even() as i8;
        let integers: Vec<i8> = weights.iter().flat_map(|row| row.iter().zip(&scales).map(integer)).collect();
        let panels = Panels::new(self.caps, columns, channels)?;
        let address = self.b.store(panels.pack(&integers)?)?;
        let quantizer = quantizer(like);
        let constants = scales.iter().flat_map(|scale| [(scale / f64::from(quantizer)) as f32, 0.0]);
        let constants = self.b.store(constants.flat_map(f32::to_le_bytes).collect())?;
        let panels = Operand { address, stride: panels.stride().try_into()? };
        Ok(Weights { panels, constants, quantizer, channels: channels as u32, columns: columns as u32 })
    }

    /// Rows times weights, as many rows at a time as the accelerator takes.
    fn linear(&mut self, name: &'static str, x: &Floats, w: &Weights) -> anyhow::Result<Floats> {
        ensure!(x.columns == w.channels as usize, "{} channels times {}", x.columns, w.channels);
        let out = self.b.floats(name, x.rows, w.columns as usize)?;
        for first in (0..x.rows).step_by(self.caps.tokens as usize) {
            let rows = (x.rows - first).min(self.caps.tokens as usize);
            let behind = |of: &Floats| place(of, first);
            let size = [rows as u32, w.columns, w.channels];
            let job = LinearJob::new(size, (behind(x), w.quantizer), w.panels, w.constants, behind(&out)).exact();
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

    fn matrices(&mut self, layer: &Layer, all: &Exact) -> anyhow::Result<Matrices> {
        let group = all.queries.len() / all.keys.len();
        let of_head = |(number, keys): (usize, &Vec<Vec<f64>>)| Quantizers {
            queries: quantizer(&all.queries[number * group..(number + 1) * group].concat()),
            keys: quantizer(keys),
            values: quantizer(&all.values[number]),
        };
        Ok(Matrices {
            q: self.weights(&layer.q, &all.attended)?,
            k: self.weights(&layer.k, &all.attended)?,
            v: self.weights(&layer.v, &all.attended)?,
            o: self.weights(&layer.o, &all.attention)?,
            gate: self.weights(&layer.gate, &all.normed)?,
            up: self.weights(&layer.up, &all.normed)?,
            down: self.weights(&layer.down, &all.gated)?,
            quantizers: all.keys.iter().enumerate().map(of_head).collect(),
        })
    }

    /// The layer for the tokens of `residual` from position `first` on; they come into the heads as a prompt, or as one of those behind it.
    fn tokens(
        &mut self,
        (residual, first): (&Floats, usize),
        (m, layer): (&Matrices, &Layer),
        policy: Policy,
    ) -> anyhow::Result<(Floats, Floats)> {
        let normed = self.b.norm("normalised", residual, &layer.gains[0])?;
        let q = self.linear("queries", &normed, &m.q)?;
        let k = self.linear("keys", &normed, &m.k)?;
        let v = self.linear("values", &normed, &m.v)?;
        let angles: Vec<Vec<f64>> =
            angles(first + q.rows, HEAD)[first..].iter().map(|row| row.repeat(q.columns / HEAD)).collect();
        let turns = self.b.given(&angles)?;
        self.b.rows(&q, &q, |job| job.rotate(turns.at))?;
        self.b.rows(&k, &k, |job| job.rotate(turns.at))?;
        let attention = self.b.floats("attention", q.rows, q.columns)?;
        let group = q.columns / k.columns;
        for (number, &quantizers) in m.quantizers.iter().enumerate() {
            let of = |rows: &Floats, width: usize| rows.slice(number * width, width).map(|rows| rows.at);
            let rows = Rows {
                queries: of(&q, group * HEAD)?,
                keys: of(&k, HEAD)?,
                values: of(&v, HEAD)?,
                out: of(&attention, group * HEAD)?,
            };
            let scale = (1.0 / (HEAD as f64).sqrt()) as f32;
            let (head, size) = ((number as u32, q.rows as u32), (group as u32, HEAD as u32));
            let job = AttentionJob::new(head, size, policy, (quantizers, scale), rows).exact();
            for descriptor in job.build_prompt(self.caps, &self.b.window)? {
                self.b.then(descriptor)?;
            }
        }
        let projected = self.linear("projected", &attention, &m.o)?;
        let hidden = self.b.floats("behind the attention", q.rows, residual.columns)?;
        self.b.rows(&projected, &hidden, |job| job.add_rows(residual.at))?;
        let normed = self.b.norm("normalised again", &hidden, &layer.gains[1])?;
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

/// The layer for a prompt and so many tokens behind it, each with descriptors of its own. Activations are calibrated on the float layer's
/// numbers for all 64 tokens of the text. Errors are those of the attention and of what the layer adds to the residual stream, of the
/// prompt and of the tokens behind it, beside the float layer with a full cache.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; what the host crate refuses.
pub fn real_layer(
    (caps, window): (&Caps, &Window),
    golden: KelleTop,
    [prompt, steps]: [usize; 2],
    policy: Policy,
    layer: &Layer,
) -> anyhow::Result<Measured> {
    let all = Exact::of(64, layer)?;
    let tokens = prompt + steps;
    ensure!(
        prompt > 0 && tokens <= all.residual.len(),
        "{prompt} + {steps} tokens, must be 1 to {}",
        all.residual.len()
    );
    let mut builder = Builder { caps, b: ChainBuilder::new(caps.vector, window, golden)? };
    let matrices = builder.matrices(layer, &all)?;
    let heads = matrices.quantizers.len() as u32;
    builder.b.then(ClearJob { first: 0, heads }.build(caps, window)?)?;
    let parts = [(0, prompt)].into_iter().chain((prompt..tokens).map(|token| (token, 1)));
    let (mut attention, mut out) = (Vec::new(), Vec::new());
    for (first, count) in parts {
        let residual = builder.b.given(&all.residual[first..first + count])?;
        let (attended, behind) = builder.tokens((&residual, first), (&matrices, layer), policy)?;
        attention.extend(builder.b.values(&attended));
        out.extend(builder.b.values(&behind));
    }
    let added = |rows: &[Vec<f64>], from: usize| sum(rows, &all.residual[from..from + rows.len()], -1.0);
    let of_layer = |range: std::ops::Range<usize>| {
        relative_error(&added(&all.out[range.clone()], range.start), &added(&out[range.clone()], range.start))
    };
    let mut errors = vec![
        ("attention of the prompt", relative_error(&all.attention[..prompt], &attention[..prompt])),
        ("what the layer adds to the prompt", of_layer(0..prompt)),
    ];
    if steps > 0 {
        errors.push(("attention of the steps", relative_error(&all.attention[prompt..tokens], &attention[prompt..])));
        errors.push(("what the layer adds to the steps", of_layer(prompt..tokens)));
    }
    Ok(Measured { job: builder.b.finish()?, errors })
}
