//! A whole decoder on `tender_top`, a token at a time: memory images and chains of descriptors.
//!
//! The accelerator does norms, projections, rotary embedding, scores, softmax, values, activation, residual sums and
//! the last product. Integers have 8 bits, and channels come in groups (Tender, section III). Keys and values have a
//! scale for each channel.
//!
//! The host looks up a token's embedding, and chooses the next token. It also puts the bytes of the token's keys and
//! values, which the accelerator has quantized, into the panels of the tokens before. Scales come from texts that the
//! float model has read ([`Learnt`]). Numbers beyond their range are saturated and counted.
//!
//! Heads that share keys are rows of one product. A layer is cut after its keys are computed. The rest of the layer,
//! and the next layer up to its cut, are one job.
//!
//! Accelerators side by side ([`Team`]) have a memory each. Each has an equal share of the columns of each projection,
//! and computes everything else in full. After a projection the host collects the shares, so the layer is cut there,
//! too. Gate and up are multiplied before that, so the host moves one row less.

mod chain;
mod executor;
mod image;
mod learnt;
mod place;
mod team;

use anyhow::{Context, Result, ensure};
use half::f16;
use host::Window;
use host::tender::{Caps, Constants, MatMulJob, Sign, Table};
use host::vector::{Epsilon, Operand};

pub use executor::{Checked, Executor, InSoftware, MAX_DESCRIPTORS, OnDevice, Spent};
pub use learnt::{Learnt, Site};
pub use team::{Orders, Team};

use crate::decoder::Config;
use crate::decoder::Model;
use crate::decoder::arithmetic::Norm;
use chain::Steps;
use image::{INTEGER, Placer, Projection, half};
use place::{angles, buffers, gain, layer_image};

/// Groups of channels.
pub const GROUPS: usize = 8;
/// Largest integer that stands for a probability.
const PROBABILITY: f64 = 255.0;

/// Keys and values of a head, or of several that share them.
#[derive(Clone, Copy, Debug)]
struct Head {
    queries: PackedQueries,
    keys: Operand,
    values: Operand,
    value_constants: u64,
}

/// How the queries of a head are packed, and the factor of their scores.
#[derive(Clone, Copy, Debug)]
struct PackedQueries {
    constants: u64,
    table: (u64, u32),
    scores: u64,
}

#[derive(Clone, Debug)]
struct Layer {
    gains: [u64; 2],
    /// Constants of packings, by their input.
    attention: u64,
    attention_out: u64,
    feed_forward: u64,
    down: u64,
    /// Queries, keys and values side by side.
    qkv: Projection,
    o: Projection,
    /// Gate and up side by side.
    gate_up: Projection,
    back: Projection,
    /// Constants that pack keys and values.
    stored: u64,
    heads: Vec<Head>,
}

/// Rows that pass from operation to operation, and packed ones.
#[derive(Clone, Copy, Debug)]
struct Buffers {
    x: Operand,
    hidden: Operand,
    normed: Operand,
    qkv: Operand,
    turned: Operand,
    scores: Operand,
    probabilities: Operand,
    attention: Operand,
    added: Operand,
    gate_up: Operand,
    gated: Operand,
    logits: Operand,
    left: Operand,
    stored: Operand,
    queries: Operand,
    weights: Operand,
    job: u64,
    /// The part of a row that one of several accelerators has.
    share: Operand,
}

/// A model on the accelerator, with the keys and values of a text.
#[derive(Clone, Debug)]
pub struct Decoder {
    caps: Caps,
    window: Window,
    config: Config,
    epsilon: Epsilon,
    context: usize,
    /// Accelerators side by side.
    parts: usize,
    layers: Vec<Layer>,
    output_gain: u64,
    output: u64,
    probabilities: u64,
    logits: Projection,
    /// Embeddings by token, fp16.
    embedding: Vec<Vec<u8>>,
    angles: Operand,
    /// Channels of probabilities in their order.
    positions: u64,
    buffers: Buffers,
    tokens: usize,
}

