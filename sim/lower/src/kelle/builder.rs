//! Chains of the accelerator in terms of rows and weights.

use anyhow::{Result, ensure};
use golden::accelerators::kelle::{CONSTANT_BYTES, KelleTop};
use host::kelle::{Caps, Linear as Product, LinearJob, Panels, Policy, Quantizers};
use host::vector::Operand;

use super::away::Away;
use super::learnt::{Scales, quantizer};
use crate::chain::{ChainBuilder, Floats};
use crate::exact::Exact;
use crate::layer::{Activation, Heads, Layer, Linear, Norm, Turns};

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
    pub(super) q: Weights,
    pub(super) k: Weights,
    pub(super) v: Weights,
    pub(super) o: Weights,
    pub(super) gate: Option<Weights>,
    pub(super) up: Weights,
    pub(super) down: Weights,
    /// Of each head of keys and values.
    pub(super) quantizers: Vec<Quantizers>,
    /// Which tokens each of these heads keeps, where heads have policies of their own.
    pub(super) policies: Vec<Policy>,
    /// Texts that share heads, where there are some.
    pub(super) away: Option<Away>,
    pub(super) norms: [Norm; 2],
    pub(super) epsilon: f64,
    pub(super) heads: Heads,
    pub(super) turns: Option<Turns>,
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

    pub(super) fn matrices_by(&mut self, layer: &Layer, by: &Scales) -> Result<Matrices> {
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
            away: None,
            norms: layer.norms.clone(),
            epsilon: layer.epsilon,
            heads: layer.heads,
            turns: layer.turns.clone(),
        })
    }
}
