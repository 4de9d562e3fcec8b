//! Decoder layers in float arithmetic: what scales and codebooks are fitted to, and the reference for layers on an
//! accelerator.

use std::ops::Range;

use anyhow::ensure;
use golden::tender::granularity::product;
use models::decoder::arithmetic::activated;
use models::decoder::{Activation as Function, Matrix};

use crate::layer::{Activation, Layer, Linear, Norm, Turns};

/// A layer in float arithmetic, from the first token on. All heads of a row are side by side.
#[derive(Clone, Debug)]
pub struct Exact {
    /// Input.
    pub residual: Vec<Vec<f64>>,
    /// Input of the attention, after its norm.
    pub attended: Vec<Vec<f64>>,
    /// Queries, turned where they are.
    pub queries: Vec<Vec<f64>>,
    /// Keys, turned in the same way.
    pub keys: Vec<Vec<f64>>,
    /// Values.
    pub values: Vec<Vec<f64>>,
    /// Results of the attention.
    pub attention: Vec<Vec<f64>>,
    /// Results of the output projection.
    pub projected: Vec<Vec<f64>>,
    /// Input of the feed-forward network, after its norm.
    pub normed: Vec<Vec<f64>>,
    /// Input of the down projection.
    pub gated: Vec<Vec<f64>>,
    /// Results of the down projection.
    pub down: Vec<Vec<f64>>,
    /// Output.
    pub out: Vec<Vec<f64>>,
}

impl Exact {
    /// The layer for rows of the residual stream.
    #[must_use]
    pub fn of(layer: &Layer, residual: &[Vec<f64>]) -> Self {
        Self::rounded(layer, residual, None)
    }

    /// The same with rounded integers in all products, except the product of probabilities and values. Weights have 4
    /// bits and a scale for each output. Activations, queries, keys and values have `bits` bits and a scale for each
    /// token or each head of it. The largest magnitude becomes the largest integer.
    #[must_use]
    pub fn rounded(layer: &Layer, residual: &[Vec<f64>], bits: Option<u32>) -> Self {
        Self::side_by_side(layer, residual.to_vec(), std::slice::from_ref(&(0..residual.len())), bits)
    }

    /// The layer for several texts; all rows of one text come after the rows of the text before.
    ///
    /// # Errors
    /// No text.
    pub fn of_texts(layer: &Layer, texts: &[Vec<Vec<f64>>]) -> anyhow::Result<Self> {
        ensure!(!texts.is_empty(), "scales and codebooks need a text");
        let mut rows = 0;
        let mut place = |text: &Vec<Vec<f64>>| {
            rows += text.len();
            rows - text.len()..rows
        };
        let texts_at: Vec<_> = texts.iter().map(&mut place).collect();
        Ok(Self::side_by_side(layer, texts.concat(), &texts_at, None))
    }

    /// Texts are ranges of rows. All rows meet the weights of a projection at once: these may be decoded for it.
    fn side_by_side(layer: &Layer, residual: Vec<Vec<f64>>, texts: &[Range<usize>], bits: Option<u32>) -> Self {
        let round = |rows: Vec<Vec<f64>>| match bits {
            Some(bits) => to_integers(&rows, bits),
            None => rows,
        };
        let linear = |of: &Linear, x: &[Vec<f64>]| {
            let mut y = match bits {
                None => product(x, &of.weights()),
                Some(bits) => product(&to_integers(x, bits), &transposed(&to_integers(&transposed(&of.weights()), 4))),
            };
            for row in &mut y {
                row.iter_mut().zip(&of.biases).for_each(|(y, bias)| *y += bias);
            }
            y
        };
        let heads = layer.heads;
        let norm = |of: &Norm, rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
            rows.iter().map(|row| normed(row, of, layer.epsilon)).collect()
        };
        let attended = norm(&layer.norms[0], &residual);
        let turn = |rows: Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            let Some(turns) = &layer.turns else { return rows };
            let positions = texts.iter().flat_map(|text| 0..text.len());
            rows.iter().zip(positions).map(|(row, at)| all_turned(row, turns, at)).collect()
        };
        let by_head = |rows: Vec<Vec<f64>>, count: usize| -> Vec<Vec<Vec<f64>>> {
            (0..count).map(|head| round(part(&rows, head, heads.width))).collect()
        };
        let q = by_head(turn(linear(&layer.q, &attended)), heads.queries);
        let k = by_head(turn(linear(&layer.k, &attended)), heads.keys);
        let v = by_head(linear(&layer.v, &attended), heads.keys);
        let mut attention = vec![Vec::new(); residual.len()];
        for (number, queries) in q.iter().enumerate() {
            let group = number / heads.shared();
            for text in texts {
                let [queries, keys, values] = [queries, &k[group], &v[group]].map(|rows| &rows[text.clone()]);
                let row = |t: usize| probabilities(&queries[t], &keys[..=t], (heads.scale(), queries.len()));
                let p: Vec<Vec<f64>> = (0..queries.len()).map(row).collect();
                for (all, one) in attention[text.clone()].iter_mut().zip(product(&p, values)) {
                    all.extend(one);
                }
            }
        }
        let projected = linear(&layer.o, &attention);
        let hidden = sum(&residual, &projected, 1.0);
        let normed = norm(&layer.norms[1], &hidden);
        let up = linear(&layer.up, &normed);
        let gated = match &layer.activation {
            Activation::GatedSilu(gate) => {
                let silu = |x: f64| x / (1.0 + (-x).exp());
                let rows = linear(gate, &normed);
                rows.iter().zip(&up).map(|(g, u)| g.iter().zip(u).map(|(g, u)| silu(*g) * u).collect()).collect()
            }
            Activation::Relu => through(up, Function::Relu),
            Activation::Gelu => through(up, Function::Gelu),
            Activation::GeluTanh => through(up, Function::GeluTanh),
        };
        let down = linear(&layer.down, &gated);
        let out = sum(&hidden, &down, 1.0);
        let [queries, keys, values] = [q, k, v].map(|heads| joined(&heads, residual.len()));
        Self { residual, attended, queries, keys, values, attention, projected, normed, gated, down, out }
    }
}

