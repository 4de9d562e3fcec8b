//! A whole decoder on `tender_top`: memory images and chains of descriptors.
//!
//! The accelerator does norms, projections, rotary embedding, scores, softmax, values, activation, residual sums and
//! the last product. Integers have 8 bits, and channels come in groups (Tender, section III). Keys and values have a
//! scale for each channel.
//!
//! The host looks up the rows of the tokens, and chooses the next token. It also puts the bytes of the tokens' keys and
//! values, which the accelerator has quantized, into the panels of the tokens before. Groups and scales come from texts
//! that the float model has read ([`Groups`]). Numbers beyond their range are saturated and counted.
//!
//! Tokens of a pass are rows of the same products, be they of one text or of several. In the attention, a text's only
//! token has the heads that share keys as rows. Several tokens of a text are rows of a product for each head. A layer is
//! cut after its keys are computed. The rest of the layer, and the next layer up to its cut, are one job.
//!
//! Accelerators side by side ([`Team`](crate::whole::Team)) have a memory each. Each has an equal share of the columns of each projection,
//! and computes everything else in full. After a projection the host collects the shares, so the layer is cut there,
//! too. Gate and up are multiplied before that, so the host moves one row less.

mod executor;
mod image;
mod lowering;
mod place;
mod placed;
mod products;

use anyhow::Result;
use half::f16;
use host::Window;
use host::tender::Caps;
use models::tender::groups::Groups;

pub use executor::{InSoftware, Times, on_device};
pub use lowering::OnTender;
pub use products::OfTender;

use crate::needs::{Asked, Needs};
use crate::whole::{self, Executor, HEAD_UNIT, Sizes, Source};
use place::ByGroups;

/// A model on the accelerator, with the keys and values of texts.
pub type Decoder = whole::Decoder<OfTender>;

/// Parameters that must have other values for a model whose channels are in so many groups.
#[must_use]
pub fn needs(caps: &Caps, asked: &Asked<'_>, groups: usize) -> Needs {
    let (c, heads, mut needs) = (asked.config, asked.heads(HEAD_UNIT), Needs::default());
    let (channels, tokens) = (c.width.max(c.ffn_width).max(heads.queries * heads.width), asked.room.tokens);
    if !caps.int8 {
        needs.must_be("array.int8", false, true, "weights and activations of 8 bits");
    }
    // Probabilities of a text's tokens are channels of a product, in one group.
    for (parameter, has, channels, why) in [
        ("depth", caps.depth, channels, "channels of the longest product"),
        ("steps", caps.steps, channels + groups - 1, "channels and their groups"),
    ] {
        let why = if tokens > channels { "tokens of a text" } else { why };
        needs.at_least(parameter, has as usize, channels.max(tokens), why);
    }
    let row = c.width.max(heads.width).max(asked.room.tokens);
    needs.activation(&caps.vector, c.activation);
    needs.vector(&caps.vector, (c, row), true);
    needs
}

/// Quantizes a model, or a layer of it, and puts it into memory.
///
/// # Errors
/// The accelerator or the window has no room for the model, the groups are of another model, or its outputs have no
/// equal shares for the accelerators.
pub fn decoder(
    (source, groups): (Source<'_>, &Groups),
    (caps, overlaps, window): (&Caps, bool, &Window),
    sizes: Sizes,
    memory: &mut dyn Executor,
) -> Result<Decoder> {
    let asked = Asked { config: source.model.config(), room: sizes.room, prompt: sizes.rows };
    needs(caps, &asked, groups.scheme().groups()).refuse("the accelerator")?;
    Decoder::new(&mut ByGroups { groups, caps, overlaps }, (source, window), sizes, memory)
}

/// The token with the largest logit, and of several the first.
#[must_use]
pub fn likeliest(logits: &[f16]) -> u32 {
    let first = (0, f16::NEG_INFINITY);
    logits.iter().zip(0..).fold(first, |most, (&x, token)| if x > most.1 { (token, x) } else { most }).0
}
