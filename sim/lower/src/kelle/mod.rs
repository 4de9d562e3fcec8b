//! Layers of a running model on `kelle_top`: weights of 8 bits, activations of 16. Keys and values of texts are in its
//! heads, which keep to a budget.

mod decoding;
mod learnt;
mod popular;

use anyhow::{Result, ensure};
use golden::accelerators::kelle::{CONSTANT_BYTES, KelleTop};
use host::kelle::{
    Attention, AttentionJob, Caps, Linear as Product, LinearJob, Panels, Policy, Quantizers, Rows as Operands,
};
use host::vector::Operand;

use crate::chain::{ChainBuilder, Floats};
use crate::exact::Exact;
use crate::layer::{Activation, Heads, Layer, Linear, Norm, Turns};
use crate::pass::{Share, Shares};
pub use decoding::OnKelle;
use learnt::Scales;
pub use popular::{Popular, Recomputed};

/// The largest integer of a calibrated activation: half of the range, since evictions change later activations.
const LARGEST: f64 = 16_000.0;
/// The largest weight.
const LARGEST_WEIGHT: f64 = 127.0;

/// Weights in memory.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Where.
    pub panels: Operand,
    /// Address of scale and bias of each column, for activations times `quantizer`.
    constants: u64,
    quantizer: f32,
    channels: u32,
    /// Outputs.
    pub columns: u32,
}

impl Weights {
    /// Some of the columns, from the first one of a panel on; panels have `panel` columns.
    #[must_use]
    pub fn slice(&self, first: u32, columns: u32, panel: u32) -> Self {
        let address = self.panels.address + u64::from(first / panel) * u64::from(self.panels.stride);
        let panels = Operand { address, ..self.panels };
        Self { panels, constants: self.constants + CONSTANT_BYTES * u64::from(first), columns, ..*self }
    }
}

/// The matrices of a layer, in memory.
#[derive(Clone, Debug)]
pub struct Matrices {
    q: Weights,
    k: Weights,
    v: Weights,
    o: Weights,
    gate: Option<Weights>,
    up: Weights,
    down: Weights,
    /// Of each head of keys and values.
    quantizers: Vec<Quantizers>,
    /// Which tokens each of these heads keeps, where heads have policies of their own.
    policies: Vec<Policy>,
    norms: [Norm; 2],
    epsilon: f64,
    heads: Heads,
    turns: Option<Turns>,
}

impl Matrices {
    /// Heads of keys and values that the accelerator has of a text.
    #[must_use]
    pub fn heads(&self) -> usize {
        self.quantizers.len()
    }
}

/// Chains of the accelerator.
#[derive(Debug)]
pub struct Builder<'a> {
    /// The capabilities that a driver reads.
    pub caps: &'a Caps,
    /// The chain.
    pub b: ChainBuilder<KelleTop>,
}

fn most(rows: &[Vec<f64>]) -> f64 {
    rows.iter().flatten().fold(0.0, |most: f64, x| most.max(x.abs()))
}

/// The quantizer of activations like these.
#[must_use]
pub fn quantizer(like: &[Vec<f64>]) -> f32 {
    (LARGEST / most(like)) as f32
}