/// The part of each row that a head of so many elements has.
#[must_use]
pub fn part(rows: &[Vec<f64>], head: usize, width: usize) -> Vec<Vec<f64>> {
    rows.iter().map(|row| row[head * width..(head + 1) * width].to_vec()).collect()
}

fn joined(heads: &[Vec<Vec<f64>>], tokens: usize) -> Vec<Vec<f64>> {
    (0..tokens).map(|token| heads.iter().flat_map(|rows| rows[token].iter().copied()).collect()).collect()
}

fn through(rows: Vec<Vec<f64>>, function: Function) -> Vec<Vec<f64>> {
    let columns = rows.first().map_or(0, Vec::len);
    let all = Matrix { columns, values: rows.concat() };
    activated(all, function).iter().map(<[f64]>::to_vec).collect()
}

/// Norm by the root mean square, with gains.
#[must_use]
pub fn rms_norm(row: &[f64], gains: &[f64], epsilon: f64) -> Vec<f64> {
    let mean = row.iter().map(|x| x * x).sum::<f64>() / row.len() as f64;
    let factor = 1.0 / (mean + epsilon).sqrt();
    row.iter().zip(gains).map(|(x, gain)| x * factor * gain).collect()
}

fn normed(row: &[f64], norm: &Norm, epsilon: f64) -> Vec<f64> {
    if norm.biases.is_empty() {
        return rms_norm(row, &norm.gains, epsilon);
    }
    let mean = row.iter().sum::<f64>() / row.len() as f64;
    let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / row.len() as f64;
    let factor = 1.0 / (variance + epsilon).sqrt();
    let affine = norm.gains.iter().zip(&norm.biases);
    row.iter().zip(affine).map(|(x, (gain, bias))| (x - mean) * factor * gain + bias).collect()
}

/// Pairs of neighbours, turned by cosines and sines.
#[must_use]
pub fn turned(row: &[f64], angles: &[f64]) -> Vec<f64> {
    let pair = |(x, by): (&[f64], &[f64])| [x[0] * by[0] - x[1] * by[1], x[1] * by[0] + x[0] * by[1]];
    row.chunks(2).zip(angles.chunks(2)).flat_map(pair).collect()
}

fn all_turned(row: &[f64], turns: &Turns, position: usize) -> Vec<f64> {
    let angles = turns.angles(position);
    row.chunks(angles.len()).flat_map(|head| turned(head, &angles)).collect()
}

/// Softmax of a query's scores, times a factor, with the keys that it sees; then zeros up to so many.
#[must_use]
pub fn probabilities(query: &[f64], keys: &[Vec<f64>], (scale, tokens): (f64, usize)) -> Vec<f64> {
    let score = |key: &Vec<f64>| query.iter().zip(key).map(|(q, k)| q * k).sum::<f64>() * scale;
    let scores: Vec<f64> = keys.iter().map(score).collect();
    let most = scores.iter().copied().fold(f64::MIN, f64::max);
    let powers: Vec<f64> = scores.iter().map(|x| (x - most).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.iter().map(|x| x / sum).chain(std::iter::repeat(0.0)).take(tokens).collect()
}

/// Rounds each row to multiples of a unit: its largest magnitude over the largest integer of so many bits.
fn to_integers(rows: &[Vec<f64>], bits: u32) -> Vec<Vec<f64>> {
    let most = f64::from((1u32 << (bits - 1)) - 1);
    let one = |row: &Vec<f64>| {
        let unit = row.iter().fold(0.0, |most: f64, x| most.max(x.abs())) / most;
        row.iter().map(|x| if unit > 0.0 { (x / unit).round_ties_even() * unit } else { 0.0 }).collect()
    };
    rows.iter().map(one).collect()
}

fn transposed(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..rows[0].len()).map(|n| rows.iter().map(|row| row[n]).collect()).collect()
}

/// a + factor * b.
#[must_use]
pub fn sum(a: &[Vec<f64>], b: &[Vec<f64>], factor: f64) -> Vec<Vec<f64>> {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + factor * b).collect()).collect()
}

#[cfg(test)]
mod tests;
