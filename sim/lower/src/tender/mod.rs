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

mod chain;
mod executor;
mod image;
mod lowering;
mod pass;
mod place;
mod placed;

use anyhow::{Result, ensure};
use half::f16;
use host::tender::{Caps, Constants, Table};
use host::vector::{Epsilon, Operand};
use host::{ALIGNMENT, Window};
use models::decoder::arithmetic::{Norm, Projection as Name};
use models::decoder::{Config, Family};
use models::tender::groups::Groups;

pub use executor::{InSoftware, MAX_DESCRIPTORS, OnDevice};
pub use lowering::OnTender;

use crate::layer::{Heads, turns};
use crate::needs::{Asked, Needs};
use crate::pass::{Rows, Shares};
use crate::whole::{Executor, Sizes, Source, Spent};
use image::Placer;
use place::{affine, angles, buffers, layer_image, outputs};
use placed::{Buffers, Last, Layer, PROBABILITY};

/// Elements of a head in rows are a multiple of this: heads begin where operands may.
const HEAD_UNIT: usize = ALIGNMENT as usize / 2;

/// A model on the accelerator, with the keys and values of texts.
#[derive(Clone, Debug)]
pub struct Decoder {
    caps: Caps,
    /// Operations of the accelerator overlap.
    overlaps: bool,
    window: Window,
    config: Config,
    heads: Heads,
    epsilon: Epsilon,
    sizes: Sizes,
    /// Accelerators side by side.
    parts: usize,
    layers: Vec<Layer>,
    /// Where the model is whole.
    output: Option<Last>,
    probabilities: u64,
    /// By position, where heads turn.
    angles: Option<Operand>,
    /// Channels of probabilities in their order.
    positions: u64,
    buffers: Buffers,
    /// Tokens by text.
    tokens: Vec<usize>,
}

/// Refuses a model without equal shares for so many accelerators side by side.
///
/// # Errors
/// Outputs that are no multiple; the message says of what.
pub fn supports(config: &Config, parts: usize) -> Result<()> {
    // Rows of gate and up side by side are cut where operands may begin; all others are cut anywhere.
    let of_ffn = if config.family == Family::Llama { HEAD_UNIT * parts } else { parts };
    for (what, outputs, share) in [
        ("a feed-forward network", config.ffn_width, of_ffn),
        ("a residual stream", config.width, parts),
        ("a vocabulary", config.vocabulary, parts),
    ] {
        let problem = format!("{what} of {outputs} for {parts} accelerators side by side");
        ensure!(outputs.is_multiple_of(share), "{problem}; wanted are multiples of {share}");
    }
    Ok(())
}

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

