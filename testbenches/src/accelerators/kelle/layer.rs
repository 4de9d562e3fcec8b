//! A whole decoder layer of the real model from the residual stream to the residual stream, as one chain. A prompt
//! comes first, then token after token, while the heads keep to their budgets.

pub mod decoding;

use anyhow::ensure;
use golden::accelerators::kelle::KelleTop;
use golden::tender::granularity::relative_error;
use host::Window;
use host::kelle::{Caps, ClearJob, Policy};
use lower::chain::{ChainBuilder, Measured};
use lower::exact::{Exact, sum};
use lower::kelle::{Builder, Recomputed};
use lower::layer::Layer;
use lower::pass::Shares;

/// A layer's run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The residual stream before the layer, a row for each token.
    pub residual: &'a [Vec<f64>],
    /// Tokens of the prompt, which come first.
    pub prompt: usize,
    /// Tokens after the prompt that share a pass of the weights; they still enter heads one by one.
    pub pass: usize,
    /// Which tokens heads keep after the prompt.
    pub policy: Policy,
    /// Each query head has keys, values and victims of its own.
    pub expanded: bool,
    /// Most tokens that are kept as their normalised rows, of tokens that most heads hold.
    pub recompute: usize,
}

/// The layer for a prompt and tokens after it. Activations are calibrated on the float layer's numbers for all of them.
/// The errors compare with the float layer with a full cache. Attention and the layer's addition to the residual stream
/// have an error each, for the prompt and for the tokens after it.
///
/// # Errors
/// No prompt, or no tokens for a pass; an error of the host crate.
pub fn real_layer(
    (caps, window): (&Caps, &Window),
    golden: KelleTop,
    run: Run<'_>,
    layer: &Layer,
) -> anyhow::Result<(Measured, Recomputed)> {
    let Run { residual, prompt, pass, policy, expanded, recompute } = run;
    let tokens = residual.len();
    ensure!((1..=tokens).contains(&prompt), "a prompt of {prompt} tokens, must be 1 to {tokens}");
    ensure!(pass > 0, "passes of no token");
    let all = Exact::of(layer, residual);
    let mut builder = Builder { caps, b: ChainBuilder::new(caps.vector, window, golden)? };
    let matrices = builder.matrices(layer, &all, expanded)?;
    let heads = matrices.heads() as u32;
    builder.b.then(ClearJob { first: 0, heads }.build(caps, window)?)?;
    let mut popular = match recompute {
        0 => None,
        _ => Some(builder.popular(recompute, pass, residual[0].len())?),
    };
    let behind = (prompt..tokens).step_by(pass).map(|first| (first, pass.min(tokens - first)));
    let (mut attention, mut out) = (Vec::new(), Vec::new());
    for (first, count) in [(0, prompt)].into_iter().chain(behind) {
        let rows = builder.b.given(&residual[first..first + count])?;
        let kept = (policy, popular.as_mut());
        let shares = Shares::one(first, count);
        let (attended, behind) = builder.tokens((&rows, &shares), &matrices, kept)?;
        attention.extend(builder.b.values(&attended));
        out.extend(builder.b.values(&behind));
    }
    let added = |rows: &[Vec<f64>]| sum(rows, residual, -1.0);
    let (exact, ours) = (added(&all.out), added(&out));
    let error = |of: &[Vec<f64>], to: &[Vec<f64>], range: std::ops::Range<usize>| {
        relative_error(&of[range.clone()], &to[range])
    };
    let mut errors = vec![
        ("attention of the prompt", error(&all.attention, &attention, 0..prompt)),
        ("what the layer adds to the prompt", error(&exact, &ours, 0..prompt)),
    ];
    if prompt < tokens {
        errors.push(("attention of the steps", error(&all.attention, &attention, prompt..tokens)));
        errors.push(("what the layer adds to the steps", error(&exact, &ours, prompt..tokens)));
    }
    let recomputed = popular.map_or_else(Recomputed::default, |popular| popular.recomputed);
    Ok((Measured { job: builder.b.finish()?, errors }, recomputed))
}
