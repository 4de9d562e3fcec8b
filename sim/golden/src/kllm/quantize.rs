//! Tensors as indices, scales and outliers: activations by the token, weights by the output channel.
//!
//! A scale is the largest magnitude among the inliers. This is one of the fp16 values itself, so no scale is ever
//! rounded, and normalised inliers lie in [-1, 1].

use super::codebook::{Codebook, cluster};
use super::error::{KllmError, check_length};
use super::fp16;
use super::kmeans::{Training, train};
use super::orizuru::Pop;
use super::outliers::OutlierRule;

/// A vector as indices of a codebook with one scale, and its outliers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quantized {
    /// The values of the indices, before the scale.
    pub codebook: Codebook,
    /// fp16 bits; 0 for a vector whose inliers are all 0.
    pub scale: u64,
    /// One index for each element. At the position of an outlier it is 0 and has no meaning.
    pub indices: Vec<u16>,
    /// Elements that stay in fp16, in the order in which the sparse path adds them.
    pub outliers: Vec<Pop>,
}

impl Quantized {
    /// Quantizes one token: the rule takes out the outliers, and the largest remaining magnitude is the scale.
    ///
    /// # Errors
    /// There are no values, a value is not finite, or the codebook does not ascend.
    pub fn new(values: &[u64], codebook: &Codebook, rule: OutlierRule) -> Result<Self, KllmError> {
        let outliers = rule.outliers(values)?;
        let scale = scale(values, &mask(values.len(), &outliers));
        Self::with_scale(values, codebook, scale, outliers)
    }

    /// Quantizes with given scale and outliers. Larger values than the scale go to an end of the codebook.
    ///
    /// # Errors
    /// As [`Self::new`]; or the scale is negative or infinite.
    pub fn with_scale(values: &[u64], codebook: &Codebook, scale: u64, outliers: Vec<Pop>) -> Result<Self, KllmError> {
        fp16::all_units(values, "values")?;
        let thresholds = codebook.thresholds(scale)?;
        let mut indices: Vec<u16> = values.iter().map(|&x| cluster(&thresholds, x)).collect();
        for outlier in &outliers {
            indices[outlier.index] = 0;
        }
        Ok(Self { codebook: codebook.clone(), scale, indices, outliers })
    }

    /// One per element: whether it is an outlier.
    pub fn outlier_mask(&self) -> Vec<bool> {
        mask(self.indices.len(), &self.outliers)
    }

    /// The elements that the indices and outliers stand for, exactly, in units of 2^-48.
    ///
    /// # Errors
    /// A scale or an outlier is not finite.
    pub fn dequantized(&self) -> Result<Vec<i128>, KllmError> {
        let scale = fp16::all_units(&[self.scale], "scale")?[0];
        let table = fp16::all_units(self.codebook.values(), "codebook")?;
        let mut elements: Vec<i128> = self.indices.iter().map(|&i| scale * table[usize::from(i)]).collect();
        let outliers: Vec<u64> = self.outliers.iter().map(|o| o.value).collect();
        for (outlier, units) in self.outliers.iter().zip(fp16::all_units(&outliers, "outliers")?) {
            elements[outlier.index] = units << 24;
        }
        Ok(elements)
    }

    /// The elements in fp16: scale times codebook value, rounded; outliers as they are.
    pub fn dequantized_fp16(&self) -> Vec<u64> {
        let mut elements: Vec<u64> =
            self.indices.iter().map(|&i| fp16::mul(self.scale, self.codebook.value(i))).collect();
        for outlier in &self.outliers {
            elements[outlier.index] = outlier.value;
        }
        elements
    }
}

/// A weight matrix: one codebook, one scale per output channel, no outliers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuantizedWeights {
    /// The values of the indices, before the scales.
    pub codebook: Codebook,
    /// One scale for each output channel, fp16 bits.
    pub scales: Vec<u64>,
    /// The indices of each output channel, all of the same length.
    pub columns: Vec<Vec<u16>>,
}

impl QuantizedWeights {
    /// Quantizes a matrix given by its output channels.
    ///
    /// # Errors
    /// Output channels have different lengths, a value is not finite, or the codebook does not ascend.
    pub fn new(columns: &[Vec<u64>], codebook: &Codebook) -> Result<Self, KllmError> {
        let mut weights = Self { codebook: codebook.clone(), scales: Vec::new(), columns: Vec::new() };
        for column in columns {
            check_length("output channel", column.len(), columns[0].len())?;
            let scale = scale(column, &[]);
            weights.columns.push(Quantized::with_scale(column, codebook, scale, Vec::new())?.indices);
            weights.scales.push(scale);
        }
        Ok(weights)
    }

    /// Output channel `n` exactly, in units of 2^-48.
    ///
    /// # Errors
    /// A scale is not finite.
    pub fn dequantized(&self, n: usize) -> Result<Vec<i128>, KllmError> {
        let scale = fp16::all_units(&[self.scales[n]], "scale")?[0];
        let table = fp16::all_units(self.codebook.values(), "codebook")?;
        Ok(self.columns[n].iter().map(|&i| scale * table[usize::from(i)]).collect())
    }

    /// Element `k` of output channel `n` in fp16: scale times codebook value, rounded.
    pub fn dequantized_fp16(&self, n: usize, k: usize) -> u64 {
        fp16::mul(self.scales[n], self.codebook.value(self.columns[n][k]))
    }
}

/// A sample to train a codebook on: one normalised inlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The number of the vector.
    pub vector: usize,
    /// Position in the vector.
    pub index: usize,
    /// Scale of the vector.
    pub scale: u64,
    /// Value divided by the scale.
    pub value: f64,
}

