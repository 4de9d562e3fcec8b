//! A whole decoder layer of the real model from the residual stream to the residual stream, as one chain.

use anyhow::{Context, bail};
use golden::accelerators::tender::TenderTop;
use golden::tender::granularity::relative_error;
use host::Window;
use host::tender::Caps;
use host::vector::Integer;
use lower::exact::{Exact, sum};
use lower::layer::{Activation, Heads, Layer, Linear};

use super::super::float_head::residual;
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
    let exact = Exact::of(layer, &residual(tokens)?);
    let mut b = Builder::new(caps, window, golden, integer)?.in_groups(groups);
    let residual = b.given(&exact.residual)?;
    let attention = attend(&mut b, &residual, layer)?;
    let x = b.pack("packed attention", &attention)?;
    let width = residual.columns;
    let projected = b.floats("projected", tokens, width)?;
    let hidden = b.floats("behind the attention", tokens, width)?;
    add_projection(&mut b, &x, &layer.o.weights(), &residual, (&projected, &hidden))?;
    let gated = feed(&mut b, &hidden, layer)?;
    let x = b.pack("packed gated", &gated)?;
    let down = b.floats("down", tokens, width)?;
    let out = b.floats("behind the layer", tokens, width)?;
    add_projection(&mut b, &x, &layer.down.weights(), &hidden, (&down, &out))?;

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
    let Heads { queries, keys, width, .. } = layer.heads;
    let turns = layer.turns.as_ref().context("heads that do not turn")?;
    let all: Vec<Vec<f64>> = (0..tokens).map(|token| turns.angles(token).repeat(queries)).collect();
    let all = b.given(&all)?;
    let normed = b.norm("normalised", residual, (&layer.norms[0], layer.epsilon))?;
    let x = b.pack("packed tokens", &normed)?;
    let q = turned_projection(b, "queries", &x, &all, &layer.q.weights())?;
    let k = turned_projection(b, "keys", &x, &all.slice(0, keys * width)?, &layer.k.weights())?;
    let w_v = b.weights(&layer.v.weights())?;
    let values = b.multiply_transposed("values", &w_v, &x)?;
    let out = b.floats("attention", tokens, queries * width)?;
    for group in 0..keys {
        let values = b.lines(&values, group * width, width)?;
        let of = KeysValues::new(b, &k.slice(group * width, width)?, values)?;
        for number in group * queries / keys..(group + 1) * queries / keys {
            head(b, &q.slice(number * width, width)?, &of, Seen::Before, &out.slice(number * width, width)?)?;
        }
    }
    Ok(out)
}

/// The feed-forward network up to its last product: gate and up projection, and both together.
fn feed(b: &mut Builder, hidden: &Floats, layer: &Layer) -> anyhow::Result<Floats> {
    let Activation::GatedSilu(gate) = &layer.activation else { bail!("a feed-forward network without a gate") };
    let normed = b.norm("normalised again", hidden, (&layer.norms[1], layer.epsilon))?;
    let x = b.pack("packed tokens again", &normed)?;
    let mut project = |name: &'static str, of: &Linear| -> anyhow::Result<Floats> {
        let weights = b.weights(&of.weights())?;
        let out = b.floats(name, hidden.rows, of.outputs())?;
        b.multiply(&x, &weights, 1.0, &out)?;
        Ok(out)
    };
    let (gate, up) = (project("gate", gate)?, project("up", &layer.up)?);
    b.gate(&gate, &up)
}
