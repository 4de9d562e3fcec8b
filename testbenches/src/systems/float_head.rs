//! One attention head of the real model in float arithmetic: the reference for a head on an accelerator.

use anyhow::ensure;
use golden::tender::granularity::product;
use sim::stimulus::{Tensor, data_folder, real_numbers};

/// Query head 6 with key head 2 of layer 14: the head whose weights are stored.
pub const HEAD: usize = 6;
/// The epsilon that a norm adds to the mean square.
pub(super) const EPSILON: f64 = 1e-5;
/// Base of the angles.
const BASE: f64 = 100_000.0;

/// Cosine and sine of each pair of neighbours at each position: the angles that the step rotate takes.
#[must_use]
pub fn angles(positions: usize, width: usize) -> Vec<Vec<f64>> {
    let pair = |position: usize, i: usize| {
        let angle = position as f64 * BASE.powf(-((2 * i) as f64) / width as f64);
        [angle.cos(), angle.sin()]
    };
    (0..positions).map(|position| (0..width / 2).flat_map(|i| pair(position, i)).collect()).collect()
}

/// The head in float arithmetic, on the stored parts of the model.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    pub(super) residual: Vec<Vec<f64>>,
    pub(super) gains: Vec<f64>,
    pub(super) angles: Vec<Vec<f64>>,
    pub(super) w_q: Vec<Vec<f64>>,
    pub(super) w_k: Vec<Vec<f64>>,
    pub(super) w_v: Vec<Vec<f64>>,
    pub(super) normed: Vec<Vec<f64>>,
    pub(super) queries: Vec<Vec<f64>>,
    pub(super) keys: Vec<Vec<f64>>,
    pub(super) probabilities: Vec<Vec<f64>>,
    pub(super) attention: Vec<Vec<f64>>,
}

impl Exact {
    pub(super) fn of(tokens: usize) -> anyhow::Result<Self> {
        let mut residual = real_numbers("l14_attn_residual")?;
        let stored = residual.len();
        ensure!((1..=stored).contains(&tokens), "{tokens} tokens are asked for, must be 1 to {stored}");
        residual.truncate(tokens);
        let gains = Tensor::<f32>::read(&data_folder().join("l14_attn_norm.npy"))?;
        let gains: Vec<f64> = gains.data.into_iter().map(f64::from).collect();
        let [w_q, w_k, w_v] = [real_numbers("l14_w_q")?, real_numbers("l14_w_k")?, real_numbers("l14_w_v")?];
        let normed: Vec<Vec<f64>> = residual.iter().map(|row| rms_norm(row, &gains)).collect();
        let angles = angles(tokens, w_q[0].len());
        let turn = |rows: Vec<Vec<f64>>| rows.iter().zip(&angles).map(|(row, by)| turned(row, by)).collect();
        let queries: Vec<Vec<f64>> = turn(product(&normed, &w_q));
        let keys: Vec<Vec<f64>> = turn(product(&normed, &w_k));
        let probabilities: Vec<Vec<f64>> =
            (0..tokens).map(|t| probabilities(&queries[t], &keys[..=t], tokens)).collect();
        let attention = product(&probabilities, &product(&normed, &w_v));
        Ok(Self { residual, gains, angles, w_q, w_k, w_v, normed, queries, keys, probabilities, attention })
    }
}

pub(super) fn rms_norm(row: &[f64], gains: &[f64]) -> Vec<f64> {
    let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
    let factor = 1.0 / (mean + EPSILON).sqrt();
    row.iter().zip(gains).map(|(x, gain)| x * factor * gain).collect()
}

pub(super) fn turned(row: &[f64], angles: &[f64]) -> Vec<f64> {
    let pair = |(x, by): (&[f64], &[f64])| [x[0] * by[0] - x[1] * by[1], x[1] * by[0] + x[0] * by[1]];
    row.chunks(2).zip(angles.chunks(2)).flat_map(pair).collect()
}

/// Softmax of a query's scores with the keys that it sees, then zeros.
pub(super) fn probabilities(query: &[f64], keys: &[Vec<f64>], tokens: usize) -> Vec<f64> {
    let score = |key: &Vec<f64>| query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>() / (query.len() as f64).sqrt();
    let scores: Vec<f64> = keys.iter().map(score).collect();
    let most = scores.iter().copied().fold(f64::MIN, f64::max);
    let powers: Vec<f64> = scores.iter().map(|x| (x - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|x| x / sum).chain(std::iter::repeat(0.0)).take(tokens).collect()
}

#[cfg(test)]
mod tests {
    use golden::tender::granularity::relative_error;

    use super::*;

    /// The judge itself: stored results of the model, rounded to fp16, are within that rounding.
    #[test]
    fn the_float_head_is_that_of_the_model() {
        let exact = Exact::of(64).unwrap();
        let own = |rows: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            rows.into_iter().map(|row| row[HEAD * 64..(HEAD + 1) * 64].to_vec()).collect()
        };
        let of_head = |name: &str, head: usize| real_numbers(name).unwrap()[head * 64..(head + 1) * 64].to_vec();
        for (name, stored, exact) in [
            ("normalised", real_numbers("l14_attn_in").unwrap(), &exact.normed),
            ("queries", of_head("l14_q", HEAD), &exact.queries),
            ("keys", of_head("l14_k", HEAD / 3), &exact.keys),
            ("attention", own(real_numbers("l14_attn_out").unwrap()), &exact.attention),
        ] {
            let error = relative_error(&stored, exact);
            println!("{name}: {error:.2e}");
            assert!(error < 1e-5, "{name}: {error:.2e}");
        }
    }
}
