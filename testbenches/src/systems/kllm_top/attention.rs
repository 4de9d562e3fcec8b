//! One attention head of the real model as one chain: tokens and queries are quantized by the accelerator; the panels of weights,
//! keys and values are there, as a host or an earlier job has left them.

use anyhow::ensure;
use golden::kllm::codebook::Codebook as GoldenCodebook;
use golden::kllm::outliers::OutlierRule;
use golden::kllm::quantize::{QuantizedWeights, samples, train_codebook};
use golden::systems::kllm_top::KllmTop;
use golden::tender::granularity::relative_error;
use half::f16;
use host::kllm::{Bits, Caps, Codebook, MatMulJob, Panels, Product, QuantizeJob, Tokens};
use host::vector::{Epsilon, Integer, Operand};
use host::{Format, Rows, Window};

use super::super::chain_builder::{ChainBuilder, Floats, Job};
use super::super::float_head::{EPSILON, Exact};
use super::real::halves;

/// Tokens in memory, and what their indices stand for.
struct Quantized {
    at: Operand,
    rows: usize,
    inner: usize,
    outliers: usize,
    codebook: GoldenCodebook,
}

/// Panels in memory: channels with their scales, and the centroids of all.
struct Weights {
    panels: Operand,
    channels: usize,
    inner: usize,
    scales: Vec<f16>,
    codebook: GoldenCodebook,
}

/// A job, and how far its numbers are from those of float arithmetic: squared error relative to the squares, by name.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The job.
    pub job: Job,
    /// Errors.
    pub errors: Vec<(&'static str, f64)>,
}

struct Head<'a> {
    caps: &'a Caps,
    bits: Bits,
    b: ChainBuilder<KllmTop>,
}

fn fp16(rows: &[Vec<f64>]) -> Vec<Vec<u64>> {
    rows.iter().map(|row| row.iter().map(|&x| golden::kllm::fp16::from_f64(x)).collect()).collect()
}

fn columns_of(rows: &[Vec<u64>]) -> Vec<Vec<u64>> {
    (0..rows[0].len()).map(|n| rows.iter().map(|row| row[n]).collect()).collect()
}

impl Head<'_> {
    /// Rows become tokens, with so many outliers on each side; their codebook is trained on `like`, a tensor's other tokens.
    fn quantize(
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
    fn weights(&mut self, channels: &[Vec<u64>]) -> anyhow::Result<Weights> {
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
    fn multiply(&mut self, name: &'static str, x: &Quantized, w: &Weights, times: f64) -> anyhow::Result<Floats> {
        ensure!(x.inner == w.inner, "{} positions times {}", x.inner, w.inner);
        let codebook = Codebook::new(&halves(&x.codebook), &halves(&w.codebook), self.caps.centroid_bits)?;
        let scales: Vec<f16> = w.scales.iter().map(|scale| f16::from_f64(scale.to_f64() * times)).collect();
        let out = self.b.floats(name, x.rows, w.channels)?;
        let product = self.product(x, w, &codebook, &scales)?;
        let descriptor = MatMulJob::new(product, out.at).exact().build(self.caps, &self.b.window)?;
        self.b.then(descriptor)?;
        Ok(out)
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
    fn mean_of(&mut self, name: &'static str, p: &Floats, values: &[Vec<u64>]) -> anyhow::Result<Floats> {
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
        let out = self.b.floats(name, p.rows, width)?;
        let product = self.product(&x, &w, &codebook, &w.scales)?;
        let job = MatMulJob::new(product, out.at).of_integers().exact();
        let descriptor = job.build(self.caps, &self.b.window)?;
        self.b.then(descriptor)?;
        Ok(out)
    }
}

/// Query head 6 of layer 14 for the first tokens of the text, from the residual stream on; keys and values are those of the
/// float layer, quantized. `outliers` of a token on each side stay as they are, one of a query for 16 of these.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; what the host crate refuses.
pub fn real_head(
    caps: &Caps,
    window: &Window,
    golden: KllmTop,
    bits: Bits,
    (tokens, outliers): (usize, usize),
) -> anyhow::Result<Measured> {
    let (exact, all) = (Exact::of(tokens)?, Exact::of(64)?);
    let b = ChainBuilder::new(caps.vector, window, golden)?;
    let mut head = Head { caps, bits, b };
    let residual = head.b.given(&exact.residual)?;
    let angles = head.b.given(&exact.angles)?;
    let gains = head.b.given(std::slice::from_ref(&exact.gains))?.at.address;
    let normed = head.b.floats("normalised", tokens, residual.columns)?;
    let epsilon = Epsilon::new(EPSILON)?;
    head.b.rows(&residual, &normed, |job| job.norm_with_gains(epsilon, gains))?;
    let x = head.quantize("tokens", &normed, outliers, &all.normed)?;
    let w_q = head.weights(&columns_of(&fp16(&exact.w_q)))?;
    let q = head.multiply("queries", &x, &w_q, 1.0)?;
    head.b.rows(&q, &q, |job| job.rotate(angles.at))?;
    let queries = head.quantize("tokens of queries", &q, outliers.div_ceil(16), &all.queries)?;
    let keys = head.weights(&fp16(&exact.keys))?;
    let p = head.multiply("probabilities", &queries, &keys, 1.0 / (q.columns as f64).sqrt())?;
    head.b.rows(&p, &p, |job| job.causal_softmax(1))?;
    let values = golden::tender::granularity::product(&exact.normed, &exact.w_v);
    let out = head.mean_of("attention", &p, &fp16(&values))?;
    let error = |exact: &[Vec<f64>], rows: &Floats| relative_error(exact, &head.b.values(rows));
    let errors = vec![
        ("normalised", error(&exact.normed, &normed)),
        ("queries", error(&exact.queries, &q)),
        ("probabilities", error(&exact.probabilities, &p)),
        ("attention", error(&exact.attention, &out)),
    ];
    Ok(Measured { job: head.b.finish()?, errors })
}
