//! KLLM's quantization on projections of a real decoder, next to the schemes that the paper compares with.
//!
//! `examples/kllm_quantization.rs` prints the tables of `docs/blocks/kllm-quantization.md` with it, and
//! `tests/kllm_quantization.rs` checks their conclusions. It is offline software: errors are measured in f64.
//!
//! All calibration (codebooks, thresholds, factors) uses one half of the tokens, and is judged on the other half. Then
//! the halves change places. So every token is judged, and never by a calibration that has seen it.

use std::ops::Range;

use anyhow::{Context, Result, ensure};
use golden::kllm::codebook::Codebook;
use golden::kllm::fp16;
use golden::kllm::outliers::{OutlierRule, per_side};
use golden::kllm::quantize::{Quantized, QuantizedWeights, Sample, samples, scale, train_codebook};
use sim::stimulus::real_rows;

use super::baselines;
pub use super::baselines::Rows;

pub mod arithmetic;
pub mod attention;
pub mod drift;

/// One linear layer of the model: y = tokens * columns.
#[derive(Clone, Debug)]
pub struct Projection {
    /// Layer and name, for example `14 down`.
    pub name: String,
    /// Inputs, fp16 bits.
    pub tokens: Vec<Vec<u64>>,
    /// Weights by output channel, fp16 bits.
    pub columns: Vec<Vec<u64>>,
}

impl Projection {
    fn read(layer: u32, input: &str, weight: &str) -> Result<Self> {
        let file = |name: &str| format!("l{layer:02}_{name}");
        let tokens = real_rows(&file(input))?;
        let rows = real_rows(&file(&format!("w_{weight}")))?;
        let outputs = rows.first().context("a weight without rows")?.len();
        ensure!(tokens.iter().all(|t| t.len() == rows.len()), "{weight} of layer {layer} does not fit its input");
        let columns = (0..outputs).map(|n| rows.iter().map(|row| row[n]).collect()).collect();
        Ok(Self { name: format!("{layer} {weight}"), tokens, columns })
    }

    /// All projections whose input and weight are both among the test data: 12, of layers 2, 14 and 28.
    ///
    /// # Errors
    /// A missing or damaged file.
    pub fn all() -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for layer in [2, 14, 28] {
            let more: &[(&str, &str)] =
                if layer == 14 { &[("attn_in", "k"), ("attn_in", "v"), ("attn_out", "o")] } else { &[] };
            let common = [("attn_in", "q"), ("ffn_in", "gate"), ("down_in", "down")];
            for (input, weight) in common.iter().chain(more) {
                all.push(Self::read(layer, input, weight)?);
            }
        }
        Ok(all)
    }

    /// The two ways to split the tokens: calibration, evaluation.
    #[must_use]
    pub fn folds(&self) -> [(Range<usize>, Range<usize>); 2] {
        let half = self.tokens.len() / 2;
        let (first, second) = (0..half, half..self.tokens.len());
        [(first.clone(), second.clone()), (second, first)]
    }

    /// A stand-in for the Fisher information of each input channel: the energy of its weights, the sum over the output
    /// channels of w^2. It would be the Fisher information if the gradients of all outputs were independent and alike.
    #[must_use]
    pub fn channel_energy(&self) -> Vec<f64> {
        let width = self.tokens[0].len();
        (0..width).map(|k| self.columns.iter().map(|column| fp16::value(column[k]).powi(2)).sum()).collect()
    }
}

/// Sample weights of the K-Means that trains the two codebooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sensitivity {
    /// All 1.
    Uniform,
    /// Activations by [`Projection::channel_energy`]: the effect of an error of the normalised activation on the output
    /// of its token. Weights uniform.
    Activations,
    /// The same times the square of the token's scale: the effect on the output of all tokens together.
    ActivationsAndScale,
    /// Weights by the mean square of their input channel in calibration and the square of their scale. Activations
    /// uniform.
    Weights,
    /// [`Sensitivity::Activations`] and [`Sensitivity::Weights`].
    Both,
}

