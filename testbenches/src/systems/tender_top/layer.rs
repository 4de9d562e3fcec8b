//! A whole decoder layer of the real model from the residual stream to the residual stream, as one chain.

use golden::systems::tender_top::TenderTop;
use golden::tender::granularity::relative_error;
use host::Window;
use host::tender::Caps;
use host::vector::Integer;

use super::super::float_head::angles;
use super::super::float_layer::{Exact, HEAD, Layer, sum};
use super::attention::{KeysValues, head, turned_projection};
use super::builder::{Builder, Floats, Measured, Seen};
use super::feed_forward::add_projection;

/// The layer for the first tokens of the text, with channels in so many groups. Its input is the residual stream of
/// layer 14.
///
/// # Errors
/// A missing or damaged file; an error of the host crate.
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
    let tokens = residual.rows;
    let heads = layer.q[0].len() / HEAD;
    let shared = layer.k[0].len() / HEAD;
    let one_head = angles(tokens, HEAD);
    let all: Vec<Vec<f64>> = one_head.iter().map(|row| row.repeat(heads)).collect();
    let all = b.given(&all)?;
    let normed = b.norm("normalised", residual, &layer.gains[0])?;
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
            head(b, &q.slice(number * HEAD, HEAD)?, &of, Seen::Before, &out.slice(number * HEAD, HEAD)?)?;
        }
    }
    Ok(out)
}

/// The feed-forward network up to its last product: gate and up projection, and as many columns of both at a time as the
/// vector unit takes.
fn feed(b: &mut Builder, caps: &Caps, hidden: &Floats, layer: &Layer) -> anyhow::Result<Floats> {
    let (tokens, channels) = (hidden.rows, layer.gate[0].len());
    let normed = b.norm("normalised again", hidden, &layer.gains[1])?;
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
