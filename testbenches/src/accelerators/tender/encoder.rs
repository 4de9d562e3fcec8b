//! A layer of an encoder as one chain: biases, own keys for every head, GELU, and layer norm of sums. A query sees all
//! keys.

use golden::accelerators::tender::TenderTop;
use host::Window;
use host::tender::Caps;
use host::vector::Integer;
use lower::layer::Linear;

use super::super::encoder::{Exact, Layer};
use super::attention::{KeysValues, head};
use super::builder::{Activations, Builder, Floats, Measured, Seen};

/// A product of so many tokens, and biases.
fn project(
    b: &mut Builder,
    name: &'static str,
    (tokens, x): (usize, &Activations),
    linear: &Linear,
) -> anyhow::Result<Floats> {
    let weights = b.weights_with(&linear.weights(), &linear.biases)?;
    let out = b.floats(name, tokens, linear.outputs())?;
    b.multiply(x, &weights, 1.0, &out)?;
    Ok(out)
}

/// The layer for some tokens, channels in so many groups. The accelerator's activation must be GELU.
///
/// # Errors
/// An error of the host crate; no room.
pub fn encoder_layer(
    (caps, window): (&Caps, &Window),
    golden: TenderTop,
    (integer, groups): (Integer, usize),
    (layer, exact): (&Layer, &Exact),
) -> anyhow::Result<Measured> {
    let (tokens, count) = (&exact.input, exact.input.len());
    let mut b = Builder::new(caps, window, golden, integer)?.in_groups(groups);
    let ([q, k, v], [up, down]) = (&layer.qkv, &layer.feed);
    let rows = b.given(tokens)?;
    let x = b.pack("packed tokens", &rows)?;
    let (queries, keys) = (project(&mut b, "queries", (count, &x), q)?, project(&mut b, "keys", (count, &x), k)?);
    let w_v = b.weights_with(&v.weights(), &v.biases)?;
    let values = b.multiply_transposed("values", &w_v, &x)?;
    let attention = b.floats("attention", count, keys.columns)?;
    let width = keys.columns / layer.heads;
    for first in (0..keys.columns).step_by(width) {
        let values = b.lines(&values, first, width)?;
        let of = KeysValues::new(&mut b, &keys.slice(first, width)?, values)?;
        head(&mut b, &queries.slice(first, width)?, &of, Seen::All, &attention.slice(first, width)?)?;
    }
    let x = b.pack("packed attention", &attention)?;
    let projected = project(&mut b, "projected", (count, &x), &layer.o)?;
    let norm = |of: usize| (&layer.norms[of], layer.epsilon);
    let hidden = b.add_and_norm("behind the attention", [&projected, &rows], norm(0))?;
    let x = b.pack("packed tokens again", &hidden)?;
    let up = project(&mut b, "up", (count, &x), up)?;
    let active = b.activate("active", &up)?;
    let x = b.pack("packed active", &active)?;
    let down = project(&mut b, "down", (count, &x), down)?;
    let out = b.add_and_norm("behind the layer", [&down, &hidden], norm(1))?;

    let errors = exact.errors(&[&queries, &keys, &attention, &hidden, &active, &out].map(|rows| b.values(rows)));
    Ok(Measured { job: b.finish()?, errors })
}
