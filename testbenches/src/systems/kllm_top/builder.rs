//! Chains of the KLLM accelerator in terms of rows, tokens and weights.

use anyhow::ensure;
use golden::kllm::codebook::Codebook as GoldenCodebook;
use golden::kllm::outliers::OutlierRule;
use golden::kllm::quantize::{QuantizedWeights, samples, train_codebook};
use golden::systems::kllm_top::KllmTop;
use half::f16;
use host::kllm::{Bits, Caps, Codebook, MatMulJob, Panels, Product, QuantizeJob, Tokens};
use host::vector::{Integer, Operand};
use host::{Format, Rows};

use super::super::chain_builder::{ChainBuilder, Floats};
use super::real::halves;

/// Tokens in memory, and what their indices stand for.
pub(super) struct Quantized {
    at: Operand,
    rows: usize,
    inner: usize,
    outliers: usize,
    codebook: GoldenCodebook,
}

/// Panels in memory: channels with their scales, and the centroids of all.
pub(super) struct Weights {
    panels: Operand,
    channels: usize,
    inner: usize,
    scales: Vec<f16>,
    codebook: GoldenCodebook,
}

/// Chains of the accelerator, whose tokens have indices of so many bits.
pub(super) struct Builder<'a> {
    pub(super) caps: &'a Caps,
    pub(super) bits: Bits,
    pub(super) b: ChainBuilder<KllmTop>,
}

pub(super) fn fp16(rows: &[Vec<f64>]) -> Vec<Vec<u64>> {
    rows.iter().map(|row| row.iter().map(|&x| golden::kllm::fp16::from_f64(x)).collect()).collect()
}

pub(super) fn columns_of(rows: &[Vec<u64>]) -> Vec<Vec<u64>> {
    (0..rows[0].len()).map(|n| rows.iter().map(|row| row[n]).collect()).collect()
}

