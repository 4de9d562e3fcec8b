//! RMSNorm and LayerNorm by counts (section III-C2). The sums run over the 2^bits bins of one count, not over the
//! elements, and the result keeps the indices.
//!
//! The counts are of the token's own indices. Sums are in fp32, because squares of a residual stream's outliers do not
//! fit fp16. Gains (and LayerNorm's offset) are folded into the weights of the next layer, offline. Rounded steps:
//!
//! RMSNorm: inliers = sum over the bins of count * value^2; outliers = sum of outlier^2, in the order of the list
//! (fused, from +0, the squares exact); total = fma(scale^2, inliers, outliers); root = sqrt(total / N + epsilon). Each
//! operation is rounded to fp32. The new scale is fp16(scale / root), and an outlier becomes fp16(outlier / root).
//!
//! LayerNorm: the sum likewise with values instead of squares, mean = sum / N; centred value = fma(scale, value,
//! -mean); variance = sum over the bins of count * fp32(centred^2), then fused over the outliers; root as above. The
//! new codebook is fp16(centred / root) with scale 1, and outliers are computed in the same way. Centring the bins
//! first costs 2^bits subtractions. It avoids the cancellation of mean square minus squared mean.

use super::codebook::Codebook;
use super::error::KllmError;
use super::fp16::{self, FP16, FP32};
use super::index_matmul::exact;
use super::orizuru::Pop;
use super::quantize::Quantized;
use crate::common::float::FloatFormat;

/// How often each index occurs among the inliers.
pub fn counts(token: &Quantized) -> Vec<u64> {
    let mut counts = vec![0; token.codebook.values().len()];
    for (&index, outlier) in token.indices.iter().zip(token.outlier_mask()) {
        if !outlier {
            counts[usize::from(index)] += 1;
        }
    }
    counts
}

/// The exact sum of the token's elements (`power` 1, in units of 2^-48), or of their squares (`power` 2, in units of
/// 2^-96), by counts.
///
/// # Errors
/// Another power, a value that is not finite, or a sum that does not fit 128 bits.
pub fn exact_sum(token: &Quantized, power: u32) -> Result<i128, KllmError> {
    if !(1..=2).contains(&power) {
        let (value, allowed) = (power.to_string(), "1 or 2".into());
        return Err(KllmError::Parameter { name: "power", value, allowed });
    }
    let values = fp16::all_units(token.codebook.values(), "codebook")?;
    let scale = fp16::all_units(&[token.scale], "scale")?[0];
    let bins = counts(token).into_iter().zip(values);
    let inliers = bins.map(|(count, v)| (scale * v).checked_pow(power)?.checked_mul(i128::from(count)));
    let outliers = token.outliers.iter().map(|o| (fp16::units(o.value)? << 24).checked_pow(power));
    exact::sum(inliers.chain(outliers))
}

/// x / rms(x) with rms = sqrt(mean of squares + epsilon): the same indices and codebook, another scale.
///
/// `epsilon` is fp32 bits.
///
/// # Errors
/// The token is empty, a sum overflows fp32, or the root is zero (a token of zeros with epsilon 0).
pub fn rms_norm(token: &Quantized, epsilon: u64) -> Result<Quantized, KllmError> {
    let mut inliers = 0;
    for (count, &v) in counts(token).into_iter().zip(token.codebook.values()) {
        inliers = FP32.fma(from_count(count), square(v), inliers).bits;
    }
    let outliers = token.outliers.iter().fold(0, |sum, o| FP32.add(square(o.value), sum).bits);
    let total = FP32.fma(square(token.scale), inliers, outliers).bits;
    let root = root_of_mean(total, token.indices.len(), epsilon)?;
    let outliers = token.outliers.iter().map(|o| Pop { value: quotient(wide(o.value), root), ..*o }).collect();
    Ok(Quantized { scale: quotient(wide(token.scale), root), outliers, ..token.clone() })
}