/// How outliers and the scale of a token are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detection {
    /// Exact top-k of the token: the paper's KLLM.
    Online,
    /// Thresholds from calibration, the scale from the token's inliers: the paper's KLLM-S.
    Offline,
    /// Thresholds from calibration. The larger one is the scale of all tokens. This is the other reading of the paper's
    /// KLLM-S: "scaling factors, which are determined by the outlier thresholds".
    OfflineScale,
    /// [`Detection::Offline`] with room for as many outliers a token as online detection keeps. The first outliers by
    /// index stay in fp16. Further ones saturate at the scale of the values within the thresholds.
    OfflineBounded,
    /// [`Detection::Offline`] with both thresholds at so many per cent of their calibrated value at evaluation. It
    /// shows the effect of a text that differs from the calibration text.
    OfflineShifted(u32),
}

/// A quantization scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// Integers, symmetric: a scale per token and per output channel, round to nearest. Outliers online.
    Rtn,
    /// The same with a zero point per token, so that all 2^bits levels are used.
    RtnZeroPoint,
    /// SmoothQuant with exponent 0.5, then [`Scheme::Rtn`].
    SmoothQuant,
    /// Rotation by a Hadamard matrix in blocks of 64, then [`Scheme::Rtn`]: the idea of QuaRot.
    Rotated,
    /// Integers with a scale per group of 96 and 3 % of the channels in 8 bits: the idea of Atom.
    Grouped,
    /// Weights as in [`Scheme::Rtn`], activations that are not quantized.
    RtnWeightsOnly,
    /// K-Means weights, activations that are not quantized.
    KMeansWeightsOnly(Sensitivity),
    /// K-Means codebooks: KLLM.
    KMeans(Sensitivity, Detection),
}

impl Scheme {
    /// The paper's KLLM.
    pub const KLLM: Self = Self::KMeans(Sensitivity::Both, Detection::Online);
    /// The paper's KLLM-S.
    pub const KLLM_S: Self = Self::KMeans(Sensitivity::Both, Detection::Offline);
}

/// A scheme with its numbers; weights always have 4 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The scheme.
    pub scheme: Scheme,
    /// Bits of an activation.
    pub bits: u32,
    /// Outliers, both sides together, in hundredths of a per cent.
    pub share: u32,
}

/// Squared errors of a projection's outputs, token by token.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Errors {
    /// Squared error and squared magnitude of each token's output.
    pub tokens: Vec<(f64, f64)>,
    /// Outliers of each token.
    pub outliers: Vec<usize>,
}

impl Errors {
    /// Relative error of the output of all tokens together: Frobenius norm of the error over Frobenius norm of the
    /// output.
    #[must_use]
    pub fn frobenius(&self) -> f64 {
        let (error, output) = self.tokens.iter().fold((0.0, 0.0), |sum, t| (sum.0 + t.0, sum.1 + t.1));
        (error / output).sqrt()
    }

    /// Mean over the tokens of the relative error of a token's output: no token outweighs the others.
    #[must_use]
    pub fn of_token(&self) -> f64 {
        self.tokens.iter().map(|t| (t.0 / t.1).sqrt()).sum::<f64>() / self.tokens.len() as f64
    }
}

/// Means over several projections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Mean of [`Errors::frobenius`].
    pub frobenius: f64,
    /// Mean of [`Errors::of_token`].
    pub of_token: f64,
    /// Outliers kept, as a share of all values.
    pub kept: f64,
    /// The largest share of outliers in one token.
    pub most: f64,
}

/// The error of a scheme on several projections, each counting the same.
///
/// # Errors
/// The errors of [`evaluate`].
pub fn mean(projections: &[Projection], config: Config) -> Result<Mean> {
    let n = projections.len() as f64;
    let mut mean = Mean { frobenius: 0.0, of_token: 0.0, kept: 0.0, most: 0.0 };
    for projection in projections {
        let errors = evaluate(projection, config)?;
        let share = |count: usize| count as f64 / projection.tokens[0].len() as f64;
        mean.frobenius += errors.frobenius() / n;
        mean.of_token += errors.of_token() / n;
        mean.kept += share(errors.outliers.iter().sum()) / errors.outliers.len() as f64 / n;
        mean.most = mean.most.max(share(errors.outliers.iter().copied().max().unwrap_or(0)));
    }
    Ok(mean)
}

