//! Layers on `kllm_top`.

use anyhow::Result;
use golden::accelerators::events::{Events, kind};
use golden::accelerators::kllm::cycles::Timing;
use golden::accelerators::kllm::{KllmTop, of_beats};
use golden::common::bus::Command;
use host::Descriptor;
use host::kllm::{AppendJob, Bits, Caps, MatMulJob, Panels, Product, Quantize, QuantizeJob, Tokens};

use super::shapes::Model;
use super::{
    Cost, Costs, Counted, Numbers, Room, Steps, Taken, WINDOW, Work, alone, extended, longest, parts, rows_cost,
};

/// After so many positions further ones take as long as the positions before, in steps of the second number.
const INNER: (u64, u64) = (256, 128);
/// Up to so many tokens the recurrence itself gives the cycles.
const EXACT: u64 = 4;
/// Bytes of a token's record of outliers, of its head, and of a channel's constants.
const OUTLIER: u64 = 4;
const HEAD: u64 = 64;
const CONSTANTS: u64 = 8;

/// The left operand of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Tokens of indices.
    Tokens,
    /// Rows of 8-bit integers.
    Integers,
}

impl Left {
    /// Integers have two nibbles, so a word of the lanes brings half of a beat's positions. A second half takes a cycle
    /// more.
    fn beats(self, inner: u64, inputs: u64) -> u64 {
        match self {
            Self::Tokens => inner.div_ceil(inputs),
            Self::Integers => 2 * inner.div_ceil(inputs) + inner.div_ceil(inputs / 2) / 2,
        }
    }
}

/// Tokens that are appended at positions of their own.
const APART: u64 = 64;

/// Outliers of a token of so many positions: one on each side for every `positions_an_outlier` positions; 0: none.
fn outliers(inner: u64, positions_an_outlier: u64) -> u64 {
    if positions_an_outlier == 0 { 0 } else { 2 * inner.div_ceil(positions_an_outlier) }
}

/// Descriptors of a layer: before attention, of a group of query heads that share keys and values, and after attention.
/// The middle ones come once for each group.
struct Pass {
    before: Vec<Cost>,
    group: Vec<Cost>,
    groups: u64,
    behind: Vec<Cost>,
}

/// An accelerator and its use.
#[derive(Clone, Debug)]
pub struct Kllm {
    /// Its parameters.
    pub caps: Caps,
    /// Its golden model.
    pub golden: KllmTop,
    /// Parameters of its cycle model.
    pub timing: Timing,
    /// Indices of tokens.
    pub bits: Bits,
    /// Positions for each outlier of a token, on each side.
    pub positions_an_outlier: u64,
    products: Counted,
    integers: Counted,
    tokens: Counted,
    appended: Counted,
    steps: Counted,
}

impl Kllm {
    /// An accelerator whose tokens have indices of these bits, and on each side an outlier for every so many positions;
    /// 0: none.
    #[must_use]
    pub fn new(caps: Caps, (golden, timing): (KllmTop, Timing), bits: Bits, positions_an_outlier: u64) -> Self {
        let (products, integers, tokens, appended, steps) = Default::default();
        Self { caps, golden, timing, bits, positions_an_outlier, products, integers, tokens, appended, steps }
    }

    fn channels(&self) -> u64 {
        u64::from(self.caps.lanes) * u64::from(self.caps.columns)
    }

    fn alone(&self, descriptor: Descriptor) -> Result<Taken> {
        alone(&self.timing, &self.golden, descriptor)
    }

