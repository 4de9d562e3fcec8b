//! Projections of the real model: its tensors as matrices, and their products tile by tile on the array.

use golden::tender::array::Beat;
use golden::tender::calibration::{Calibration, Weights};
use golden::tender::schedule::{Step, steps};
use sim::stimulus::real_numbers;

use super::controller::{Controller, Tile};

/// A projection: activations [token, channel] and weights [channel, output].
#[derive(Clone, Debug)]
pub struct Projection {
    /// What it is.
    pub name: &'static str,
    /// Activations.
    pub x: Vec<Vec<f64>>,
    /// Weights.
    pub w: Vec<Vec<f64>>,
}

/// All projections whose activations and weights are both stored: (name, activations, weights).
const PROJECTIONS: [(&str, &str, &str); 12] = [
    ("2 q", "l02_attn_in", "l02_w_q"),
    ("2 gate", "l02_ffn_in", "l02_w_gate"),
    ("2 down", "l02_down_in", "l02_w_down"),
    ("14 q", "l14_attn_in", "l14_w_q"),
    ("14 k", "l14_attn_in", "l14_w_k"),
    ("14 v", "l14_attn_in", "l14_w_v"),
    ("14 o", "l14_attn_out", "l14_w_o"),
    ("14 gate", "l14_ffn_in", "l14_w_gate"),
    ("14 down", "l14_down_in", "l14_w_down"),
    ("28 q", "l28_attn_in", "l28_w_q"),
    ("28 gate", "l28_ffn_in", "l28_w_gate"),
    ("28 down", "l28_down_in", "l28_w_down"),
];

/// The projections of the real model, 64 tokens and 64 outputs each; the name is layer and matrix.
///
/// # Errors
/// A missing or damaged file.
pub fn projections() -> sim::Result<Vec<Projection>> {
    let load = |&(name, x, w)| Ok(Projection { name, x: real_numbers(x)?, w: real_numbers(w)? });
    PROJECTIONS.iter().map(load).collect()
}

/// One of [`projections`].
///
/// # Errors
/// A missing or damaged file, or no projection of this name.
pub fn projection(name: &str) -> sim::Result<Projection> {
    let found = PROJECTIONS.iter().find(|p| p.0 == name);
    let (name, x, w) = found.ok_or_else(|| sim::Error::Unsupported(format!("no projection is called {name}")))?;
    Ok(Projection { name, x: real_numbers(x)?, w: real_numbers(w)? })
}

/// The product of quantized activations and weights on the array: tiles of its size from left to right and top to
/// bottom, the last ones padded with zeros, each with all channels in the order of their groups. Returns the sums that
/// the hardware showed.
///
/// # Errors
/// A mismatch with the golden model.
pub fn product_on_array(
    controller: &mut Controller<'_>,
    rows: &[Vec<i64>],
    weights: &Weights,
    calibration: &Calibration,
    int8: bool,
) -> sim::Result<Vec<Vec<i128>>> {
    let (height, width) = controller.extent(int8);
    let columns = weights.scales.len();
    let plan = steps(calibration, controller.array().max_shift);
    let mut places = Vec::new();
    for top in (0..rows.len()).step_by(height) {
        for left in (0..columns).step_by(width) {
            let beat = |step: &Step| match *step {
                Step::Rescale(shift) => Beat::Rescale(shift),
                Step::Channel(k) => Beat::Multiply {
                    act: (top..top + height).map(|r| rows.get(r).map_or(0, |row| row[k])).collect(),
                    weight: (left..left + width).map(|c| weights.values[k].get(c).copied().unwrap_or(0)).collect(),
                },
            };
            let beats = plan.iter().map(beat).collect();
            let fed = controller.tile(&Tile { beats, int8, act_signed: true, weight_signed: true }, || false)?;
            places.push((top, left, fed.number));
        }
    }
    controller.finish()?;
    let mut sums = vec![vec![0; columns]; rows.len()];
    for (top, left, tile) in places {
        for (r, row) in sums.iter_mut().enumerate().skip(top).take(height) {
            for (c, sum) in row.iter_mut().enumerate().skip(left).take(width) {
                *sum = controller.sums(tile)[r - top][c - left];
            }
        }
    }
    Ok(sums)
}