/// (x - mean) / sqrt(variance + epsilon): the same indices, another codebook, scale 1.
///
/// An element is at most sqrt(N - 1) deviations from the mean. An entry of the codebook that no inlier uses may lie far
/// outside. If its quotient does not fit fp16, it becomes the largest finite number of its sign.
///
/// `epsilon` is fp32 bits.
///
/// # Errors
/// As [`rms_norm`].
pub fn layer_norm(token: &Quantized, epsilon: u64) -> Result<Quantized, KllmError> {
    let counts = counts(token);
    let mut inliers = 0;
    for (&count, &v) in counts.iter().zip(token.codebook.values()) {
        inliers = FP32.fma(from_count(count), wide(v), inliers).bits;
    }
    let outliers = token.outliers.iter().fold(0, |sum, o| FP32.add(wide(o.value), sum).bits);
    let total = FP32.fma(wide(token.scale), inliers, outliers).bits;
    let minus_mean = divide(total, from_count(token.indices.len() as u64)) ^ 1 << 31;

    let centred: Vec<u64> =
        token.codebook.values().iter().map(|&v| FP32.fma(wide(token.scale), wide(v), minus_mean).bits).collect();
    let centred_outliers: Vec<u64> = token.outliers.iter().map(|o| FP32.add(wide(o.value), minus_mean).bits).collect();
    let mut squares = 0;
    for (&count, &c) in counts.iter().zip(&centred) {
        squares = FP32.fma(from_count(count), FP32.mul(c, c).bits, squares).bits;
    }
    for &c in &centred_outliers {
        squares = FP32.fma(c, c, squares).bits;
    }
    let root = root_of_mean(squares, token.indices.len(), epsilon)?;
    let entries = counts.iter().zip(&centred).map(|(&count, &c)| match quotient(c, root) {
        entry if count == 0 && !fp16::is_finite(entry) => entry & 1 << 15 | fp16::LARGEST,
        entry => entry,
    });
    let codebook = Codebook::new(token.codebook.bits(), entries.collect())?;
    let outliers = token.outliers.iter().zip(&centred_outliers);
    let outliers = outliers.map(|(o, &c)| Pop { index: o.index, value: quotient(c, root) }).collect();
    Ok(Quantized { codebook, scale: fp16::ONE, indices: token.indices.clone(), outliers })
}

/// fp16 as fp32, exactly.
fn wide(bits: u64) -> u64 {
    FP16.convert(bits, FloatFormat::Fp32).bits
}

/// The square of an fp16 number, exact in fp32: 22 significant bits, 2^-48 at least.
fn square(bits: u64) -> u64 {
    FP32.mul(wide(bits), wide(bits)).bits
}

fn from_count(count: u64) -> u64 {
    FP32.from_int(i128::from(count)).bits
}

/// sqrt(total / n + epsilon) in fp32. It is refused if it is not a positive finite number.
fn root_of_mean(total: u64, n: usize, epsilon: u64) -> Result<u64, KllmError> {
    let mean = FP32.add(divide(total, from_count(n as u64)), epsilon).bits;
    // IEEE 754 wants the square root correctly rounded and Rust promises it: one rounding.
    let root = f32::from_bits(mean as u32).sqrt();
    if root > 0.0 && root.is_finite() {
        return Ok(u64::from(root.to_bits()));
    }
    let allowed = "positive and finite".into();
    Err(KllmError::Parameter { name: "root of the mean of squares", value: root.to_string(), allowed })
}

/// fp32 division. IEEE 754 wants it correctly rounded and Rust promises it: one rounding.
fn divide(a: u64, b: u64) -> u64 {
    u64::from((f32::from_bits(a as u32) / f32::from_bits(b as u32)).to_bits())
}