/// The error of a scheme on a projection.
///
/// # Errors
/// Parameters that the golden model refuses.
pub fn evaluate(projection: &Projection, config: Config) -> Result<Errors> {
    let mut errors = Errors::default();
    let columns = values(&projection.columns);
    // The second half is judged first, by the calibration on the first half. The order of the tokens is kept.
    for (calibration, evaluation) in projection.folds().into_iter().rev() {
        let (exact, calibration) = (&projection.tokens[evaluation], &projection.tokens[calibration]);
        let approximation = approximate(projection, config, calibration, exact)?;
        errors.outliers.extend(approximation.outliers);
        for (a, exact) in approximation.tokens.iter().zip(values(exact)) {
            let (mut error, mut output) = (0.0, 0.0);
            for (w, column) in approximation.columns.iter().zip(&columns) {
                let y = dot(&exact, column);
                error += (dot(a, w) - y).powi(2);
                output += y * y;
            }
            errors.tokens.push((error, output));
        }
    }
    Ok(errors)
}

/// The tokens and columns that a scheme multiplies.
struct Approximation {
    tokens: Rows,
    columns: Rows,
    /// Outliers of each token.
    outliers: Vec<usize>,
}

fn approximate(
    projection: &Projection,
    config: Config,
    calibration: &[Vec<u64>],
    raw: &[Vec<u64>],
) -> Result<Approximation> {
    let Config { scheme, bits, share } = config;
    let (tokens, columns) = (values(raw), values(&projection.columns));
    let rtn_weights = || columns.iter().map(|c| baselines::symmetric(c, 4)).collect();
    let mut outliers = vec![0; raw.len()];
    let (tokens, columns) = match scheme {
        Scheme::Rtn | Scheme::RtnZeroPoint => {
            let levels = if scheme == Scheme::Rtn { baselines::symmetric } else { baselines::zero_point };
            let mut rounded = Rows::new();
            for ((raw, token), count) in raw.iter().zip(tokens).zip(&mut outliers) {
                let kept: Vec<usize> = online(raw.len(), share)?.outliers(raw)?.iter().map(|o| o.index).collect();
                *count = kept.len();
                rounded.push(baselines::beside_outliers(&token, &kept, |inliers| levels(inliers, bits)));
            }
            (rounded, rtn_weights())
        }
        Scheme::SmoothQuant => baselines::smooth(&values(calibration), &tokens, &columns, bits),
        Scheme::Rotated => {
            let turn = |rows: &Rows, bits| -> Rows {
                rows.iter().map(|row| baselines::symmetric(&baselines::hadamard(row), bits)).collect()
            };
            let weights = turn(&columns, 4);
            // The reference is the product without rotation, which is the same.
            (turn(&tokens, bits), weights)
        }
        Scheme::Grouped => baselines::grouped(&values(calibration), &tokens, &columns, bits),
        Scheme::RtnWeightsOnly => (tokens, rtn_weights()),
        Scheme::KMeansWeightsOnly(sensitivity) => {
            (tokens, weight_values(&quantized_weights(projection, calibration, sensitivity)?)?)
        }
        Scheme::KMeans(sensitivity, detection) => {
            let book = ActivationBook::train(projection, calibration, sensitivity, detection, bits, share)?;
            let mut rounded = Rows::new();
            for (token, count) in raw.iter().zip(&mut outliers) {
                let token = book.quantize(token)?;
                *count = token.outliers.len();
                rounded.push(reals(&token.dequantized()?));
            }
            (rounded, weight_values(&quantized_weights(projection, calibration, sensitivity)?)?)
        }
    };
    Ok(Approximation { tokens, columns, outliers })
}

/// The numbers that the indices of weights stand for.
fn weight_values(weights: &QuantizedWeights) -> Result<Rows> {
    (0..weights.columns.len()).map(|n| Ok(reals(&weights.dequantized(n)?))).collect()
}

/// The result of calibration for the activations of a projection.
#[derive(Clone, Debug)]
pub struct ActivationBook {
    /// The centroids.
    pub codebook: Codebook,
    /// How outliers are found.
    pub rule: OutlierRule,
    /// The scale of all tokens, if it is fixed.
    pub scale: Option<u64>,
    /// The most outliers of a token, if there is a bound besides the rule.
    pub bound: Option<usize>,
}

