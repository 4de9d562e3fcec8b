//! A layer with the weights of an encoder as one chain: biases, keys of its own for every head, GELU, and layer norm of
//! sums. A token sees the tokens before it, as in a decoder: a head of this accelerator holds only tokens that have
//! come.

use golden::accelerators::kelle::KelleTop;
use host::Window;
use host::kelle::{Attention, AttentionJob, Caps, ClearJob, Policy, Quantizers, Rows};
use lower::chain::{ChainBuilder, Floats, Measured};
use lower::kelle::{Builder, Weights, quantizer};
use lower::layer::Linear;

use super::super::encoder::{Exact, Layer, columns};

/// Bits that products lose before they count as importance.
const SHIFT: u8 = 24;

/// The layer for some tokens, all of which heads keep. The accelerator's activation must be GELU.
///
/// # Errors
/// An error of the host crate; no room.
pub fn encoder_layer(
    (caps, window): (&Caps, &Window),
    golden: KelleTop,
    (layer, exact): (&Layer, &Exact),
) -> anyhow::Result<Measured> {
    let tokens = &exact.input;
    let mut b = Builder { caps, b: ChainBuilder::new(caps.vector, window, golden)? };
    let mut weights = |of: &Linear, like: &[Vec<f64>]| b.weights_with(&of.weights(), &of.biases, like);
    let [q, k, v] = layer.qkv.each_ref().map(|of| weights(of, tokens));
    let (q, k, v): (Weights, Weights, Weights) = (q?, k?, v?);
    let o = weights(&layer.o, &exact.attention)?;
    let (up, down) = (weights(&layer.feed[0], &exact.hidden)?, weights(&layer.feed[1], &exact.active)?);
    b.b.then(ClearJob { first: 0, heads: layer.heads as u32 }.build(caps, window)?)?;

    let rows = b.b.given(tokens)?;
    let queries = b.linear("queries", &rows, &q)?;
    let keys = b.linear("keys", &rows, &k)?;
    let values = b.linear("values", &rows, &v)?;
    let attention = b.b.floats("attention", tokens.len(), keys.columns)?;
    let width = keys.columns / layer.heads;
    for head in 0..layer.heads {
        let of = |rows: &Floats| rows.slice(head * width, width).map(|rows| rows.at);
        let (queries, keys, values, out) = (of(&queries)?, of(&keys)?, of(&values)?, of(&attention)?);
        let [of_queries, of_keys, of_values] =
            exact.qkv.each_ref().map(|rows| quantizer(&columns(rows, head * width, width)));
        let entering = Attention {
            head: head as u32,
            tokens: tokens.len() as u32,
            group: 1,
            elements: width as u32,
            policy: Policy::keep(u16::try_from(tokens.len())?, SHIFT),
            quantizers: Quantizers { queries: of_queries, keys: of_keys, values: of_values },
            scale: (1.0 / (width as f64).sqrt()) as f32,
            rows: Rows { queries, keys, values, out },
        };
        let descriptors = AttentionJob::new(entering).exact().build_prompt(caps, window)?;
        descriptors.into_iter().try_for_each(|descriptor| b.b.then(descriptor))?;
    }
    let projected = b.linear("projected", &attention, &o)?;
    let norm = |of: usize| (&layer.norms[of], layer.epsilon);
    let hidden = b.b.add_and_norm("behind the attention", [&projected, &rows], norm(0))?;
    let up = b.linear("up", &hidden, &up)?;
    let active = b.b.activate("active", &up)?;
    let down = b.linear("down", &active, &down)?;
    let out = b.b.add_and_norm("behind the layer", [&down, &hidden], norm(1))?;

    let errors = exact.errors(&[&queries, &keys, &attention, &hidden, &active, &out].map(|rows| b.b.values(rows)));
    Ok(Measured { job: b.b.finish()?, errors })
}