impl Decoder {
    /// Quantizes a model, or a layer of it, and puts it into memory.
    ///
    /// # Errors
    /// The accelerator or the window has no room for the model, the groups are of another model, or its outputs have no
    /// equal shares for the accelerators.
    pub fn new(
        (source, groups): (Source<'_>, &Groups),
        (caps, overlaps, window): (&Caps, bool, &Window),
        sizes: Sizes,
        memory: &mut dyn Executor,
    ) -> Result<Self> {
        let Source { model, layers, is_whole } = source;
        let (config, parts, Sizes { rows, room }) = (*model.config(), memory.parts(), sizes);
        room.check()?;
        ensure!(rows > 0, "passes of no token");
        ensure!(
            room.tokens <= config.context,
            "room for {} tokens; the model's context is {}",
            room.tokens,
            config.context
        );
        let asked = Asked { config: &config, room, prompt: rows };
        supports(&config, parts)?;
        needs(caps, &asked, groups.scheme().groups()).refuse("the accelerator")?;
        let heads = asked.heads(HEAD_UNIT);
        let mut p = Placer::new(caps, window, memory);
        let layers: Vec<Layer> = layers
            .map(|(number, layer)| {
                let of = place::Source { model: &layer, groups, heads };
                layer_image(&mut p, of, number, &sizes)
            })
            .collect::<Result<_>>()?;
        let output = is_whole.then(|| -> Result<Last> {
            let packing = p.packing(groups.output().clone(), &vec![1.0; config.width])?;
            let logits = outputs(model.weight(config.layers, Name::Logits)?, &[]);
            let logits = p.projection(&[logits], &packing)?;
            Ok(Last { norm: affine(&mut p, model, config.layers, Norm::Output)?, packing: packing.constants, logits })
        });
        let output = output.transpose()?;
        let probability = Constants { quantizer: PROBABILITY as f32, ..Constants::default() };
        let probabilities = p.constants(&vec![probability; room.tokens])?;
        let angles = turns(model, heads.width).map(|turns| p.floats(&angles(&turns, room.tokens))).transpose()?;
        Ok(Self {
            caps: *caps,
            overlaps,
            window: *window,
            heads,
            epsilon: Epsilon::new(config.norm_eps)?,
            sizes,
            parts,
            layers,
            output,
            probabilities,
            angles,
            positions: p.store(&Table::of_passes(&[(0..room.tokens).collect()])?.bytes())?,
            buffers: buffers(&mut p, (&config, heads), &sizes, overlaps)?,
            config,
            tokens: vec![0; room.texts],
        })
    }

    /// Tokens of a text so far.
    #[must_use]
    pub fn tokens(&self, text: usize) -> usize {
        self.tokens.get(text).copied().unwrap_or(0)
    }

    /// What there is room for.
    #[must_use]
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Jobs of a pass. Chains that are longer than a job may be are several jobs, which do not count here.
    #[must_use]
    pub fn jobs(&self) -> usize {
        let of_layer = if self.parts > 1 { 5 } else { 1 };
        of_layer * self.layers.len() + 1
    }

    /// Rows of the residual stream in memory.
    #[must_use]
    pub fn residual(&self) -> Operand {
        self.buffers.x
    }

    /// Forgets all texts.
    pub fn clear(&mut self) {
        self.tokens.fill(0);
    }

    /// Passes the next tokens of some texts, as rows of the residual stream, through all layers. Returns the logits of
    /// the token after the last one of each, if they are wanted. `done` is called after each job.
    ///
    /// # Errors
    /// No row; a text that is not there, or comes twice; more tokens than there is room for; the executor fails. The
    /// texts must not go on then.
    pub fn pass(
        &mut self,
        on: &mut dyn Executor,
        (texts, wanted): (&[(usize, Rows)], bool),
        done: &mut dyn FnMut(&Spent) -> Result<()>,
    ) -> Result<Vec<Vec<f16>>> {
        let (rows, shares) = Shares::of(texts, &self.tokens, self.sizes.room.tokens)?;
        let most = self.sizes.rows;
        ensure!(rows.len() <= most, "a pass of {} tokens, there is room for {most}", rows.len());
        ensure!(on.parts() == self.parts, "{} accelerators, the model is on {}", on.parts(), self.parts);
        ensure!(self.output.is_some() || !wanted, "a layer alone has no logits");
        let logits = self.through(on, (&rows, &shares), wanted, done)?;
        shares.add_to(&mut self.tokens);
        Ok(logits)
    }

    /// The next token of the first text: [`pass`](Self::pass) for a row alone.
    ///
    /// # Errors
    /// The errors of [`pass`](Self::pass).
    pub fn token(
        &mut self,
        on: &mut dyn Executor,
        (row, wanted): (Vec<f64>, bool),
        done: &mut dyn FnMut(&Spent) -> Result<()>,
    ) -> Result<Vec<f16>> {
        Ok(self.pass(on, (&[(0, vec![row])], wanted), done)?.pop().unwrap_or_default())
    }
}

/// The token with the largest logit, and of several the first.
#[must_use]
pub fn likeliest(logits: &[f16]) -> u32 {
    let first = (0, f16::NEG_INFINITY);
    logits.iter().zip(0..).fold(first, |most, (&x, token)| if x > most.1 { (token, x) } else { most }).0
}