impl Decoder {
    /// Quantizes a model, and puts it into memory, with room for `context` tokens.
    ///
    /// # Errors
    /// The accelerator or the window has no room for the model, the model was not calibrated, or its outputs have no
    /// equal shares for the accelerators.
    pub fn new(
        (model, learnt): (&Model, &Learnt),
        (caps, window): (&Caps, &Window),
        context: usize,
        memory: &mut dyn Executor,
    ) -> Result<Self> {
        let config = *model.config();
        model.ensure_plain("Tender's decoder")?;
        let most = (caps.vector.lanes * caps.vector.max_beats) as usize;
        let fits = context.min(most).min(caps.depth as usize).min(caps.steps as usize).min(config.context);
        ensure!((1..=fits).contains(&context), "a context of {context} tokens; allowed are 1 to {fits}");
        ensure!(config.head_width.is_multiple_of(32), "heads of {}; wanted are multiples of 32", config.head_width);
        let parts = memory.parts();
        let whole = config.ffn_width.is_multiple_of(32 * parts) || parts == 1;
        ensure!(
            whole,
            "a feed-forward network of {} for {parts} accelerators; wanted are multiples of {}",
            config.ffn_width,
            32 * parts
        );
        let mut p = Placer::new(caps, window, GROUPS, memory);
        let layers = (0..config.layers)
            .map(|layer| layer_image(&mut p, (model, learnt), layer, context))
            .collect::<Result<_>>()?;
        let packing = p.packing(learnt.at(config.layers, Site::Output)?, &vec![1.0; config.width])?;
        let embedding = model.embedding()?;
        let logits = p.projection(&[embedding.iter().collect()], &packing)?;
        let probability = Constants { quantizer: PROBABILITY as f32, ..Constants::default() };
        let bytes = |row: &[f32]| row.iter().flat_map(|&x| half(x.into()).to_le_bytes()).collect();
        Ok(Self {
            caps: *caps,
            window: *window,
            epsilon: Epsilon::new(config.norm_eps)?,
            context,
            parts,
            layers,
            output_gain: gain(&mut p, model, config.layers, Norm::Output)?,
            output: packing.constants,
            probabilities: p.constants(&vec![probability; context])?,
            logits,
            embedding: embedding.iter().map(bytes).collect(),
            angles: p.floats(&angles(model, context))?,
            positions: p.store(&Table::of_passes(&[(0..context).collect()])?.bytes())?,
            buffers: buffers(&mut p, &config, context)?,
            config,
            tokens: 0,
        })
    }

    /// Tokens so far.
    #[must_use]
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Tokens there is room for.
    #[must_use]
    pub fn context(&self) -> usize {
        self.context
    }

    /// Jobs of a token.
    #[must_use]
    pub fn jobs(&self) -> usize {
        let of_layer = if self.parts > 1 { 5 } else { 1 };
        of_layer * self.layers.len() + 1
    }

    /// Forgets the text.
    pub fn clear(&mut self) {
        self.tokens = 0;
    }

