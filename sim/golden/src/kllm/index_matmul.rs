//! MatMul on indices: count the concatenated indices, then make one weighted sum over the products (section III-B).
//!
//! There are two versions. [`exact`] works in rational arithmetic (integers times a power of two), in which counting
//! must give *exactly* the MatMul of the dequantized operands. [`fp16`](Arithmetic) rounds at the accelerator's places,
//! in this order, for output channel n:
//!
//! 1. products: fp16(value a * value w), offline ([`Codebook::product`]);
//! 2. dense sum, from +0 over all bins in the order of their indices: + fp16(count) * product;
//! 3. dense = fp16(fp16(scale a * scale w\[n\]) * dense sum);
//! 4. sparse, from +0 over the outliers in the order of their list: + outlier * fp16(scale w\[n\] * value w);
//! 5. y\[n\] = fp16(dense + sparse).
//!
//! An outlier position is absent from the count; it is not counted as some centroid.
//! [`Arithmetic::rounding_bound`] says how far this can be from the exact result.

mod bound;

use serde::{Deserialize, Serialize};

use super::codebook::{Codebook, concat};
use super::error::{KllmError, check_length};
use super::fp16::{self, FP16, FP32};
use super::quantize::{Quantized, QuantizedWeights};
use crate::common::float::FloatFormat;

/// How often each concatenated index occurs: 2^(a bits + w bits) counts; outliers of `a` are not counted.
///
/// # Errors
/// Lengths differ.
pub fn counts(a: &Quantized, w: &[u16], w_bits: u32) -> Result<Vec<u64>, KllmError> {
    check_length("output channel", w.len(), a.indices.len())?;
    let mut counts = vec![0; 1 << (a.codebook.bits() + w_bits)];
    for ((&a, &w), outlier) in a.indices.iter().zip(w).zip(a.outlier_mask()) {
        if !outlier {
            counts[usize::from(concat(a, w, w_bits))] += 1;
        }
    }
    Ok(counts)
}

/// Integer x K-Means: the sum of the integers over each index of the K-Means operand (section III-B2).
///
/// # Errors
/// Lengths differ.
pub fn integer_counts(integers: &[u32], indices: &[u16], bits: u32) -> Result<Vec<u64>, KllmError> {
    check_length("K-Means operand", indices.len(), integers.len())?;
    let mut counts = vec![0; 1 << bits];
    for (&integer, &index) in integers.iter().zip(indices) {
        counts[usize::from(index)] += u64::from(integer);
    }
    Ok(counts)
}

/// Rational arithmetic on integers times 2^-96. A sum that does not fit 128 bits is an error, and never a wrong result.
pub mod exact {
    use super::*;

    /// a * w for output channel `n`, by counts, in units of 2^-96.
    ///
    /// # Errors
    /// Lengths differ, operands are not finite, or a sum does not fit 128 bits.
    pub fn by_counts(a: &Quantized, w: &QuantizedWeights, n: usize) -> Result<i128, KllmError> {
        let counts = counts(a, &w.columns[n], w.codebook.bits())?;
        let a_values = fp16::all_units(a.codebook.values(), "codebook")?;
        let w_values = fp16::all_units(w.codebook.values(), "codebook")?;
        let [a_scale, w_scale] = [a.scale, w.scales[n]].map(|s| fp16::all_units(&[s], "scale"));
        let (a_scale, w_scale) = (a_scale?[0], w_scale?[0]);
        // Units of 2^-48: the codebook values have 2^-24 each.
        let products = a_values.iter().flat_map(|a| w_values.iter().map(move |w| a * w));
        let dense = sum(counts.iter().zip(products).map(|(&count, product)| i128::from(count).checked_mul(product)))?;
        let outliers = a.outliers.iter().map(|outlier| {
            let w = w_scale * w_values[usize::from(w.columns[n][outlier.index])];
            // 2^-24 of the outlier, 2^-48 of the weight, so 2^-24 is missing.
            fp16::units(outlier.value)?.checked_mul(w)?.checked_mul(1 << 24)
        });
        let sparse = sum(outliers)?;
        sum([dense.checked_mul(a_scale).and_then(|d| d.checked_mul(w_scale)), Some(sparse)].into_iter())
    }