impl ActivationBook {
    /// Learns from the `calibration` tokens of a projection.
    ///
    /// # Errors
    /// Parameters that the golden model refuses.
    pub fn train(
        projection: &Projection,
        calibration: &[Vec<u64>],
        sensitivity: Sensitivity,
        detection: Detection,
        bits: u32,
        share: u32,
    ) -> Result<Self> {
        let width = calibration.first().context("no calibration tokens")?.len();
        let rule = match detection {
            Detection::Online => online(width, share)?,
            _ => OutlierRule::calibrate(calibration, share)?,
        };
        let scale = (detection == Detection::OfflineScale).then(|| match rule {
            OutlierRule::Thresholds { low, high } => (low & 0x7fff).max(high & 0x7fff),
            _ => calibration.iter().flatten().map(|x| x & 0x7fff).max().unwrap_or(0),
        });
        let energy = projection.channel_energy();
        let channel = |s: &Sample| energy[s.index];
        let channel_and_scale = |s: &Sample| energy[s.index] * fp16::value(s.scale).powi(2);
        let weight: Option<&dyn Fn(&Sample) -> f64> = match sensitivity {
            Sensitivity::Uniform | Sensitivity::Weights => None,
            Sensitivity::Activations | Sensitivity::Both => Some(&channel),
            Sensitivity::ActivationsAndScale => Some(&channel_and_scale),
        };
        let codebook = train_codebook(bits, &samples(calibration, rule, scale)?, weight)?;
        let rule = match (detection, rule) {
            (Detection::OfflineShifted(percent), OutlierRule::Thresholds { low, high }) => {
                let [low, high] = [low, high].map(|t| fp16::from_f64(fp16::value(t) * f64::from(percent) / 100.0));
                OutlierRule::Thresholds { low, high }
            }
            _ => rule,
        };
        let bound = if detection == Detection::OfflineBounded { Some(2 * per_side(width, share)?) } else { None };
        Ok(Self { codebook, rule, scale, bound })
    }

    /// Quantizes a token.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn quantize(&self, token: &[u64]) -> Result<Quantized> {
        let mut outliers = self.rule.outliers(token)?;
        let mut mask = vec![false; token.len()];
        outliers.iter().for_each(|o| mask[o.index] = true);
        let scale = self.scale.unwrap_or_else(|| scale(token, &mask));
        outliers.truncate(self.bound.unwrap_or(outliers.len()));
        Ok(Quantized::with_scale(token, &self.codebook, scale, outliers)?)
    }
}

/// The projection's weights in 4 bits.
///
/// # Errors
/// Parameters that the golden model refuses.
pub fn quantized_weights(
    projection: &Projection,
    calibration: &[Vec<u64>],
    sensitivity: Sensitivity,
) -> Result<QuantizedWeights> {
    let width = calibration.first().context("no calibration tokens")?.len();
    let square = |k: usize| calibration.iter().map(|t| fp16::value(t[k]).powi(2)).sum::<f64>();
    let squares: Vec<f64> = (0..width).map(square).collect();
    let sample_weight = |s: &Sample| squares[s.index] * fp16::value(s.scale).powi(2);
    let weight: Option<&dyn Fn(&Sample) -> f64> =
        if matches!(sensitivity, Sensitivity::Weights | Sensitivity::Both) { Some(&sample_weight) } else { None };
    let codebook = train_codebook(4, &samples(&projection.columns, OutlierRule::None, None)?, weight)?;
    Ok(QuantizedWeights::new(&projection.columns, &codebook)?)
}

/// The rule that keeps a share of `width` values online.
fn online(width: usize, share: u32) -> Result<OutlierRule> {
    Ok(match per_side(width, share)? {
        0 => OutlierRule::None,
        per_side => OutlierRule::TopK { per_side },
    })
}

/// fp16 bits as numbers.
#[must_use]
pub fn values(rows: &[Vec<u64>]) -> Rows {
    rows.iter().map(|row| row.iter().map(|&x| fp16::value(x)).collect()).collect()
}

/// Integers in units of 2^-48 as numbers.
#[must_use]
pub fn reals(units: &[i128]) -> Vec<f64> {
    units.iter().map(|&x| x as f64 / 2f64.powi(48)).collect()
}

/// Inner product.
#[must_use]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
