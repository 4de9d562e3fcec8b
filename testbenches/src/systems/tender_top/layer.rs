//! A whole decoder layer of the real model from the residual stream to the residual stream, as one chain.

use golden::systems::tender_top::TenderTop;
use golden::tender::granularity::{product, relative_error};
use half::f16;
use host::Window;
use host::tender::Caps;
use host::vector::Integer;
use sim::stimulus::real_numbers;

use super::super::float_head::{angles, probabilities, rms_norm, turned};
use super::attention::{KeysValues, Measured, head, norm, turned_projection};
use super::builder::{Builder, Floats};
use super::feed_forward::add_projection;

/// Numbers of a head.
const HEAD: usize = 64;

/// Weights of a layer, [in, out], and gains.
#[derive(Clone, Debug)]
pub struct Layer {
    /// Gains of the norms ahead of the attention and of the feed-forward network.
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
    /// What it is multiplied with.
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

/// The layer for the first tokens of the text, channels in so many groups: its residual stream is that of layer 14.
///
/// # Errors
/// A missing or damaged file; what the host crate refuses.
pub fn real_layer(
    (caps, window): (&Caps, &Window),
    golden: TenderTop,
    (integer, groups): (Integer, usize),
    tokens: usize,
    layer: &Layer,
) -> anyhow::Result<Measured> {
    let exact = Exact::of(tokens, layer)?;
    let mut b = Builder::new(caps, window, golden, integer)?.in_groups(groups);
    let residual = b.given(&exact.residual)?;
    let attention = attend(&mut b, &residual, layer)?;
    let x = b.pack("packed attention", &attention)?;
    let width = residual.columns;
    let projected = b.floats("projected", tokens, width)?;
    let hidden = b.floats("behind the attention", tokens, width)?;
    add_projection(&mut b, &x, &layer.o, &residual, (&projected, &hidden))?;
    let gated = feed(&mut b, caps, &hidden, layer)?;
    let x = b.pack("packed gated", &gated)?;
    let down = b.floats("down", tokens, width)?;
    let out = b.floats("behind the layer", tokens, width)?;
    add_projection(&mut b, &x, &layer.down, &hidden, (&down, &out))?;

    let added = |rows: &[Vec<f64>]| sum(rows, &exact.residual, -1.0);
    let error = |exact: &[Vec<f64>], rows: &Floats| relative_error(exact, &b.values(rows));
    let errors = vec![
        ("attention", error(&exact.attention, &attention)),
        ("projected", error(&exact.projected, &projected)),
        ("gated", error(&exact.gated, &gated)),
        ("down", error(&exact.down, &down)),
        ("what the layer adds", relative_error(&added(&exact.out), &added(&b.values(&out)))),
        ("behind the layer", error(&exact.out, &out)),
    ];
    Ok(Measured { job: b.finish()?, errors })
}

/// Attention of all heads, side by side: of queries, keys and values one product each, then head by head.
fn attend(b: &mut Builder, residual: &Floats, layer: &Layer) -> anyhow::Result<Floats> {
    let (tokens, width) = (residual.rows, residual.columns);
    let heads = layer.q[0].len() / HEAD;
    let shared = layer.k[0].len() / HEAD;
    let one_head = angles(tokens, HEAD);
    let all: Vec<Vec<f64>> = one_head.iter().map(|row| row.repeat(heads)).collect();
    let all = b.given(&all)?;
    let normed = b.floats("normalised", tokens, width)?;
    norm(b, residual, &layer.gains[0], &normed)?;
    let x = b.pack("packed tokens", &normed)?;
    let q = turned_projection(b, "queries", &x, &all, &layer.q)?;
    let k = turned_projection(b, "keys", &x, &all.slice(0, shared * HEAD)?, &layer.k)?;
    let w_v = b.weights(&layer.v)?;
    let values = b.multiply_transposed("values", &w_v, &x)?;
    let out = b.floats("attention", tokens, heads * HEAD)?;
    for group in 0..shared {
        let values = b.lines(&values, group * HEAD, HEAD)?;
        let of = KeysValues::new(b, &k.slice(group * HEAD, HEAD)?, values)?;
        for number in group * heads / shared..(group + 1) * heads / shared {
            head(b, &q.slice(number * HEAD, HEAD)?, &of, &out.slice(number * HEAD, HEAD)?)?;
        }
    }
    Ok(out)
}

/// The feed-forward network up to its last product: gate and up projection, and as many columns of both at a time as the
/// vector unit takes.
fn feed(b: &mut Builder, caps: &Caps, hidden: &Floats, layer: &Layer) -> anyhow::Result<Floats> {
    let (tokens, channels) = (hidden.rows, layer.gate[0].len());
    let normed = b.floats("normalised again", tokens, hidden.columns)?;
    norm(b, hidden, &layer.gains[1], &normed)?;
    let x = b.pack("packed tokens again", &normed)?;
    let [gate, up] = [("gate", &layer.gate), ("up", &layer.up)];
    let mut project = |(name, weights): (&'static str, &Vec<Vec<f64>>)| -> anyhow::Result<Floats> {
        let weights = b.weights(weights)?;
        let out = b.floats(name, tokens, channels)?;
        b.multiply(&x, &weights, 1.0, &out)?;
        Ok(out)
    };
    let (gate, up) = (project(gate)?, project(up)?);
    let out = b.floats("gated", tokens, channels)?;
    let most = (caps.vector.lanes * caps.vector.max_beats) as usize / HEAD * HEAD;
    for first in (0..channels).step_by(most) {
        let columns = most.min(channels - first);
        let up = up.slice(first, columns)?;
        b.rows(&gate.slice(first, columns)?, &out.slice(first, columns)?, |job| job.activate().multiply_rows(up.at))?;
    }
    Ok(out)
}

/// The layer in float arithmetic.
#[derive(Clone, Debug)]
pub struct Exact {
    /// Input.
    pub residual: Vec<Vec<f64>>,
    /// Results of all heads, side by side.
    pub attention: Vec<Vec<f64>>,
    /// Of the output projection.
    pub projected: Vec<Vec<f64>>,
    /// Input of the feed-forward network, behind its norm.
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
        let mut residual = real_numbers("l14_attn_residual")?;
        residual.truncate(tokens);
        let tokens = residual.len();
        let normed: Vec<Vec<f64>> = residual.iter().map(|row| rms_norm(row, &layer.gains[0])).collect();
        let angles = angles(tokens, HEAD);
        let heads = |rows: Vec<Vec<f64>>, turns: bool| -> Vec<Vec<Vec<f64>>> {
            let count = rows[0].len() / HEAD;
            let of = |head: usize| {
                let part = |row: &Vec<f64>| row[head * HEAD..(head + 1) * HEAD].to_vec();
                let turn = |(row, by): (&Vec<f64>, &Vec<f64>)| if turns { turned(&part(row), by) } else { part(row) };
                rows.iter().zip(&angles).map(turn).collect()
            };
            (0..count).map(of).collect()
        };
        let q = heads(product(&normed, &layer.q), true);
        let k = heads(product(&normed, &layer.k), true);
        let v = heads(product(&normed, &layer.v), false);
        let mut attention = vec![Vec::new(); tokens];
        for (number, queries) in q.iter().enumerate() {
            let group = number * k.len() / q.len();
            let p: Vec<Vec<f64>> = (0..tokens).map(|t| probabilities(&queries[t], &k[group][..=t], tokens)).collect();
            for (all, one) in attention.iter_mut().zip(product(&p, &v[group])) {
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
        Ok(Self { residual, attention, projected, normed, gated, down, out })
    }
}

/// a + factor * b.
fn sum(a: &[Vec<f64>], b: &[Vec<f64>], factor: f64) -> Vec<Vec<f64>> {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + factor * b).collect()).collect()
}