/// The normalised inliers of `vectors`; `fixed` replaces the scale of each vector. A vector with scale 0 has no samples.
///
/// # Errors
/// A vector is empty, or a value is not finite.
pub fn samples(vectors: &[Vec<u64>], rule: OutlierRule, fixed: Option<u64>) -> Result<Vec<Sample>, KllmError> {
    let mut samples = Vec::new();
    for (vector, values) in vectors.iter().enumerate() {
        let outlier = mask(values.len(), &rule.outliers(values)?);
        let scale = fixed.unwrap_or_else(|| scale(values, &outlier));
        if fp16::value(scale) == 0.0 {
            continue;
        }
        let inliers = values.iter().enumerate().filter(|&(index, _)| !outlier[index]);
        samples.extend(inliers.map(|(index, &x)| {
            let value = fp16::value(x) / fp16::value(scale);
            Sample { vector, index, scale, value }
        }));
    }
    Ok(samples)
}

/// Trains a codebook of `bits` bits on samples; `weight` gives their sample weights, all 1 when absent.
///
/// # Errors
/// As [`train`] and [`Codebook::from_centroids`].
pub fn train_codebook(
    bits: u32,
    samples: &[Sample],
    weight: Option<&dyn Fn(&Sample) -> f64>,
) -> Result<Codebook, KllmError> {
    let points: Vec<f64> = samples.iter().map(|s| s.value).collect();
    let weights: Option<Vec<f64>> = weight.map(|weight| samples.iter().map(weight).collect());
    let trained = train(&points, weights.as_deref(), Training::of_bits(bits))?;
    Codebook::from_centroids(bits, &trained.centroids)
}

/// The largest magnitude of the values that are no outliers, fp16 bits; +0 if there are none.
pub fn scale(values: &[u64], outlier: &[bool]) -> u64 {
    let inliers = values.iter().enumerate().filter(|&(i, _)| outlier.get(i) != Some(&true));
    // Without the sign, the bits of finite numbers are in the order of their magnitudes.
    inliers.map(|(_, &x)| x & 0x7fff).max().unwrap_or(0)
}

fn mask(length: usize, outliers: &[Pop]) -> Vec<bool> {
    let mut mask = vec![false; length];
    for outlier in outliers {
        mask[outlier.index] = true;
    }
    mask
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fp16s(values: &[f64]) -> Vec<u64> {
        values.iter().map(|&v| fp16::from_f64(v)).collect()
    }

    #[test]
    fn a_token_is_split_scaled_and_indexed() {
        let codebook = Codebook::new(2, fp16s(&[-1.0, -0.25, 0.25, 1.0])).unwrap();
        let token = fp16s(&[100.0, 0.5, -2.0, 0.0, -50.0, 1.5]);
        let q = Quantized::new(&token, &codebook, OutlierRule::TopK { per_side: 1 }).unwrap();
        assert_eq!(q.scale, fp16::from_f64(2.0));
        // 0 is in the middle of two values: the lower index counts.
        assert_eq!(q.indices, [0, 2, 0, 1, 0, 3]);
        assert_eq!(q.outlier_mask(), [true, false, false, false, true, false]);
        let expected = [100.0, 0.5, -2.0, -0.5, -50.0, 2.0];
        assert_eq!(q.dequantized_fp16(), fp16s(&expected));
        assert_eq!(q.dequantized().unwrap(), expected.map(|v| (v * 2f64.powi(48)) as i128));
    }

    #[test]
    fn weights_have_a_scale_per_output_channel() {
        let codebook = Codebook::new(1, fp16s(&[-1.0, 1.0])).unwrap();
        let columns = [fp16s(&[0.5, -0.25, 0.125]), fp16s(&[-4.0, 4.0, 1.0]), fp16s(&[0.0, 0.0, -0.0])];
        let w = QuantizedWeights::new(&columns, &codebook).unwrap();
        assert_eq!(w.scales, fp16s(&[0.5, 4.0, 0.0]));
        assert_eq!(w.columns[..2], [vec![1, 0, 1], vec![0, 1, 1]]);
        assert_eq!(w.dequantized(1).unwrap(), [-4, 4, 4].map(|v| v << 48));
        assert_eq!(w.dequantized(2).unwrap(), [0, 0, 0], "a channel of zeros stays exactly that");
        assert_eq!(w.dequantized_fp16(0, 1), fp16::from_f64(-0.5));
        let ragged = [fp16s(&[0.5, 1.0]), fp16s(&[0.5])];
        assert!(QuantizedWeights::new(&ragged, &codebook).unwrap_err().to_string().contains("expected 2"));
    }

    #[test]
    fn samples_are_normalised_inliers() {
        let tokens = [fp16s(&[4.0, -1.0, 2.0]), fp16s(&[0.0, 0.0, 0.0])];
        let found = samples(&tokens, OutlierRule::None, None).unwrap();
        assert_eq!(found.iter().map(|s| s.value).collect::<Vec<_>>(), [1.0, -0.25, 0.5]);
        assert!(found.iter().all(|s| s.vector == 0 && s.scale == fp16::from_f64(4.0)));
        let found = samples(&tokens, OutlierRule::TopK { per_side: 1 }, Some(fp16::from_f64(8.0))).unwrap();
        // In the token of zeros the largest and the smallest are the same element.
        assert_eq!(found.iter().map(|s| (s.vector, s.value)).collect::<Vec<_>>(), [(0, 0.25), (1, 0.0), (1, 0.0)]);
        let codebook = train_codebook(1, &found, Some(&|s| f64::from(s.vector as u32))).unwrap();
        assert_eq!(codebook.values(), [0, 0], "the only sample with a weight");
    }
}