impl Builder<'_> {
    /// Rows become tokens, with so many outliers on each side; their codebook is trained on `like`, a tensor's other tokens.
    pub(super) fn quantize(
        &mut self,
        name: &'static str,
        x: &Floats,
        outliers: usize,
        like: &[Vec<f64>],
    ) -> anyhow::Result<Quantized> {
        let rule = if outliers == 0 { OutlierRule::None } else { OutlierRule::TopK { per_side: outliers } };
        let bits = if self.bits == Bits::Three { 3 } else { 4 };
        let codebook = train_codebook(bits, &samples(&fp16(like), rule, None)?, None)?;
        let tokens = Tokens::new(x.rows, x.columns, 2 * outliers)?;
        let at = Operand { address: self.b.room(name, tokens.bytes())?, stride: tokens.stride() as u32 };
        let bytes = Codebook::new(&halves(&codebook), &[f16::ONE; 16], self.caps.centroid_bits)?.bytes();
        let place = self.b.store(bytes)?;
        let sizes = (x.rows as u32, x.columns as u32);
        let of_a_side = (outliers as u16, outliers as u16);
        let job = QuantizeJob::new(sizes, self.bits, of_a_side, x.at, place, at).exact();
        let descriptor = job.build(self.caps, &self.b.window)?;
        self.b.then(descriptor)?;
        Ok(Quantized { at, rows: x.rows, inner: x.columns, outliers, codebook })
    }

    /// Panels of channels, each a vector with a scale of its own.
    pub(super) fn weights(&mut self, channels: &[Vec<u64>]) -> anyhow::Result<Weights> {
        let codebook = train_codebook(4, &samples(channels, OutlierRule::None, None)?, None)?;
        let quantized = QuantizedWeights::new(channels, &codebook)?;
        let scales = quantized.scales.iter().map(|&scale| f16::from_bits(scale as u16)).collect();
        self.panels(&quantized.columns, scales, codebook)
    }

    fn panels(&mut self, channels: &[Vec<u16>], scales: Vec<f16>, codebook: GoldenCodebook) -> anyhow::Result<Weights> {
        let (count, inner) = (channels.len(), channels[0].len());
        let panels = Panels::new(self.caps, count, inner)?;
        let indices: Vec<u8> = channels.iter().flatten().map(|&index| index as u8).collect();
        let address = self.b.store(panels.pack(&indices)?)?;
        let at = Operand { address, stride: panels.stride() as u32 };
        Ok(Weights { panels: at, channels: count, inner, scales, codebook })
    }

    /// A product to rows of fp16, times a number.
    pub(super) fn multiply(
        &mut self,
        name: &'static str,
        x: &Quantized,
        w: &Weights,
        times: f64,
    ) -> anyhow::Result<Floats> {
        let out = self.b.floats(name, x.rows, w.channels)?;
        self.multiply_to(x, w, times, None, &out)?;
        Ok(out)
    }

    /// A product to rows of fp16, times a number, and added to rows.
    pub(super) fn multiply_to(
        &mut self,
        x: &Quantized,
        w: &Weights,
        times: f64,
        addends: Option<&Floats>,
        out: &Floats,
    ) -> anyhow::Result<()> {
        ensure!(x.inner == w.inner, "{} positions times {}", x.inner, w.inner);
        let codebook = Codebook::new(&halves(&x.codebook), &halves(&w.codebook), self.caps.centroid_bits)?;
        let scales: Vec<f16> = w.scales.iter().map(|scale| f16::from_f64(scale.to_f64() * times)).collect();
        let product = self.product(x, w, &codebook, &scales)?;
        let job = MatMulJob::new(product, out.at).exact();
        let job = if let Some(addends) = addends { job.add_rows(addends.at) } else { job };
        let descriptor = job.build(self.caps, &self.b.window)?;
        self.b.then(descriptor)
    }

    fn product(&mut self, x: &Quantized, w: &Weights, codebook: &Codebook, scales: &[f16]) -> anyhow::Result<Product> {
        Ok(Product {
            tokens: x.rows as u32,
            channels: w.channels as u32,
            inner: x.inner as u32,
            outliers: 2 * x.outliers as u32,
            token_rows: x.at,
            panels: w.panels,
            constants: self.b.store(codebook.constants(scales)?)?,
            codebook: self.b.store(codebook.bytes())?,
        })
    }

    /// Probabilities times values, which are quantized token by token: the scale of each is multiplied into its probability ahead
    /// of the product, whose integers are then of 7 bits.
    pub(super) fn mean_of(&mut self, p: &Floats, values: &[Vec<u64>], out: &Floats) -> anyhow::Result<()> {
        let codebook = train_codebook(4, &samples(values, OutlierRule::None, None)?, None)?;
        let quantized = QuantizedWeights::new(values, &codebook)?;
        let scales: Vec<f64> = quantized.scales.iter().map(|&s| f16::from_bits(s as u16).to_f64()).collect();
        // The worth of an integer: the largest factor becomes 127.
        let most = scales.iter().copied().fold(0.0, f64::max);
        let unit = f16::from_f64(most / 127.0);
        let factors = self.b.given(&[scales])?;
        let layout = Rows::dense(Format::Int8, p.rows, p.columns)?;
        let integers = Operand { address: self.b.room("scores", layout.bytes())?, stride: layout.stride() as u32 };
        let each = Operand { stride: 0, ..factors.at };
        self.b.steps(p, integers, |job| {
            job.multiply_rows(each).quantize(Integer::Int8, f16::from_f64(1.0 / unit.to_f64()))
        })?;
        let width = values[0].len();
        let channels: Vec<Vec<u16>> =
            (0..width).map(|n| quantized.columns.iter().map(|token| token[n]).collect()).collect();
        let w = self.panels(&channels, vec![unit; width], codebook)?;
        let codebook = Codebook::of_integers(&halves(&w.codebook), self.caps.centroid_bits)?;
        let x = Quantized { at: integers, rows: p.rows, inner: p.columns, outliers: 0, codebook: w.codebook.clone() };
        let product = self.product(&x, &w, &codebook, &w.scales)?;
        let job = MatMulJob::new(product, out.at).of_integers().exact();
        let descriptor = job.build(self.caps, &self.b.window)?;
        self.b.then(descriptor)
    }
}

/// What rows are, as bits of fp16.
pub(super) fn bits_of(b: &ChainBuilder<KllmTop>, rows: &Floats) -> Vec<Vec<u64>> {
    fp16(&b.values(rows))
}
