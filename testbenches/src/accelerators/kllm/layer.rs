//! A whole decoder layer of the real model from the residual stream to the residual stream, as one chain. The chain
//! itself puts keys and values into the caches of all heads.

pub mod decoding;

use golden::accelerators::kllm::KllmTop;
use golden::tender::granularity::relative_error;
use host::Window;
use host::kllm::{Bits, Caps};
use lower::chain::{ChainBuilder, Floats, Measured};
use lower::exact::{Exact, part, sum};
use lower::kllm::builder::Builder;
use lower::kllm::{Begin, Kept, Passed, SHARE};
use lower::layer::Layer;
use lower::needs::Room;
use lower::pass::Shares;

use super::super::float_head::residual;

/// The layer for `new` tokens after `cached` ones. A host has put keys and values of the cached tokens into the caches.
/// Codebooks are trained on the float layer's numbers for all 64 tokens of the text.
///
/// # Errors
/// A missing or damaged file; more tokens than are stored; an error of the host crate.
pub fn real_layer(
    (caps, window): (&Caps, &Window),
    golden: KllmTop,
    bits: Bits,
    [cached, new]: [usize; 2],
    layer: &Layer,
) -> anyhow::Result<Measured> {
    let tokens = cached + new;
    let (before, all) = (residual(tokens)?, Exact::of(layer, &residual(64)?));
    let exact = Exact::of(layer, &before);
    let mut b = Builder { caps, bits, share: SHARE, b: ChainBuilder::new(caps.vector, window, golden)? };
    let rows = b.b.given(&exact.residual[cached..])?;
    let begin = Begin { layer, like: &all, training: usize::MAX, room: Room::for_one(tokens) };
    let of_head = |rows: &[Vec<f64>], head: usize| part(&rows[..cached], head, layer.heads.width);
    let known: Vec<[Vec<Vec<f64>>; 2]> =
        (0..layer.heads.keys).map(|head| [of_head(&exact.keys, head), of_head(&exact.values, head)]).collect();
    let mut kept = Kept::new(&mut b, &begin, |head| known[head].each_ref().map(Vec::as_slice))?;
    let Passed { attention, gated, out } = kept.pass(&mut b, (&rows, &Shares::one(cached, new)))?;

    let added = |rows: &[Vec<f64>]| sum(rows, &exact.residual[cached..], -1.0);
    let rounded = Exact::rounded(layer, &before, Some(if bits == Bits::Three { 3 } else { 4 }));
    let error = |exact: &[Vec<f64>], rows: &Floats| relative_error(&exact[cached..], &b.b.values(rows));
    let exactly = added(&exact.out[cached..]);
    let errors = vec![
        ("attention", error(&exact.attention, &attention)),
        ("gated", error(&exact.gated, &gated)),
        ("what the layer adds", relative_error(&exactly, &added(&b.b.values(&out)))),
        ("behind the layer", error(&exact.out, &out)),
        ("what integers to the nearest add", relative_error(&exactly, &added(&rounded.out[cached..]))),
    ];
    Ok(Measured { job: b.b.finish()?, errors })
}
