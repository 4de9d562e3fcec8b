//! Integer quantization of the schemes that KLLM is compared with: their ideas, without their tuning.

use crate::baselines::hadamard::walsh;
use crate::baselines::integers::{Form, Integers};

/// Rows of real numbers.
pub type Rows = Vec<Vec<f64>>;

/// Width of a group of [`grouped`]: the largest divisor of both widths of the model up to 128, the width in the paper.
pub const GROUP: usize = 96;

/// Width of a block of [`hadamard`].
pub const BLOCK: usize = 64;

/// Rounds to nearest with 2^bits - 1 levels around 0, the largest magnitude on the last level.
#[must_use]
pub fn symmetric(values: &[f64], bits: u32) -> Vec<f64> {
    Integers::symmetric(bits).round(values)
}

/// Rounds to nearest with 2^bits levels from the smallest to the largest value, one of them exactly 0.
#[must_use]
pub fn zero_point(values: &[f64], bits: u32) -> Vec<f64> {
    Integers { form: Form::ZeroPoint, ..Integers::symmetric(bits) }.round(values)
}

/// Quantizes the values that are not in `kept`. The others stay.
#[must_use]
pub fn beside_outliers(values: &[f64], kept: &[usize], quantize: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut inliers = values.to_vec();
    for &i in kept {
        inliers[i] = 0.0;
    }
    let mut result = quantize(&inliers);
    for &i in kept {
        result[i] = values[i];
    }
    result
}

/// The vector times an orthogonal matrix: Hadamard's in blocks of [`BLOCK`]. A rest that fills no block stays.
#[must_use]
pub fn hadamard(values: &[f64]) -> Vec<f64> {
    let mut result = values.to_vec();
    for block in result.chunks_exact_mut(BLOCK) {
        walsh(block);
        block.iter_mut().for_each(|x| *x /= (BLOCK as f64).sqrt());
    }
    result
}

/// SmoothQuant: channel k of the activations is divided by sqrt(max |a_k| / max |w_k|), and channel k of the weights
/// multiplied by it. The maximum of the activations is from calibration. Then symmetric integers by token and by output
/// channel.
#[must_use]
pub fn smooth(calibration: &Rows, tokens: &Rows, columns: &Rows, bits: u32) -> (Rows, Rows) {
    let largest = |rows: &Rows, k: usize| rows.iter().map(|row| row[k].abs()).fold(1e-5, f64::max);
    let factors: Vec<f64> =
        (0..tokens[0].len()).map(|k| (largest(calibration, k) / largest(columns, k)).sqrt()).collect();
    let scaled = |row: &Vec<f64>, up: bool| -> Vec<f64> {
        row.iter().zip(&factors).map(|(x, f)| if up { x * f } else { x / f }).collect()
    };
    let activations = tokens.iter().map(|t| symmetric(&scaled(t, false), bits)).collect();
    (activations, columns.iter().map(|c| symmetric(&scaled(c, true), 4)).collect())
}

/// Groups of [`GROUP`] channels with a scale each, for activations and weights. The 1/32 of the channels with the
/// largest mean square in calibration are moved to the end, and get 8 bits.
#[must_use]
pub fn grouped(calibration: &Rows, tokens: &Rows, columns: &Rows, bits: u32) -> (Rows, Rows) {
    let width = tokens[0].len();
    let energy = |k: usize| calibration.iter().map(|t| t[k] * t[k]).sum::<f64>();
    let mut order: Vec<usize> = (0..width).collect();
    order.sort_by(|&a, &b| energy(a).total_cmp(&energy(b)).then(a.cmp(&b)));
    let ordinary = width - width / 32;
    let quantize = |row: &Vec<f64>, bits: u32| -> Vec<f64> {
        let ordered: Vec<f64> = order.iter().map(|&k| row[k]).collect();
        let groups = ordered[..ordinary].chunks(GROUP).flat_map(|group| symmetric(group, bits));
        groups.chain(symmetric(&ordered[ordinary..], 8)).collect()
    };
    (tokens.iter().map(|t| quantize(t, bits)).collect(), columns.iter().map(|c| quantize(c, 4)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        assert_eq!(symmetric(&[3.0, -1.4, 0.5, -3.0, 1.5], 3), [3.0, -1.0, 0.0, -3.0, 2.0]);
        assert_eq!(symmetric(&[0.0], 4), [0.0]);
        assert_eq!(zero_point(&[-2.0, 5.0, 0.0, 0.4, 4.6], 3), [-2.0, 5.0, 0.0, 0.0, 5.0]);
        assert_eq!(beside_outliers(&[100.0, 3.0, 0.7], &[0], |v| symmetric(v, 3)), [100.0, 3.0, 1.0]);
    }

    #[test]
    fn a_rotation_keeps_inner_products() {
        let a: Vec<f64> = (0..128).map(|i| f64::from(i % 7) - 3.0).collect();
        let b: Vec<f64> = (0..128).map(|i| f64::from(i % 11) - 5.0).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        assert!((dot(&hadamard(&a), &hadamard(&b)) - dot(&a, &b)).abs() < 1e-9);
        // One large value is spread over its block.
        let mut spike = vec![0.0; 64];
        spike[5] = 8.0;
        assert!(hadamard(&spike).iter().all(|x| x.abs() == 1.0));
    }

    #[test]
    fn many_bits_change_little() {
        let rows = |seed: u32| -> Rows {
            (0..8).map(|t| (0..192).map(|k| f64::from((seed + t * 31 + k * 17) % 101) - 50.0).collect()).collect()
        };
        let (tokens, columns) = (rows(1), rows(2));
        let product = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        for scheme in [smooth, grouped] {
            // 16 bits for the activations; the weights have 4.
            let (a, w) = scheme(&tokens, &tokens, &columns, 16);
            let (mut error, mut size) = (0.0, 0.0);
            for (a, exact_a) in a.iter().zip(&tokens) {
                for (w, exact_w) in w.iter().zip(&columns) {
                    error += (product(a, w) - product(exact_a, exact_w)).powi(2);
                    size += product(exact_a, exact_w).powi(2);
                }
            }
            assert!((error / size).sqrt() < 0.15, "{}", (error / size).sqrt());
        }
    }
}
