//! Chains of the KLLM accelerator in terms of rows, tokens and weights.

use anyhow::ensure;
use golden::accelerators::kllm::KllmTop;
use golden::kllm::codebook::Codebook as GoldenCodebook;
use golden::kllm::outliers::{OutlierRule, per_side};
use golden::kllm::quantize::{QuantizedWeights, samples, train_codebook};
use half::f16;
use host::kllm::{Bits, Caps, Codebook, MatMulJob, Panels, Product, Quantize, QuantizeJob, Tokens};
use host::vector::{Integer, Operand};
use host::{Format, Rows};

use crate::chain::{ChainBuilder, Floats};
use crate::layer::Linear;

/// Tokens in memory, and the values of their indices.
#[derive(Clone, Debug)]
pub struct Quantized {
    /// Where.
    pub at: Operand,
    pub(super) rows: usize,
    inner: usize,
    outliers: usize,
    /// The values of the indices.
    pub codebook: GoldenCodebook,
}

/// Panels in memory, and the centroids of all their channels.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Where.
    pub panels: Operand,
    /// Channels.
    pub channels: usize,
    /// Positions of a channel.
    pub inner: usize,
    /// The values of the indices.
    pub codebook: GoldenCodebook,
}

/// Panels in memory, the scales of their channels, and a row of biases where there are some.
#[derive(Clone, Debug)]
pub struct Weights {
    matrix: Matrix,
    scales: Vec<f16>,
    biases: Option<Operand>,
}

/// Chains of the accelerator, whose tokens have indices of so many bits.
#[derive(Debug)]
pub struct Builder<'a> {
    /// The capabilities that a driver reads.
    pub caps: &'a Caps,
    /// Bits of an index of a token.
    pub bits: Bits,
    /// Outliers among the values of a token, both sides together, in hundredths of a per cent.
    pub share: u32,
    /// The chain.
    pub b: ChainBuilder<KllmTop>,
}

/// The values of a codebook.
#[must_use]
pub fn halves(codebook: &GoldenCodebook) -> Vec<f16> {
    codebook.values().iter().map(|&value| f16::from_bits(value as u16)).collect()
}

/// Rows as bits of fp16.
#[must_use]
pub fn fp16(rows: &[Vec<f64>]) -> Vec<Vec<u64>> {
    rows.iter().map(|row| fp16_row(row)).collect()
}

/// The transpose of rows.
#[must_use]
pub fn columns_of<T: Copy>(rows: &[Vec<T>]) -> Vec<Vec<T>> {
    (0..rows[0].len()).map(|n| rows.iter().map(|row| row[n]).collect()).collect()
}

/// A codebook for tokens of numbers like these, with so many outliers on each side.
///
/// # Errors
/// There is no number, or one is not finite.
pub fn train(bits: Bits, like: &[Vec<f64>], outliers: usize) -> anyhow::Result<GoldenCodebook> {
    let rule = if outliers == 0 { OutlierRule::None } else { OutlierRule::TopK { per_side: outliers } };
    let bits = if bits == Bits::Three { 3 } else { 4 };
    Ok(train_codebook(bits, &samples(&fp16(like), rule, None)?, None)?)
}

/// About so many of `all` channels, at even distances.
fn some_of(all: usize, about: usize) -> impl Iterator<Item = usize> {
    (0..all).step_by(all.div_ceil(about).max(1))
}

/// A codebook of 4 bits for channels like these.
fn train_weights(channels: &[Vec<u64>]) -> anyhow::Result<GoldenCodebook> {
    Ok(train_codebook(4, &samples(channels, OutlierRule::None, None)?, None)?)
}

fn bytes(indices: &[Vec<u16>]) -> impl Iterator<Item = u8> {
    indices.iter().flatten().map(|&index| index as u8)
}

fn fp16_row(row: &[f64]) -> Vec<u64> {
    row.iter().map(|&x| golden::kllm::fp16::from_f64(x)).collect()
}

