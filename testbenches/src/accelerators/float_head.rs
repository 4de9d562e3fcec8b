//! One attention head of the real model in float arithmetic: the reference for a head on an accelerator.

use anyhow::ensure;
use golden::tender::granularity::product;
use lower::exact::{probabilities, rms_norm, turned};
use lower::layer::{Norm, Turns};
use models::decoder::Rotary;
use sim::stimulus::{Tensor, data_folder, real_numbers};

/// Query head 6 with key head 2 of layer 14: the head whose weights are stored.
pub const HEAD: usize = 6;

/// The stored slices are of SmolLM2-135M; the head of its file says these two.
fn rotary_and_epsilon() -> (Rotary, f64) {
    (Rotary::plain(100_000.0), 1e-5)
}

/// The stored residual stream before layer 14, for the first tokens of the text.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored.
pub fn residual(tokens: usize) -> anyhow::Result<Vec<Vec<f64>>> {
    let mut residual = real_numbers("l14_attn_residual")?;
    let stored = residual.len();
    ensure!((1..=stored).contains(&tokens), "{tokens} tokens are asked for, must be 1 to {stored}");
    residual.truncate(tokens);
    Ok(residual)
}

/// The head in float arithmetic, on the stored parts of the model.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    pub(super) residual: Vec<Vec<f64>>,
    pub(super) norm: Norm,
    pub(super) epsilon: f64,
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
        let residual = residual(tokens)?;
        let (rotary, epsilon) = rotary_and_epsilon();
        let gains = Tensor::<f32>::read(&data_folder().join("l14_attn_norm.npy"))?;
        let norm = Norm { gains: gains.data.into_iter().map(f64::from).collect(), biases: Vec::new() };
        let [w_q, w_k, w_v] = [real_numbers("l14_w_q")?, real_numbers("l14_w_k")?, real_numbers("l14_w_v")?];
        let normed: Vec<Vec<f64>> = residual.iter().map(|row| rms_norm(row, &norm.gains, epsilon)).collect();
        let width = w_q[0].len();
        let turns = Turns { frequencies: rotary.frequencies(width), factor: rotary.factor() };
        let angles: Vec<Vec<f64>> = (0..tokens).map(|position| turns.angles(position)).collect();
        let turn = |rows: Vec<Vec<f64>>| rows.iter().zip(&angles).map(|(row, by)| turned(row, by)).collect();
        let queries: Vec<Vec<f64>> = turn(product(&normed, &w_q));
        let keys: Vec<Vec<f64>> = turn(product(&normed, &w_k));
        let scale = 1.0 / (width as f64).sqrt();
        let probabilities: Vec<Vec<f64>> =
            (0..tokens).map(|t| probabilities(&queries[t], &keys[..=t], (scale, tokens))).collect();
        let attention = product(&probabilities, &product(&normed, &w_v));
        Ok(Self { residual, norm, epsilon, angles, w_q, w_k, w_v, normed, queries, keys, probabilities, attention })
    }
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
