//! A layer of an encoder as one chain: biases, own keys for every head, GELU, and layer norm of sums. A query sees all
//! keys.

use golden::accelerators::kllm::KllmTop;
use host::Window;
use host::kllm::{Bits, Caps};
use lower::chain::{ChainBuilder, Floats, Measured, Seen};
use lower::kllm::builder::{Builder, Quantized, train};
use lower::kllm::cache::{Cache, Codebooks};
use lower::kllm::{SHARE, outliers};
use lower::layer::Linear;

use super::super::encoder::{Exact, Layer, columns};

/// A product and its biases; the codebook of the weights is trained on all of them.
fn biased(b: &mut Builder<'_>, name: &'static str, x: &Quantized, of: &Linear) -> anyhow::Result<Floats> {
    let weights = b.projection(of, usize::MAX)?;
    b.multiply(name, x, &weights, 1.0)
}

/// The layer for some tokens, from empty caches on; codebooks are trained on the float layer's numbers for them. The accelerator's
/// activation must be GELU.
///
/// # Errors
/// An error of the host crate; no room.
pub fn encoder_layer(
    (caps, window): (&Caps, &Window),
    golden: KllmTop,
    bits: Bits,
    (layer, exact): (&Layer, &Exact),
) -> anyhow::Result<Measured> {
    let tokens = &exact.input;
    let mut b = Builder { caps, bits, share: SHARE, b: ChainBuilder::new(caps.vector, window, golden)? };
    let rows = b.b.given(tokens)?;
    let x = b.tokens("tokens", &rows, tokens)?;
    let queries = biased(&mut b, "queries", &x, &layer.qkv[0])?;
    let keys = biased(&mut b, "keys", &x, &layer.qkv[1])?;
    let values = biased(&mut b, "values", &x, &layer.qkv[2])?;
    let attention = b.b.floats("attention", tokens.len(), keys.columns)?;
    let width = keys.columns / layer.heads;
    let scale = 1.0 / (width as f64).sqrt();
    for first in (0..keys.columns).step_by(width) {
        let like = exact.qkv.each_ref().map(|rows| columns(rows, first, width));
        let of_queries = train(bits, &like[0], outliers(width, SHARE)?)?;
        // What the accelerator makes of values may be larger than the float ones: nothing must saturate.
        let values_like: Vec<Vec<f64>> = like[2].iter().map(|row| row.iter().map(|x| 1.5 * x).collect()).collect();
        let codebooks = Codebooks::new(&of_queries, [&like[1], &values_like], (scale, caps.centroid_bits))?;
        let mut cache = Cache::new(&mut b, codebooks, [&[], &[]], (width, tokens.len()))?;
        cache.append(&mut b, &keys.slice(first, width)?, &values.slice(first, width)?)?;
        let queries = queries.slice(first, width)?;
        let queries = b.quantize_with("tokens of queries", &queries, (bits, outliers(width, SHARE)?), of_queries)?;
        b.attend(&queries, &cache, Seen::All, &attention.slice(first, width)?)?;
    }
    let x = b.tokens("tokens of the attention", &attention, &exact.attention)?;
    let projected = biased(&mut b, "projected", &x, &layer.o)?;
    let norm = |of: usize| (&layer.norms[of], layer.epsilon);
    let hidden = b.b.add_and_norm("behind the attention", [&projected, &rows], norm(0))?;
    let x = b.tokens("tokens again", &hidden, &exact.hidden)?;
    let up = biased(&mut b, "up", &x, &layer.feed[0])?;
    let active = b.b.activate("active", &up)?;
    let x = b.tokens("tokens of the active", &active, &exact.active)?;
    let down = biased(&mut b, "down", &x, &layer.feed[1])?;
    let out = b.b.add_and_norm("behind the layer", [&down, &hidden], norm(1))?;

    let errors = exact.errors(&[&queries, &keys, &attention, &hidden, &active, &out].map(|rows| b.b.values(rows)));
    Ok(Measured { job: b.b.finish()?, errors })
}