    /// The same by multiplying the dequantized operands element by element, in units of 2^-96.
    ///
    /// # Errors
    /// As [`by_counts`].
    pub fn by_elements(a: &Quantized, w: &QuantizedWeights, n: usize) -> Result<i128, KllmError> {
        let (a, w) = (a.dequantized()?, w.dequantized(n)?);
        check_length("output channel", w.len(), a.len())?;
        sum(a.iter().zip(&w).map(|(a, w)| a.checked_mul(*w)))
    }

    /// Sum of terms, none of which may have overflowed.
    pub(in crate::kllm) fn sum(mut terms: impl Iterator<Item = Option<i128>>) -> Result<i128, KllmError> {
        let total = terms.try_fold(0i128, |sum, term| sum.checked_add(term?));
        total.ok_or(KllmError::TooLarge { what: "exact sum" })
    }
}

/// Format and rounding of the accumulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Accumulator {
    /// In fp16, product and sum rounded together: a fused multiply-add.
    Fp16Fused,
    /// In fp16, the product rounded before it is added.
    Fp16,
    /// In fp32, where products of fp16 numbers are exact; the end result is rounded to fp16.
    Fp32,
}

/// A running sum of products in the chosen arithmetic.
struct Sum {
    accumulator: Accumulator,
    bits: u64,
}

impl Sum {
    fn new(accumulator: Accumulator) -> Self {
        Self { accumulator, bits: 0 }
    }

    fn add(&mut self, a: u64, b: u64) {
        let wide = |x| FP16.convert(x, FloatFormat::Fp32).bits;
        self.bits = match self.accumulator {
            Accumulator::Fp16Fused => fp16::fma(a, b, self.bits),
            Accumulator::Fp16 => FP16.mul_then_add(a, b, self.bits).bits,
            Accumulator::Fp32 => FP32.fma(wide(a), wide(b), self.bits).bits,
        };
    }

    fn end(self) -> u64 {
        match self.accumulator {
            Accumulator::Fp16Fused | Accumulator::Fp16 => self.bits,
            Accumulator::Fp32 => FP32.convert(self.bits, FloatFormat::Fp16).bits,
        }
    }
}

/// Sum over all bins of fp16(count) * value, in the order of the bins. A count above 65519 is an infinity in fp16.
///
/// # Errors
/// The numbers of counts and of values differ.
pub fn weighted_sum(counts: &[u64], codebook: &Codebook, accumulator: Accumulator) -> Result<u64, KllmError> {
    check_length("counts", counts.len(), codebook.values().len())?;
    let mut sum = Sum::new(accumulator);
    for (&count, &value) in counts.iter().zip(codebook.values()) {
        sum.add(FP16.from_int(i128::from(count)).bits, value);
    }
    Ok(sum.end())
}

/// One output channel and its parts, fp16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// Weighted sum of the counts, before the scales.
    pub dense_sum: u64,
    /// The dense path's result.
    pub dense: u64,
    /// The outliers' result.
    pub sparse: u64,
    /// Both together.
    pub y: u64,
}

/// A token times a weight matrix. The module's introduction lists the roundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arithmetic {
    /// Products of the codebooks of token and weights.
    pub products: Codebook,
    /// Format and rounding of the dense and the sparse sum.
    pub accumulator: Accumulator,
}

impl Arithmetic {
    /// For tokens with codebook `a` and weights with codebook `w`.
    ///
    /// # Errors
    /// As [`Codebook::product`].
    pub fn new(a: &Codebook, w: &Codebook, accumulator: Accumulator) -> Result<Self, KllmError> {
        Ok(Self { products: a.product(w)?, accumulator })
    }

    /// Output channel `n`.
    ///
    /// # Errors
    /// Lengths differ, or codebooks have other widths than the codebooks of the products.
    pub fn output(&self, a: &Quantized, w: &QuantizedWeights, n: usize) -> Result<Output, KllmError> {
        let counts = counts(a, &w.columns[n], w.codebook.bits())?;
        let dense_sum = weighted_sum(&counts, &self.products, self.accumulator)?;
        let dense = fp16::mul(fp16::mul(a.scale, w.scales[n]), dense_sum);
        let mut sum = Sum::new(self.accumulator);
        for outlier in &a.outliers {
            sum.add(outlier.value, w.dequantized_fp16(n, outlier.index));
        }
        let sparse = sum.end();
        Ok(Output { dense_sum, dense, sparse, y: fp16::add(dense, sparse) })
    }

