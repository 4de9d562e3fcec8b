//! A decoder layer of the real model in float arithmetic: the reference for a layer on an accelerator.

use anyhow::Context;
use golden::tender::granularity::product as exact_product;
use half::f16;
use sim::stimulus::real_numbers;

use super::float_head::{angles, probabilities, rms_norm, turned};

/// Numbers of a head.
pub(super) const HEAD: usize = 64;

/// Weights of a layer, [in, out], and gains.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Gains of the norms before the attention and before the feed-forward network.
    pub gains: [Vec<f64>; 2],
    /// Queries of all heads.
    pub q: Vec<Vec<f64>>,
    /// Keys.
    pub k: Vec<Vec<f64>>,
    /// Values.
    pub v: Vec<Vec<f64>>,
    /// Output of the attention.
    pub o: Vec<Vec<f64>>,
    /// Gate of the feed-forward network.
    pub gate: Vec<Vec<f64>>,
    /// The factor of the gate.
    pub up: Vec<Vec<f64>>,
    /// Back to the residual stream.
    pub down: Vec<Vec<f64>>,
}

impl Layer {
    /// Rows of weights, one for each output, as the file of the model has them, rounded to fp16 as the stored slices are.
    #[must_use]
    pub fn transposed(values: &[f32], inputs: usize) -> Vec<Vec<f64>> {
        let rounded = |x: f32| f16::from_f32(x).to_f64();
        (0..inputs).map(|i| values.iter().skip(i).step_by(inputs).map(|&x| rounded(x)).collect()).collect()
    }
}

/// The layer in float arithmetic.
#[derive(Clone, Debug)]
pub struct Exact {
    /// Input.
    pub residual: Vec<Vec<f64>>,
    /// Input of the attention, after its norm.
    pub attended: Vec<Vec<f64>>,
    /// Queries that were turned, head by head.
    pub queries: Vec<Vec<Vec<f64>>>,
    /// Keys that were turned, head by head.
    pub keys: Vec<Vec<Vec<f64>>>,
    /// Values, head by head.
    pub values: Vec<Vec<Vec<f64>>>,
    /// Results of all heads, side by side.
    pub attention: Vec<Vec<f64>>,
    /// Results of the output projection.
    pub projected: Vec<Vec<f64>>,
    /// Input of the feed-forward network, after its norm.
    pub normed: Vec<Vec<f64>>,
    /// Input of the down projection.
    pub gated: Vec<Vec<f64>>,
    /// Its results.
    pub down: Vec<Vec<f64>>,
    /// Output.
    pub out: Vec<Vec<f64>>,
}

impl Exact {
    /// The layer for the first tokens of the text.
    ///
    /// # Errors
    /// A missing or damaged file.
    pub fn of(tokens: usize, layer: &Layer) -> anyhow::Result<Self> {
        Self::rounded(tokens, layer, None)
    }

    /// The same with rounded integers in all products, except the product of probabilities and values. Weights have 4
    /// bits and a scale for each output. Activations, queries, keys and values have `bits` bits and a scale for each
    /// token or each head of it. The largest magnitude becomes the largest integer.
    ///
    /// # Errors
    /// A missing or damaged file.
    pub fn rounded(tokens: usize, layer: &Layer, bits: Option<u32>) -> anyhow::Result<Self> {
        let mut residual = real_numbers("l14_attn_residual")?;
        residual.truncate(tokens);
        Ok(Self::behind(residual, layer, bits))
    }

    /// The layer for tokens that come with these numbers, the first one of a text first.
    #[must_use]
    pub fn of_rows(residual: &[Vec<f64>], layer: &Layer) -> Self {
        Self::behind(residual.to_vec(), layer, None)
    }

    /// The layer for several texts; all rows of one text come after the rows of the text before.
    ///
    /// # Errors
    /// No text.
    pub fn of_texts(texts: &[Vec<Vec<f64>>], layer: &Layer) -> anyhow::Result<Self> {
        let mut all = texts.iter().map(|text| Self::of_rows(text, layer));
        let first = all.next().context("scales and codebooks need a text")?;
        Ok(all.fold(first, Self::with))
    }

    fn with(mut self, behind: Self) -> Self {
        for (to, from) in
            [(&mut self.queries, behind.queries), (&mut self.keys, behind.keys), (&mut self.values, behind.values)]
        {
            to.iter_mut().zip(from).for_each(|(to, from)| to.extend(from));
        }
        for (to, from) in [
            (&mut self.residual, behind.residual),
            (&mut self.attended, behind.attended),
            (&mut self.attention, behind.attention),
            (&mut self.projected, behind.projected),
            (&mut self.normed, behind.normed),
            (&mut self.gated, behind.gated),
            (&mut self.down, behind.down),
            (&mut self.out, behind.out),
        ] {
            to.extend(from);
        }
        self
    }

    fn behind(residual: Vec<Vec<f64>>, layer: &Layer, bits: Option<u32>) -> Self {
        let round = |rows: &[Vec<f64>]| bits.map_or_else(|| rows.to_vec(), |bits| to_integers(rows, bits));
        let product = |x: &[Vec<f64>], w: &Vec<Vec<f64>>| match bits {
            None => exact_product(x, w),
            Some(_) => exact_product(&round(x), &transposed(&to_integers(&transposed(w), 4))),
        };
        let tokens = residual.len();
        let attended: Vec<Vec<f64>> = residual.iter().map(|row| rms_norm(row, &layer.gains[0])).collect();
        let angles = angles(tokens, HEAD);
        let heads = |rows: Vec<Vec<f64>>, turns: bool| -> Vec<Vec<Vec<f64>>> {
            let count = rows[0].len() / HEAD;
            let of = |head: usize| {
                let part = |row: &Vec<f64>| row[head * HEAD..(head + 1) * HEAD].to_vec();
                let turn = |(row, by): (&Vec<f64>, &Vec<f64>)| if turns { turned(&part(row), by) } else { part(row) };
                round(&rows.iter().zip(&angles).map(turn).collect::<Vec<_>>())
            };
            (0..count).map(of).collect()
        };
        let q = heads(product(&attended, &layer.q), true);
        let k = heads(product(&attended, &layer.k), true);
        let v = heads(product(&attended, &layer.v), false);
        let mut attention = vec![Vec::new(); tokens];
        for (number, queries) in q.iter().enumerate() {
            let group = number * k.len() / q.len();
            let p: Vec<Vec<f64>> = (0..tokens).map(|t| probabilities(&queries[t], &k[group][..=t], tokens)).collect();
            for (all, one) in attention.iter_mut().zip(exact_product(&p, &v[group])) {
                all.extend(one);
            }
        }
        let projected = product(&attention, &layer.o);
        let hidden = sum(&residual, &projected, 1.0);
        let normed: Vec<Vec<f64>> = hidden.iter().map(|row| rms_norm(row, &layer.gains[1])).collect();
        let (gate, up) = (product(&normed, &layer.gate), product(&normed, &layer.up));
        let silu = |x: f64| x / (1.0 + (-x).exp());
        let gated = gate.iter().zip(&up).map(|(g, u)| g.iter().zip(u).map(|(g, u)| silu(*g) * u).collect());
        let gated: Vec<Vec<f64>> = gated.collect();
        let down = product(&gated, &layer.down);
        let out = sum(&hidden, &down, 1.0);
        Self { residual, attended, queries: q, keys: k, values: v, attention, projected, normed, gated, down, out }
    }
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
pub(super) fn sum(a: &[Vec<f64>], b: &[Vec<f64>], factor: f64) -> Vec<Vec<f64>> {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + factor * b).collect()).collect()
}