/// The codebook of a projection, [input, output], trained on about so many of the outputs.
pub(super) fn book_of(of: &Linear, training: usize) -> anyhow::Result<GoldenCodebook> {
    let some = some_of(of.outputs(), training).map(|output| fp16_row(&of.column(output)));
    train_weights(&some.collect::<Vec<_>>())
}

impl Builder<'_> {
    /// Rows become tokens, with so many outliers on each side; their codebook is trained on `like`, a tensor's other tokens.
    ///
    /// # Errors
    /// The sizes do not fit; no room.
    pub fn quantize(
        &mut self,
        name: &'static str,
        x: &Floats,
        outliers: usize,
        like: &[Vec<f64>],
    ) -> anyhow::Result<Quantized> {
        let codebook = train(self.bits, like, outliers)?;
        self.quantize_with(name, x, (self.bits, outliers), codebook)
    }

    /// The same with a codebook from elsewhere.
    ///
    /// # Errors
    /// The sizes do not fit; no room.
    pub fn quantize_with(
        &mut self,
        name: &'static str,
        x: &Floats,
        (bits, outliers): (Bits, usize),
        codebook: GoldenCodebook,
    ) -> anyhow::Result<Quantized> {
        let tokens = Tokens::new(x.rows, x.columns, 2 * outliers)?;
        let at = Operand { address: self.b.room(name, tokens.bytes())?, stride: tokens.stride() as u32 };
        let bytes = Codebook::new(&halves(&codebook), &[f16::ONE; 16], self.caps.centroid_bits)?.bytes();
        let quantize = Quantize {
            rows: x.rows as u32,
            columns: x.columns as u32,
            bits,
            largest: outliers as u16,
            smallest: outliers as u16,
            x: x.at,
            codebook: self.b.store(bytes)?,
            out: at,
        };
        let descriptor = QuantizeJob::new(quantize).exact().build(self.caps, &self.b.window)?;
        self.b.then(descriptor)?;
        Ok(Quantized { at, rows: x.rows, inner: x.columns, outliers, codebook })
    }

    /// Panels of channels, each a vector with a scale of its own.
    ///
    /// # Errors
    /// Channels of different lengths; no room.
    pub fn weights(&mut self, channels: &[Vec<u64>]) -> anyhow::Result<Weights> {
        self.weights_by(channels, usize::MAX)
    }

    /// The same, with a codebook that is trained on about so many of the channels, at even distances.
    ///
    /// # Errors
    /// Channels of different lengths; no room.
    pub fn weights_by(&mut self, channels: &[Vec<u64>], training: usize) -> anyhow::Result<Weights> {
        let some: Vec<Vec<u64>> = some_of(channels.len(), training).map(|n| channels[n].clone()).collect();
        let codebook = train_weights(&some)?;
        self.weights_with(channels.iter().cloned(), codebook)
    }

    /// One channel after the other: each takes eight times the memory of its indices.
    fn weights_with(
        &mut self,
        channels: impl Iterator<Item = Vec<u64>>,
        codebook: GoldenCodebook,
    ) -> anyhow::Result<Weights> {
        let (mut scales, mut indices, mut inner) = (Vec::new(), Vec::new(), None);
        for channel in channels {
            let wanted = *inner.get_or_insert(channel.len());
            ensure!(channel.len() == wanted, "a channel of {} values after channels of {wanted}", channel.len());
            let quantized = QuantizedWeights::new(&[channel], &codebook)?;
            scales.extend(quantized.scales.iter().map(|&scale| f16::from_bits(scale as u16)));
            indices.extend(bytes(&quantized.columns));
        }
        self.panels((&indices, inner.unwrap_or_default()), scales, codebook)
    }

    /// Indices are channel by channel.
    fn panels(
        &mut self,
        (indices, inner): (&[u8], usize),
        scales: Vec<f16>,
        codebook: GoldenCodebook,
    ) -> anyhow::Result<Weights> {
        let count = scales.len();
        let panels = Panels::new(self.caps, count, inner)?;
        let address = self.b.store(panels.pack(indices)?)?;
        let at = Operand { address, stride: panels.stride() as u32 };
        Ok(Weights { matrix: Matrix { panels: at, channels: count, inner, codebook }, scales, biases: None })
    }

    /// A projection, [input, output], with its biases. Its codebook is trained on about so many of the outputs.
    ///
    /// # Errors
    /// No room.
    pub fn projection(&mut self, of: &Linear, training: usize) -> anyhow::Result<Weights> {
        self.projection_with(of, book_of(of, training)?)
    }

    /// The same with a codebook from elsewhere.
    pub(super) fn projection_with(&mut self, of: &Linear, codebook: GoldenCodebook) -> anyhow::Result<Weights> {
        let weights = self.weights_with(of.columns().map(|column| fp16_row(&column)), codebook)?;
        if of.biases.is_empty() {
            return Ok(weights);
        }
        let row = self.b.given(std::slice::from_ref(&of.biases))?;
        Ok(Weights { biases: Some(Operand { stride: 0, ..row.at }), ..weights })
    }

    /// A product to rows of fp16, times a number. Biases are added.
    ///
    /// # Errors
    /// The sizes do not fit; no room.
    pub fn multiply(&mut self, name: &'static str, x: &Quantized, w: &Weights, times: f64) -> anyhow::Result<Floats> {
        let out = self.b.floats(name, x.rows, w.matrix.channels)?;
        let biases = w.biases.map(|at| Floats { at, ..out });
        self.multiply_to(x, w, times, biases.as_ref(), &out)?;
        Ok(out)
    }

    /// A projection that is added to rows.
    ///
    /// # Errors
    /// The sizes do not fit; no room.
    pub fn add_projection(
        &mut self,
        name: &'static str,
        x: &Quantized,
        w: &Weights,
        to: &Floats,
    ) -> anyhow::Result<Floats> {
        let out = self.b.floats(name, to.rows, to.columns)?;
        match w.biases {
            None => self.multiply_to(x, w, 1.0, Some(to), &out)?,
            // A product has one addend: biases first, then the rows.
            Some(_) => {
                let product = self.multiply("projected with biases", x, w, 1.0)?;
                self.b.rows(&product, &out, |job| job.add_rows(to.at))?;
            }
        }
        Ok(out)
    }

    /// A product to rows of fp16, times a number, and added to rows instead of biases.
    ///
    /// # Errors
    /// The sizes do not fit; no room.
    pub fn multiply_to(
        &mut self,
        x: &Quantized,
        w: &Weights,
        times: f64,
        addends: Option<&Floats>,
        out: &Floats,
    ) -> anyhow::Result<()> {
        let codebook = self.codebook(x, w)?;
        self.multiply_by(x, w, (&codebook, times), addends, out)
    }

    /// The product of tokens after a function f with f(s x) = s f(x) for positive s. It has another codebook.
    ///
    /// # Errors
    /// Tokens with outliers; the sizes do not fit; no room.
    pub fn multiply_activated(
        &mut self,
        name: &'static str,
        x: &Quantized,
        w: &Weights,
        f: impl Fn(f16) -> f16,
    ) -> anyhow::Result<Floats> {
        ensure!(x.outliers == 0, "outliers do not go through a function of centroids");
        let codebook = self.codebook(x, w)?.activated(f, self.caps.centroid_bits)?;
        let out = self.b.floats(name, x.rows, w.matrix.channels)?;
        self.multiply_by(x, w, (&codebook, 1.0), None, &out)?;
        Ok(out)
    }

    fn codebook(&self, x: &Quantized, w: &Weights) -> anyhow::Result<Codebook> {
        Ok(Codebook::new(&halves(&x.codebook), &halves(&w.matrix.codebook), self.caps.centroid_bits)?)
    }

    fn multiply_by(
        &mut self,
        x: &Quantized,
        w: &Weights,
        (codebook, times): (&Codebook, f64),
        addends: Option<&Floats>,
        out: &Floats,
    ) -> anyhow::Result<()> {
        let scales: Vec<f16> = w.scales.iter().map(|scale| golden::kllm::fp16::half(scale.to_f64() * times)).collect();
        let constants = self.b.store(codebook.constants(&scales)?)?;
        let product = self.product(x, &w.matrix, codebook, constants)?;
        let job = MatMulJob::new(product, out.at).exact();
        let job = if let Some(addends) = addends { job.add_rows(addends.at) } else { job };
        let descriptor = job.build(self.caps, &self.b.window)?;
        self.b.then(descriptor)
    }

    pub(super) fn product(
        &mut self,
        x: &Quantized,
        w: &Matrix,
        codebook: &Codebook,
        constants: u64,
    ) -> anyhow::Result<Product> {
        ensure!(x.inner == w.inner, "{} positions times {}", x.inner, w.inner);
        Ok(Product {
            tokens: x.rows as u32,
            channels: w.channels as u32,
            inner: x.inner as u32,
            outliers: 2 * x.outliers as u32,
            token_rows: x.at,
            panels: w.panels,
            constants,
            codebook: self.b.store(codebook.bytes())?,
        })
    }

    /// Probabilities times values, which are quantized token by token: the scale of each is multiplied into its probability ahead
    /// of the product.
    ///
    /// # Errors
    /// The sizes do not fit; no room.
    pub fn mean_of(&mut self, p: &Floats, values: &[Vec<u64>], out: &Floats) -> anyhow::Result<()> {
        let codebook = train_codebook(4, &samples(values, OutlierRule::None, None)?, None)?;
        let quantized = QuantizedWeights::new(values, &codebook)?;
        let scales: Vec<f64> = quantized.scales.iter().map(|&s| f16::from_bits(s as u16).to_f64()).collect();
        // The worth of an integer: the largest factor becomes 127.
        let most = scales.iter().copied().fold(0.0, f64::max);
        let unit = golden::kllm::fp16::half(most / 127.0);
        let factors = self.b.given(&[scales])?;
        let channels = columns_of(&quantized.columns);
        let indices: Vec<u8> = bytes(&channels).collect();
        let w = self.panels((&indices, values.len()), vec![unit; channels.len()], codebook)?;
        self.weighted_sum(p, Operand { stride: 0, ..factors.at }, (&w.matrix, unit), out)
    }

    /// Probabilities times a row of scales become integers of 7 bits, each worth `unit`; these times values.
    pub(super) fn weighted_sum(
        &mut self,
        p: &Floats,
        scales: Operand,
        (values, unit): (&Matrix, f16),
        out: &Floats,
    ) -> anyhow::Result<()> {
        let layout = Rows::dense(Format::Int8, p.rows, p.columns)?;
        let integers = Operand { address: self.b.room("scores", layout.bytes())?, stride: layout.stride() as u32 };
        self.b.steps(p, integers, |job| {
            job.multiply_rows(scales).quantize(Integer::Int8, golden::kllm::fp16::half(1.0 / unit.to_f64()))
        })?;
        let codebook = Codebook::of_integers(&halves(&values.codebook), self.caps.centroid_bits)?;
        let constants = self.b.store(codebook.constants(&vec![unit; values.channels])?)?;
        let (rows, inner) = (p.rows, p.columns);
        let x = Quantized { at: integers, rows, inner, outliers: 0, codebook: values.codebook.clone() };
        let product = self.product(&x, values, &codebook, constants)?;
        let job = MatMulJob::new(product, out.at).of_integers().exact();
        let descriptor = job.build(self.caps, &self.b.window)?;
        self.b.then(descriptor)
    }
}

/// Share of outliers in the paper, both sides together, in hundredths of a per cent.
pub const SHARE: u32 = 100;

/// Outliers on each side of a token of so many positions; `share` is in hundredths of a per cent, both sides together.
///
/// # Errors
/// The share is above 10000.
pub fn outliers(positions: usize, share: u32) -> anyhow::Result<usize> {
    Ok(per_side(positions, share)?)
}