impl Builder<'_> {
    /// A projection for activations times a quantizer.
    fn projection(&mut self, of: &Linear, quantizer: f32) -> Result<Weights> {
        match of.biases.is_empty() {
            true => self.weights_by(&of.weights(), &vec![0.0; of.outputs()], quantizer),
            false => self.weights_by(&of.weights(), &of.biases, quantizer),
        }
    }

    /// Weights, [in, out], as integers of 8 bits with a scale for each output, for activations like `like`.
    ///
    /// # Errors
    /// No room.
    pub fn weights(&mut self, weights: &[Vec<f64>], like: &[Vec<f64>]) -> Result<Weights> {
        self.weights_with(weights, &vec![0.0; weights[0].len()], like)
    }

    /// The same, and biases of the outputs.
    ///
    /// # Errors
    /// Not as many biases as outputs; no room.
    pub fn weights_with(&mut self, weights: &[Vec<f64>], biases: &[f64], like: &[Vec<f64>]) -> Result<Weights> {
        self.weights_by(weights, biases, quantizer(like))
    }

    fn weights_by(&mut self, weights: &[Vec<f64>], biases: &[f64], quantizer: f32) -> Result<Weights> {
        let (channels, columns) = (weights.len(), weights[0].len());
        ensure!(biases.len() == columns, "{} biases of {columns} outputs", biases.len());
        let scale = |n: usize| weights.iter().fold(0.0, |most: f64, row| most.max(row[n].abs())) / LARGEST_WEIGHT;
        let scales: Vec<f64> = (0..columns).map(scale).collect();
        let integer = |(w, scale): (&f64, &f64)| (w / scale).round_ties_even() as i8;
        let integers: Vec<i8> = weights.iter().flat_map(|row| row.iter().zip(&scales).map(integer)).collect();
        let panels = Panels::new(self.caps, columns, channels)?;
        let address = self.b.store(panels.pack(&integers)?)?;
        let constant = |(scale, bias): (&f64, &f64)| [(scale / f64::from(quantizer)) as f32, *bias as f32];
        let constants = scales.iter().zip(biases).flat_map(constant);
        let constants = self.b.store(constants.flat_map(f32::to_le_bytes).collect())?;
        let panels = Operand { address, stride: panels.stride().try_into()? };
        Ok(Weights { panels, constants, quantizer, channels: channels as u32, columns: columns as u32 })
    }

    /// Rows times weights, as many rows at a time as the accelerator takes.
    ///
    /// # Errors
    /// The sizes do not fit; no room.
    pub fn linear(&mut self, name: &'static str, x: &Floats, w: &Weights) -> Result<Floats> {
        ensure!(x.columns == w.channels as usize, "{} channels times {}", x.columns, w.channels);
        let out = self.b.floats(name, x.rows, w.columns as usize)?;
        for first in (0..x.rows).step_by(self.caps.tokens as usize) {
            let rows = (x.rows - first).min(self.caps.tokens as usize);
            let behind = |of: &Floats| of.some_rows(first, rows).at;
            let job = LinearJob::new(Product {
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

    /// The matrices of a layer, for activations like those of the float layer. `expanded`: each query head has keys,
    /// values and victims of its own.
    ///
    /// # Errors
    /// No room.
    pub fn matrices(&mut self, layer: &Layer, all: &Exact, expanded: bool) -> Result<Matrices> {
        let scales = Scales::of(layer, all, if expanded { layer.heads.queries } else { layer.heads.keys });
        self.matrices_by(layer, &scales)
    }

    fn matrices_by(&mut self, layer: &Layer, by: &Scales) -> Result<Matrices> {
        let [attention, attention_out, feed_forward, down] = by.inputs;
        Ok(Matrices {
            q: self.projection(&layer.q, attention)?,
            k: self.projection(&layer.k, attention)?,
            v: self.projection(&layer.v, attention)?,
            o: self.projection(&layer.o, attention_out)?,
            gate: match &layer.activation {
                Activation::GatedSilu(gate) => Some(self.projection(gate, feed_forward)?),
                _ => None,
            },
            up: self.projection(&layer.up, feed_forward)?,
            down: self.projection(&layer.down, down)?,
            quantizers: by.heads.clone(),
            policies: Vec::new(),
            norms: layer.norms.clone(),
            epsilon: layer.epsilon,
            heads: layer.heads,
            turns: layer.turns.clone(),
        })
    }

    /// The layer for rows of texts; tokens from position 0 on are a prompt. `popular` are tokens of one text that come
    /// again. Returns the results of all heads, and the residual stream after the layer.
    ///
    /// # Errors
    /// More tokens than there is room for; an error of the host crate.
    pub fn tokens(
        &mut self,
        (residual, shares): (&Floats, &Shares),
        m: &Matrices,
        (policy, popular): (Policy, Option<&mut Popular>),
    ) -> Result<(Floats, Floats)> {
        ensure!(popular.is_none() || shares.all().len() == 1, "tokens come again in one text at a time");
        let first = shares.all()[0].first;
        let normed = self.b.norm("normalised", residual, (&m.norms[0], m.epsilon))?;
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
        positions.extend(shares.positions());
        if let Some(turns) = &m.turns {
            let turns = self.b.angles(turns, m.heads.queries, &positions)?;
            self.b.rotate(&q, &turns.some_rows(again, q.rows))?;
            self.b.rotate(&k, &turns)?;
        }
        let attention = self.b.floats("attention", q.rows, q.columns)?;
        for share in shares.all() {
            self.attend(m, [&q, &k, &v, &attention], share, (policy, again))?;
        }
        if let Some(popular) = popular {
            self.keep(popular, m.heads(), policy)?;
        }
        let projected = self.linear("projected", &attention, &m.o)?;
        let hidden = self.b.floats("behind the attention", q.rows, residual.columns)?;
        self.b.rows(&projected, &hidden, |job| job.add_rows(residual.at))?;
        let normed = self.b.norm("normalised again", &hidden, (&m.norms[1], m.epsilon))?;
        let gate = m.gate.as_ref().map(|gate| self.linear("gate", &normed, gate)).transpose()?;
        let up = self.linear("up", &normed, &m.up)?;
        let gated = match &gate {
            Some(gate) => self.b.gate(gate, &up)?,
            None => self.b.activate("gated", &up)?,
        };
        let down = self.linear("down", &gated, &m.down)?;
        let out = self.b.floats("behind the layer", q.rows, residual.columns)?;
        self.b.rows(&down, &out, |job| job.add_rows(hidden.at))?;
        Ok((attention, out))
    }

    /// Attention of all heads of a text.
    fn attend(
        &mut self,
        m: &Matrices,
        [q, k, v, attention]: [&Floats; 4],
        share: &Share,
        (policy, again): (Policy, usize),
    ) -> Result<()> {
        let (heads, width) = (m.heads(), m.heads.width);
        let group = m.heads.queries / heads;
        for (number, &quantizers) in m.quantizers.iter().enumerate() {
            let of = |rows: &Floats, head: usize, width: usize| {
                rows.some_rows(share.row, share.rows).slice(head * width, width).map(|rows| rows.at)
            };
            let stored = number * m.heads.keys / heads;
            let rows = Operands {
                queries: of(q, number, group * width)?,
                keys: of(k, stored, width)?,
                values: of(v, stored, width)?,
                out: of(attention, number, group * width)?,
            };
            let entering = Attention {
                head: (share.text * heads + number) as u32,
                tokens: share.rows as u32,
                group: group as u32,
                elements: width as u32,
                policy: m.policies.get(number).copied().unwrap_or(policy),
                quantizers,
                scale: m.heads.scale() as f32,
                rows,
            };
            let job = AttentionJob::new(entering).again(again as u8);
            let job = if self.b.is_exact() { job.exact() } else { job };
            let descriptors = match share.first {
                0 => job.build_prompt(self.caps, &self.b.window)?,
                _ => vec![job.build(self.caps, &self.b.window)?],
            };
            descriptors.into_iter().try_for_each(|descriptor| self.b.then(descriptor))?;
        }
        Ok(())
    }
}