    /// What a product without outliers takes by the recurrence: tokens, positions, channels.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn counted(&self, left: Left, [tokens, inner, channels]: [u64; 3]) -> Result<Taken> {
        let mut room = Room::new();
        let token_rows = match left {
            Left::Tokens => room.at(tokens, Tokens::new(tokens as usize, inner as usize, 0)?.stride())?,
            Left::Integers => room.at(tokens, inner.next_multiple_of(64))?,
        };
        let panels = Panels::new(&self.caps, channels as usize, inner as usize)?;
        let product = Product {
            tokens: tokens.try_into()?,
            channels: channels.try_into()?,
            inner: inner.try_into()?,
            outliers: 0,
            token_rows,
            panels: room.at(panels.bytes() as u64 / panels.stride(), panels.stride())?,
            constants: room.at(1, CONSTANTS * channels)?.address,
            codebook: room.at(1, 4096)?.address,
        };
        let job = MatMulJob::new(product, room.rows(tokens, channels)?);
        let job = if left == Left::Integers { job.of_integers() } else { job };
        self.alone(job.build(&self.caps, &WINDOW)?)
    }

    /// What a product with any number of channels takes, from what few panels take. If a bank holds the weights of a
    /// panel, the number of positions is free as well. Up to [`EXACT`] tokens the cycles equal the recurrence; for
    /// rows of integers it is within 2 %. With more tokens it is within a tenth of the recurrence, and is the larger of
    /// two estimates:
    ///
    /// - Each further token takes as long as the last of the [`EXACT`] tokens. If no weights come again for it, it takes at most
    ///   its beats in all panels.
    /// - All tokens wait for the lanes, once the first panel's weights are there.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn product(&self, left: Left, [tokens, inner, channels]: [u64; 3]) -> Result<Taken> {
        let of = |tokens: u64| self.few(left, [tokens, inner, channels]);
        if tokens <= EXACT {
            return of(tokens);
        }
        let (first, before, last) = (of(1)?, of(EXACT - 1)?, of(EXACT)?);
        let panels = channels.div_ceil(self.channels());
        let beats = panels * (left.beats(inner, self.caps.inputs.into()) + 1);
        let weights = channels.min(self.channels()) * inner / 2 / self.timing.shell.bus_bytes;
        let each = last.cycles.saturating_sub(before.cycles);
        let each = if self.fits(inner) { each.min(beats) } else { each };
        let waiting = last.cycles + (tokens - EXACT) * each;
        let computing = first.cycles.saturating_sub((panels - 1) * weights) + (tokens - 1) * beats;
        let Taken { events, .. } =
            Taken { cycles: 0, ..last }.beyond(&Taken { cycles: 0, ..before }, tokens - EXACT)?;
        Ok(Taken { cycles: waiting.max(computing), events })
    }

    /// Whether a bank holds the weights of a panel. Then the weights come once for all tokens.
    fn fits(&self, inner: u64) -> bool {
        inner.div_ceil(self.caps.inputs.into()) <= u64::from(self.caps.buffer)
    }

    fn few(&self, left: Left, [tokens, inner, channels]: [u64; 3]) -> Result<Taken> {
        let known = if left == Left::Tokens { &self.products } else { &self.integers };
        let across = self.channels();
        // If no bank holds the weights of a panel, the number of positions changes the number of banks in use.
        let positions = if self.fits(inner) { INNER } else { (inner, 1) };
        extended(channels, (across, across), &mut |channels| {
            extended(inner, positions, &mut |inner| {
                let size = [tokens, inner, channels];
                known.of(size, || self.counted(left, size))
            })
        })
    }

    /// Cycles that outliers at random positions add to a token's product with a panel: one to begin, and one for each
    /// outlier that is not the first of its beat.
    #[must_use]
    pub fn repeats(&self, inner: u64, outliers: u64) -> f64 {
        if outliers == 0 {
            return 0.0;
        }
        let (beats, outliers) = (inner.div_ceil(self.caps.inputs.into()) as f64, outliers as f64);
        1.0 + outliers - beats * (1.0 - (1.0 - 1.0 / beats).powf(outliers))
    }

    /// What outliers add: their records are read for each token, and beats are repeated.
    fn of_outliers(&self, [tokens, outliers]: [u64; 2], repeats: u64) -> Events {
        let row_bytes = (OUTLIER * outliers).next_multiple_of(64);
        let mut all = self.timing.shell.read(&Command { address: 0, row_bytes, rows: 1, stride: 0 }).times(tokens);
        all += of_beats(self.golden.shape(), [repeats, tokens * outliers]);
        all.without(kind::BURST)
    }

    /// A product with any number of positions, in descriptors of as many positions as a token may have.
    fn matrix(&self, left: Left, [tokens, inner, channels]: [u64; 3]) -> Result<Cost> {
        let (most, across) = (u64::from(self.caps.inner), channels.div_ceil(self.channels()));
        let mut all = Cost::default();
        for first in (0..inner).step_by(most as usize) {
            let inner = most.min(inner - first);
            let outliers = if left == Left::Tokens { outliers(inner, self.positions_an_outlier) } else { 0 };
            let beats = left.beats(inner, self.caps.inputs.into());
            let rows = if self.fits(inner) { 1 } else { tokens };
            let weights = rows * channels * inner / 2;
            let mut taken = self.product(left, [tokens, inner, channels])?;
            // If lanes wait for weights, repeated beats cost nothing.
            let (loading, lanes) = (weights / across / self.timing.shell.bus_bytes, tokens * (beats + 1));
            let repeats = tokens as f64 * self.repeats(inner, outliers);
            taken.cycles += across * (lanes as f64 + repeats - loading.max(lanes) as f64).max(0.0) as u64;
            if outliers > 0 {
                taken.events += self.of_outliers([across * tokens, outliers], across * repeats as u64);
            }
            let token = match left {
                Left::Tokens => HEAD + inner / 2 + OUTLIER * outliers,
                Left::Integers => inner,
            };
            let bytes = weights + across * tokens * token + CONSTANTS * channels + 2 * tokens * channels;
            all += taken.cost(bytes, tokens * inner * channels);
        }
        Ok(all)
    }

    fn rows(&self, what: Steps, size: [u64; 2]) -> Result<Cost> {
        rows_cost(&self.caps.vector, (what, Numbers::Fp16), size, &self.steps, &|descriptor| self.alone(descriptor))
    }

    /// Rows become tokens, with an outlier on each side for every so many positions; 0: none.
    fn quantize(&self, [rows, columns]: [u64; 2], positions_an_outlier: u64) -> Result<Cost> {
        let (most, mut all) = (u64::from(self.caps.inner), Cost::default());
        for first in (0..columns).step_by(most as usize) {
            let columns = most.min(columns - first);
            let outliers = outliers(columns, positions_an_outlier);
            let side: u16 = (outliers / 2).try_into()?;
            let one = |rows: u64| -> Result<Taken> {
                let mut room = Room::new();
                let tokens = Tokens::new(rows as usize, columns as usize, outliers as usize)?;
                let quantize = Quantize {
                    rows: rows.try_into()?,
                    columns: columns.try_into()?,
                    bits: self.bits,
                    largest: side,
                    smallest: side,
                    x: room.rows(rows, columns)?,
                    codebook: room.at(1, 4096)?.address,
                    out: room.at(rows, tokens.stride())?,
                };
                self.alone(QuantizeJob::new(quantize).build(&self.caps, &WINDOW)?)
            };
            let taken = extended(rows, (3, 1), &mut |rows| self.tokens.of([rows, columns, outliers], || one(rows)))?;
            let bytes = rows * (2 * columns + HEAD + columns / 2 + OUTLIER * outliers);
            all += taken.cost(bytes, 0);
        }
        Ok(all)
    }

    /// What it takes until a token's key, and its value, of a head are in their panels.
    fn appended(&self, head: u64, position: u64) -> Result<[Taken; 2]> {
        let mut room = Room::new();
        let token = room.at(1, 4096)?.address;
        let keys = Panels::new(&self.caps, position as usize + 1, head as usize)?;
        let values = Panels::new(&self.caps, head as usize, position as usize + 1)?;
        let k = room.at(keys.bytes() as u64 / keys.stride(), keys.stride())?;
        let v = room.at(values.bytes() as u64 / values.stride(), values.stride())?;
        let (constants, scales) =
            (room.at(1, CONSTANTS * (position + 1))?.address, room.at(1, 2 * (position + 1))?.address);
        let size = (position as usize, head.try_into()?);
        let key = AppendJob::channel(size, token, k, constants, [1.0; 2]).build(&self.caps, &WINDOW)?;
        let value = AppendJob::position(size, token, v, scales).build(&self.caps, &WINDOW)?;
        let key = self.appended.of([head, position, 0], || self.alone(key))?;
        Ok([key, self.appended.of([head, position, 1], || self.alone(value))?])
    }

    /// Keys and values of tokens up to a position enter the panels of a head, token by token. More than [`APART`]
    /// tokens all take as long as the last one.
    fn append(&self, head: u64, (tokens, last): (u64, u64)) -> Result<Vec<Cost>> {
        let mut all = Vec::new();
        for token in 0..tokens {
            let position = if tokens > APART { last } else { last + 1 + token - tokens };
            let cost = |taken: Taken| taken.cost(3 * head / 2, 0);
            all.extend(self.appended(head, position)?.map(cost));
        }
        Ok(all)
    }

    /// The chain of a running model: each query head has descriptors of its own.
    fn pass(&self, model: &Model, work: Work) -> Result<Pass> {
        let (width, between, head, [heads, shared]) = (model.width, model.between, model.head, model.heads);
        let queries = model.queries();
        let tokens = work.sequences * work.tokens;
        let row = |what: Steps, columns: u64| self.rows(what, [tokens, columns]);
        let weights = |inputs: u64, outputs: u64| self.matrix(Left::Tokens, [tokens, inputs, outputs]);
        // Rows of the residual stream are added to the results.
        let added = |cost: Cost| Cost { bytes: cost.bytes + 2 * tokens * width, ..cost };
        let quantized = |columns: u64| self.quantize([tokens, columns], self.positions_an_outlier);
        let norm = || row(if model.gated { Steps::RmsNorm } else { Steps::LayerNorm }, width);
        let of_kept = weights(width, head * shared)?;
        let mut before = vec![norm()?, quantized(width)?, weights(width, queries)?, of_kept.clone(), of_kept];
        if model.gated {
            before.extend([row(Steps::Rotate, queries)?, row(Steps::Rotate, head * shared)?]);
        }
        let rows = [work.tokens, work.context];
        let of_head = [
            self.quantize([work.tokens, head], self.positions_an_outlier)?,
            self.matrix(Left::Tokens, [work.tokens, head, work.context])?,
            self.rows(Steps::Softmax, rows)?,
            // Probabilities times the scales of their values.
            self.rows(Steps::Gate, rows)?,
            self.matrix(Left::Integers, [work.tokens, work.context, head])?,
        ];
        // Keys and values have no outliers.
        let mut group = vec![self.quantize([work.tokens, head], 0)?; 2];
        group.extend(self.append(head, (work.tokens, work.context - 1))?);
        (0..heads / shared).for_each(|_| group.extend(of_head.clone()));
        let mut behind = vec![quantized(queries)?, added(weights(queries, width)?), norm()?, quantized(width)?];
        for _ in 0..model.inner() {
            behind.push(weights(width, between)?);
        }
        for (columns, count) in parts(between, longest(&self.caps.vector)) {
            let cost = row(if model.gated { Steps::Gate } else { Steps::Activate }, columns)?;
            behind.extend((0..count).map(|_| cost.clone()));
        }
        behind.extend([quantized(between)?, added(weights(between, width)?)]);
        Ok(Pass { before, group, groups: work.sequences * shared, behind })
    }

    /// A token after `context - 1` others, with the chain of a running model: cycles of each descriptor on its own.
    ///
    /// # Errors
    /// A layer that does not fit.
    pub fn token(&self, model: &Model, context: u64) -> Result<Vec<u64>> {
        let Pass { before, group, groups, behind } = self.pass(model, Work { sequences: 1, tokens: 1, context })?;
        let groups = (0..groups).flat_map(|_| &group);
        Ok(before.iter().chain(groups).chain(&behind).map(|cost| cost.cycles).collect())
    }

    /// A layer of a model, with the chain of a running model.
    ///
    /// # Errors
    /// A layer that does not fit.
    pub fn layer(&self, model: &Model, work: Work) -> Result<Cost> {
        let Pass { before, group, groups, behind } = self.pass(model, work)?;
        let sum = |of: &[Cost]| {
            of.iter().fold(Cost::default(), |mut sum, cost| {
                sum += cost.clone();
                sum
            })
        };
        let mut all = sum(&before);
        all += sum(&group).times(groups);
        all += sum(&behind);
        Ok(all)
    }
}

impl Costs for Kllm {
    fn about(&self) -> String {
        let (Caps { lanes, columns, inputs, .. }, outliers) = (self.caps, self.positions_an_outlier);
        let bits = match self.bits {
            Bits::Three => 3,
            Bits::Four => 4,
        };
        let outliers =
            if outliers == 0 { "no outliers".to_owned() } else { format!("{} % outliers", 200.0 / outliers as f64) };
        format!("{lanes} lanes of {columns} x {inputs}, W4A{bits}, {outliers}")
    }

    fn peak(&self) -> f64 {
        self.channels() as f64 * f64::from(self.caps.inputs)
    }

    fn layer(&self, model: &Model, work: Work) -> Result<Cost> {
        self.layer(model, work)
    }

    fn head(&self, model: &Model, sequences: u64) -> Result<Cost> {
        let size = [sequences, model.width];
        let mut all = self.rows(if model.gated { Steps::RmsNorm } else { Steps::LayerNorm }, size)?;
        all += self.quantize(size, self.positions_an_outlier)?;
        all += self.matrix(Left::Tokens, [sequences, model.width, model.vocabulary])?;
        Ok(all)
    }
}