/// fp16(a / b) of fp32 numbers, with one rounding. The quotient of two 24-bit numbers is the middle of two fp16 numbers
/// (12 bits) or differs from it by a relative 2^-36 at least. Rounding to f64 on the way cannot bridge this.
fn quotient(a: u64, b: u64) -> u64 {
    fp16::from_f64(f64::from(f32::from_bits(a as u32)) / f64::from(f32::from_bits(b as u32)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::outliers::OutlierRule;
    use super::*;

    const EPSILON: f32 = 1e-5;

    fn fp16s(values: &[f64]) -> Vec<u64> {
        values.iter().map(|&v| fp16::from_f64(v)).collect()
    }

    fn epsilon() -> u64 {
        u64::from(EPSILON.to_bits())
    }

    fn quantized(values: &[f64], per_side: usize) -> Quantized {
        let book = Codebook::new(2, fp16s(&[-1.0, -0.25, 0.25, 1.0])).unwrap();
        Quantized::new(&fp16s(values), &book, OutlierRule::TopK { per_side }).unwrap()
    }

    fn elements(token: &Quantized) -> Vec<f64> {
        token.dequantized().unwrap().iter().map(|&x| x as f64 / 2f64.powi(48)).collect()
    }

    #[test]
    fn by_hand() {
        // Elements -4, 4, 1, -1 with scale 4: mean square 8.5, mean 0.
        let token = quantized(&[-4.0, 4.0, 1.0, -1.0], 0);
        assert_eq!(counts(&token), [1, 1, 1, 1]);
        assert_eq!(exact_sum(&token, 2).unwrap(), 34 << 96);
        assert_eq!(exact_sum(&token, 1).unwrap(), 0);
        let normed = rms_norm(&token, 0).unwrap();
        assert_eq!(normed.scale, fp16::from_f64(4.0 / 8.5f64.sqrt()));
        assert_eq!((&normed.indices, &normed.codebook), (&token.indices, &token.codebook));
        // Mean 3, deviations -2, 2: the smallest token that LayerNorm changes.
        let token = quantized(&[1.0, 4.0, 4.0, 1.0], 0);
        let expected = fp16s(&[-1.0, 1.0, 1.0, -1.0]);
        assert_eq!(layer_norm(&token, 0).unwrap().dequantized_fp16(), expected);
        // With an outlier: elements 10, 1, 4, 1 (the smallest is an outlier too).
        let token = quantized(&[10.0, 1.0, 4.0, 1.0], 1);
        assert_eq!(exact_sum(&token, 2).unwrap(), 118 << 96);
        assert_eq!(rms_norm(&token, 0).unwrap().outliers[0].value, fp16::from_f64(10.0 / 29.5f64.sqrt()));
        assert!(exact_sum(&token, 3).unwrap_err().to_string().contains("power is 3, allowed: 1 or 2"));
        assert!(rms_norm(&quantized(&[0.0], 0), 0).unwrap_err().to_string().contains("root of the mean"));
    }

    #[test]
    fn an_unused_entry_far_outside_becomes_the_largest_number() {
        // All elements are the first entry, so the root depends on epsilon alone: 3000 / 0.003 is beyond fp16.
        let token = quantized(&[-3000.0, -3000.0, -3000.0], 0);
        let normed = layer_norm(&token, epsilon()).unwrap();
        assert_eq!(normed.codebook.values(), &[0, 0x7bff, 0x7bff, 0x7bff]);
        let mirrored = layer_norm(&quantized(&[3000.0, 3000.0], 0), epsilon()).unwrap();
        assert_eq!(mirrored.codebook.values(), &[0xfbff, 0xfbff, 0xfbff, 0]);
    }

    proptest! {
        #![proptest_config(seeds::proptest(256))]

        #[test]
        fn norms_are_those_of_the_elements(
            values in prop::collection::vec(prop_oneof![-4.0f64..4.0, -4e3..4e3], 2..60),
            per_side in 0usize..3,
        ) {
            let token = quantized(&values, per_side);
            let exact = token.dequantized().unwrap();
            prop_assert_eq!(exact_sum(&token, 1).unwrap(), exact.iter().sum::<i128>());
            prop_assert_eq!(exact_sum(&token, 2).unwrap(), exact.iter().map(|x| x * x).sum::<i128>());

            let x = elements(&token);
            let n = x.len() as f64;
            // Every fp32 step errs by 2^-24 of the magnitudes it adds; the result is then rounded to fp16.
            let steps = (token.codebook.values().len() + token.outliers.len() + 8) as f64 * 2f64.powi(-24);
            let rms = (x.iter().map(|x| x * x).sum::<f64>() / n + f64::from(EPSILON)).sqrt();
            for (x, y) in x.iter().zip(elements(&rms_norm(&token, epsilon()).unwrap())) {
                let bound = (2f64.powi(-11) + steps) * (x / rms).abs() + 2f64.powi(-24);
                prop_assert!((y - x / rms).abs() <= bound, "{} for {}", y, x / rms);
            }

            let mean = x.iter().sum::<f64>() / n;
            let deviation = (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n + f64::from(EPSILON)).sqrt();
            let magnitude = x.iter().map(|x| x.abs()).fold(0.0, f64::max);
            let normed = layer_norm(&token, epsilon()).unwrap();
            prop_assert_eq!(&normed.indices, &token.indices);
            for (x, y) in x.iter().zip(elements(&normed)) {
                let expected = (x - mean) / deviation;
                let bound = (2f64.powi(-11) + steps) * expected.abs()
                    + 4.0 * steps * magnitude / deviation * (1.0 + expected.abs()) + 2f64.powi(-24);
                prop_assert!((y - expected).abs() <= bound, "{} for {}", y, expected);
            }
        }
    }
}