    /// Passes the next token of the text through all layers. Returns the logits of the next token, if they are wanted.
    /// `done` is called after each job.
    ///
    /// # Errors
    /// The token is not in the vocabulary, there is no room for it, or the executor fails. The text must not go on
    /// then.
    pub fn token(
        &mut self,
        on: &mut dyn Executor,
        (token, wanted): (u32, bool),
        done: &mut dyn FnMut(&Spent) -> Result<()>,
    ) -> Result<Vec<f16>> {
        let at = self.tokens;
        ensure!(at < self.context, "there is room for {} tokens", self.context);
        let embedding = self.embedding.get(token as usize);
        let embedding =
            embedding.with_context(|| format!("token {token}; the vocabulary has {}", self.embedding.len()))?;
        ensure!(on.parts() == self.parts, "{} accelerators, the model is on {}", on.parts(), self.parts);
        on.write(self.buffers.x.address, embedding)?;
        let mut steps = Steps::new((&self.caps, &self.window), self.buffers.job, on, done);
        self.begin(&mut steps, 0)?;
        for layer in 0..self.layers.len() {
            steps.end()?;
            self.keep(steps.on, layer)?;
            self.attend(&mut steps, layer)?;
            self.feed(&mut steps, layer)?;
            if layer + 1 < self.layers.len() {
                self.begin(&mut steps, layer + 1)?;
            } else if wanted {
                self.last(&mut steps)?;
            }
        }
        steps.end()?;
        self.tokens += 1;
        if !wanted {
            return Ok(Vec::new());
        }
        let mut bytes = vec![0; 2 * self.config.vocabulary];
        on.read(self.buffers.logits.address, &mut bytes)?;
        Ok(bytes.chunks(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]])).collect())
    }

    /// From the residual stream to rotated queries, and to keys and values as integers.
    fn begin(&self, s: &mut Steps<'_>, layer: usize) -> Result<()> {
        let (c, b, l) = (&self.config, &self.buffers, &self.layers[layer]);
        let (width, head) = (c.width as u32, c.head_width as u32);
        s.rows((1, width), b.x, b.normed, |job| job.norm_with_gains(self.epsilon, l.gains[0]))?;
        s.pack((1, width), Sign::Signed, b.normed, l.attention, b.left)?;
        s.project_all(b.left, &l.qkv, b.share, b.qkv)?;
        // Heads follow each other, a row each.
        let heads = |at: Operand| Operand { stride: 2 * head, ..at };
        let angles =
            Operand { address: self.angles.address + self.tokens as u64 * u64::from(self.angles.stride), stride: 0 };
        let turned = (c.heads + c.kv_heads) as u32;
        s.rows((turned, head), heads(b.qkv), heads(b.turned), |job| job.rotate(angles))?;
        // Values join the keys.
        let values = (c.kv_heads * c.head_width) as u32;
        let first = u64::from(turned * head * 2);
        let (from, to) = (b.qkv.address + first, b.turned.address + first);
        s.rows((1, values), Operand { address: from, stride: 0 }, Operand { address: to, stride: 0 }, |job| job)?;
        let keys = Operand { address: b.turned.address + 2 * u64::from(width), stride: 0 };
        s.pack((1, 2 * values), Sign::Signed, keys, l.stored, b.stored)
    }

    /// The host's part of a layer: it puts the integers of the token's keys and values next to the earlier tokens.
    fn keep(&self, on: &mut dyn Executor, layer: usize) -> Result<()> {
        let (c, lines) = (&self.config, self.caps.panel_columns(INTEGER));
        let word = self.caps.panel_rows(INTEGER);
        let channels = c.kv_heads * c.head_width;
        let mut words = vec![0; 2 * channels * word];
        on.read(self.buffers.stored.address, &mut words)?;
        // The first line of the panel is the token.
        let integers: Vec<u8> = words.iter().copied().step_by(word).collect();
        let (keys, values) = integers.split_at(channels);
        for (head, at) in self.layers[layer].heads.iter().enumerate() {
            let of_head = head * c.head_width..(head + 1) * c.head_width;
            // A key is a column of its panel.
            let panel = at.keys.address + (self.tokens / lines) as u64 * u64::from(at.keys.stride);
            for (channel, &key) in keys[of_head.clone()].iter().enumerate() {
                on.write(panel + (channel * lines + self.tokens % lines) as u64, &[key])?;
            }
            // A value is a word of each panel.
            for (panel, part) in values[of_head].chunks(lines).enumerate() {
                let first = at.values.address + panel as u64 * u64::from(at.values.stride);
                on.write(first + (self.tokens * lines) as u64, part)?;
            }
        }
        Ok(())
    }

    /// Attention of all heads.
    fn attend(&self, s: &mut Steps<'_>, layer: usize) -> Result<()> {
        let (c, b) = (&self.config, &self.buffers);
        let (shared, seen) = ((c.heads / c.kv_heads) as u32, self.tokens as u32 + 1);
        let head = c.head_width as u32;
        let rows = |at: Operand, head: usize| Operand {
            address: at.address + u64::from(shared * at.stride) * head as u64,
            ..at
        };
        let heads = |at: Operand| Operand { stride: 2 * head, ..at };
        for (number, at) in self.layers[layer].heads.iter().enumerate() {
            s.pack((shared, head), Sign::Signed, rows(heads(b.turned), number), at.queries.constants, b.queries)?;
            let keys = Projection {
                panels: at.keys,
                channels: head,
                columns: seen,
                table: at.queries.table,
                constants: at.queries.scores,
            };
            let product = chain::product((shared, Sign::Signed), b.queries, &keys);
            s.then(
                MatMulJob::new(product, rows(b.scores, number)).constants_per_row().build(&self.caps, &self.window)?,
            );
        }
        s.rows((c.heads as u32, seen), b.scores, b.probabilities, |job| job.softmax(seen))?;
        for (number, at) in self.layers[layer].heads.iter().enumerate() {
            let probabilities = rows(b.probabilities, number);
            s.pack((shared, seen), Sign::Unsigned, probabilities, self.probabilities, b.weights)?;
            let values = Projection {
                panels: at.values,
                channels: seen,
                columns: head,
                table: (self.positions, seen),
                constants: at.value_constants,
            };
            let product = chain::product((shared, Sign::Unsigned), b.weights, &values);
            s.then(MatMulJob::new(product, rows(heads(b.attention), number)).build(&self.caps, &self.window)?);
        }
        Ok(())
    }

    /// From the results of the heads to the end of a layer.
    fn feed(&self, s: &mut Steps<'_>, layer: usize) -> Result<()> {
        let (c, b, l) = (&self.config, &self.buffers, &self.layers[layer]);
        let (width, ffn) = (c.width as u32, c.ffn_width as u32);
        s.pack((1, width), Sign::Signed, b.attention, l.attention_out, b.left)?;
        s.project_all(b.left, &l.o, b.share, b.added)?;
        s.rows((1, width), b.x, b.hidden, |job| job.add_rows(b.added))?;
        s.rows((1, width), b.hidden, b.normed, |job| job.norm_with_gains(self.epsilon, l.gains[1]))?;
        s.pack((1, width), Sign::Signed, b.normed, l.feed_forward, b.left)?;
        s.project(b.left, &l.gate_up, b.gate_up)?;
        let most = self.caps.vector.lanes * self.caps.vector.max_beats;
        let share = ffn / self.parts as u32;
        let gated = if self.parts > 1 { b.share } else { b.gated };
        // Parts begin where operands may.
        for first in (0..share).step_by((most / 32 * 32) as usize) {
            let part = |at: Operand, first: u32| Operand { address: at.address + 2 * u64::from(first), ..at };
            let columns = (share - first).min(most / 32 * 32);
            let up = part(b.gate_up, share + first);
            s.rows((1, columns), part(b.gate_up, first), part(gated, first), |job| job.activate().multiply_rows(up))?;
        }
        if self.parts > 1 {
            s.gather(share, b.share, b.gated)?;
        }
        s.pack((1, ffn), Sign::Signed, b.gated, l.down, b.left)?;
        s.project_all(b.left, &l.back, b.share, b.added)?;
        s.rows((1, width), b.hidden, b.x, |job| job.add_rows(b.added))
    }

    /// The last norm, and the last product.
    fn last(&self, s: &mut Steps<'_>) -> Result<()> {
        let (width, b) = (self.config.width as u32, &self.buffers);
        s.rows((1, width), b.x, b.normed, |job| job.norm_with_gains(self.epsilon, self.output_gain))?;
        s.pack((1, width), Sign::Signed, b.normed, self.output, b.left)?;
        s.project_all(b.left, &self.logits, b.share, b.logits)
    }
}

/// The token with the largest logit, and of several the first.
#[must_use]
pub fn likeliest(logits: &[f16]) -> u32 {
    let first = (0, f16::NEG_INFINITY);
    logits.iter().zip(0..).fold(first, |most, (&x, token)| if x > most.1 { (token, x) } else { most }).0
}