    /// All output channels.
    ///
    /// # Errors
    /// As [`Self::output`].
    pub fn matmul(&self, a: &Quantized, w: &QuantizedWeights) -> Result<Vec<u64>, KllmError> {
        (0..w.columns.len()).map(|n| Ok(self.output(a, w, n)?.y)).collect()
    }
}

/// A vector of unsigned integers with one scale: attention scores after the softmax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integers {
    /// fp16 bits.
    pub scale: u64,
    /// The quantized values.
    pub values: Vec<u32>,
}

impl Integers {
    /// Rounds `values` (fp16 bits, not negative) to the nearest of 0 to 2^bits - 1 steps, ties to even. The step is
    /// fp16(largest / (2^bits - 1)). This rounding can put a quotient above the range; it then stops at the end of the
    /// range.
    ///
    /// # Errors
    /// `bits` is outside of 1 to 16, or a value is negative or not finite.
    pub fn new(values: &[u64], bits: u32) -> Result<Self, KllmError> {
        if !(1..=16).contains(&bits) {
            let (value, allowed) = (bits.to_string(), "1 to 16".into());
            return Err(KllmError::Parameter { name: "integer bits", value, allowed });
        }
        let units = fp16::all_units(values, "integers")?;
        if let Some(negative) = values.iter().find(|&&v| fp16::value(v) < 0.0) {
            let (value, allowed) = (fp16::value(*negative).to_string(), "0 or more".into());
            return Err(KllmError::Parameter { name: "integer operand", value, allowed });
        }
        let last = (1 << bits) - 1;
        let largest = units.iter().copied().max().unwrap_or(0);
        // This rounds once. The quotient p / m has an 11-bit p and a 16-bit m, and the middle of two fp16 numbers has
        // 12 bits. So the two are equal or differ by a relative 2^-28 at least, which rounding to f64 cannot bridge.
        let scale = fp16::from_f64(largest as f64 / f64::from(1 << 24) / f64::from(last));
        let step = fp16::units(scale).unwrap_or(0);
        let round = |x: i128| match step {
            0 => 0,
            _ => {
                let (quotient, rest) = (x / step, x % step);
                let up = 2 * rest > step || (2 * rest == step && quotient % 2 == 1);
                (quotient + i128::from(up)).min(i128::from(last)) as u32
            }
        };
        Ok(Self { scale, values: units.into_iter().map(round).collect() })
    }

    /// Output channel `n` of these integers times K-Means-quantized columns, in fp16. The order of roundings is the
    /// same as for two K-Means operands, with the column's own codebook and no outliers.
    ///
    /// # Errors
    /// Lengths differ.
    pub fn output(&self, w: &QuantizedWeights, n: usize, accumulator: Accumulator) -> Result<u64, KllmError> {
        let counts = integer_counts(&self.values, &w.columns[n], w.codebook.bits())?;
        let sum = weighted_sum(&counts, &w.codebook, accumulator)?;
        Ok(fp16::mul(fp16::mul(self.scale, w.scales[n]), sum))
    }

    /// The same output exactly, by counts, in units of 2^-72.
    ///
    /// # Errors
    /// Lengths differ, operands are not finite, or a sum does not fit 128 bits.
    pub fn exact_by_counts(&self, w: &QuantizedWeights, n: usize) -> Result<i128, KllmError> {
        let counts = integer_counts(&self.values, &w.columns[n], w.codebook.bits())?;
        let values = fp16::all_units(w.codebook.values(), "codebook")?;
        let scales = fp16::all_units(&[self.scale, w.scales[n]], "scale")?;
        let terms = counts.iter().zip(values).map(|(&count, v)| i128::from(count).checked_mul(v));
        let sum = exact::sum(terms)?;
        exact::sum([sum.checked_mul(scales[0]).and_then(|s| s.checked_mul(scales[1]))].into_iter())
    }

    /// The same output exactly, element by element, in units of 2^-72.
    ///
    /// # Errors
    /// As [`Self::exact_by_counts`].
    pub fn exact_by_elements(&self, w: &QuantizedWeights, n: usize) -> Result<i128, KllmError> {
        let column = w.dequantized(n)?;
        check_length("K-Means operand", column.len(), self.values.len())?;
        let scale = fp16::all_units(&[self.scale], "scale")?[0];
        exact::sum(self.values.iter().zip(column).map(|(&v, w)| (i128::from(v) * scale).checked_mul(w)))
    }
}

#[cfg(test)]
mod tests;
