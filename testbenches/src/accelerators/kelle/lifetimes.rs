//! How long do the activations of an attention block live? Its operations run as chains in several orders, and the bus
//! and the cache show the lives. The paper's equations 4 to 8 give the same lives.

mod seen;

use std::ops::Range;

use anyhow::Context;
use golden::accelerators::kelle::KelleTop;
use host::Window;
use host::kelle::{Attention, AttentionJob, Caps, Policy, Quantizers, Rows};
use lower::chain::{ChainBuilder, Floats, Job};
use lower::kelle::{Builder, Weights, quantizer};
use lower::layer::Norm;
use rand::RngExt;
use sim::stimulus::{StimulusRng, rng_for};

use super::super::drawn_layer::EPSILON;
pub use seen::{Seen, watch};

/// Bits that a product loses before it counts as importance; nobody goes.
const SHIFT: u8 = 20;

/// How large a block is.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Heads of the cache.
    pub heads: usize,
    /// Query heads of each.
    pub group: usize,
    /// Elements of a vector.
    pub elements: usize,
    /// Elements of a row of X.
    pub channels: usize,
    /// Tokens that there is room for.
    pub slots: usize,
}

/// In which order the operations come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Queries, keys and values of a head, its attention, then the next head; otherwise queries, keys and values of all
    /// heads first.
    pub by_head: bool,
    /// Values come after the scores.
    pub late: bool,
}

/// Queries, keys and values of one head or of all, and the heads that use them.
#[derive(Clone, Debug)]
struct Part {
    /// From the first byte to the last one.
    places: [Range<u64>; 3],
    heads: Range<usize>,
}

/// Tokens that go through the block: a job, and where its activations and weights are.
#[derive(Clone, Debug)]
pub struct Pass {
    /// The job.
    pub job: Job,
    x: Range<u64>,
    /// Weights of queries, keys, values.
    weights: [Range<u64>; 3],
    parts: Vec<Part>,
    heads: usize,
}

/// Cycles that were measured: of accesses, and of lives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lifetimes {
    /// From the first to the last byte of the weights of queries, keys, values on the bus.
    pub weights: [f64; 3],
    /// From the first to the last read of the cached keys of all heads, and of the values.
    pub cached: [f64; 2],
    /// X, Q, K, V: from the last byte written to the last use, the mean over heads.
    pub lives: [f64; 4],
    /// The same for the head with the longest lives.
    pub longest: [f64; 4],
    /// From the last byte of a token's value on the bus to the first value that is read in the cache: of the last token, the mean over heads.
    pub value_waits: f64,
}

/// Cycles of accesses by equations 5 and 6.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accesses {
    /// T_SRAM of the weights of queries, keys, values.
    pub weights: [f64; 3],
    /// T_eDRAM of the keys of all heads, as of the values.
    pub cached: f64,
    /// Heads, which attend one after the other.
    pub heads: f64,
}

impl Accesses {
    /// Lives of X, Q, K, V by equation 7. Values of a head come after its keys, so each head waits for the heads
    /// before.
    #[must_use]
    pub fn baseline(&self) -> [f64; 4] {
        let Self { weights: [q, k, v], cached, heads } = *self;
        [q + k + v, k + v + cached, v + cached, cached + cached / heads]
    }

    /// The same where each head's part of the weights is read before the head, and X waits for all of that.
    #[must_use]
    pub fn by_head(&self) -> [f64; 4] {
        let Self { weights: [q, k, v], cached, heads } = *self;
        let x = q + k + v + 2.0 * cached * (heads - 1.0) / heads;
        [x, (k + v + cached) / heads, (v + cached) / heads, 2.0 * cached / heads]
    }

    /// By equation 8: weights and cache are read at the same time, keys and values used at once.
    #[must_use]
    pub fn parallel(&self) -> [f64; 4] {
        let Self { weights: [q, k, v], cached, .. } = *self;
        [q + k + v, k + cached, 0.0, 0.0]
    }
}

impl Size {
    /// Accesses of a step that leaves so many tokens in each head, at so many bytes a cycle from both memories.
    #[must_use]
    pub fn accesses(&self, tokens: usize, bytes: usize) -> Accesses {
        let cycles = |all: usize| all as f64 / bytes as f64;
        let stored = self.heads * self.elements;
        let weights = [self.group * stored, stored, stored].map(|columns| cycles(self.channels * columns));
        Accesses { weights, cached: cycles(2 * tokens * stored), heads: self.heads as f64 }
    }
}

/// From the first to the last byte of rows.
fn extent(rows: &Floats) -> Range<u64> {
    let bytes = (rows.rows as u64 - 1) * u64::from(rows.at.stride) + 2 * rows.columns as u64;
    rows.at.address..rows.at.address + bytes
}

/// A block with random weights, and the state of its heads.
pub struct Block<'a> {
    builder: Builder<'a>,
    size: Size,
    weights: [Weights; 3],
    norm: Norm,
    quantizers: Vec<Quantizers>,
    random: StimulusRng,
}

/// Numbers between -1 and 1.
fn numbers(random: &mut StimulusRng, [rows, columns]: [usize; 2]) -> Vec<Vec<f64>> {
    (0..rows).map(|_| (0..columns).map(|_| random.random_range(-1.0..1.0)).collect()).collect()
}

impl<'a> Block<'a> {
    /// A block for an accelerator whose heads are empty.
    ///
    /// # Errors
    /// The window has no room.
    pub fn new((caps, window): (&'a Caps, &Window), golden: KelleTop, size: Size, seed: u64) -> anyhow::Result<Self> {
        let mut random = rng_for(seed, "attention block");
        let mut builder = Builder { caps, b: ChainBuilder::new(caps.vector, window, golden)? };
        // Rows after the norm.
        let like = [vec![4.0; size.channels]];
        let mut matrix = |columns: usize| {
            let weights = numbers(&mut random, [size.channels, columns]);
            builder.weights(&weights, &like)
        };
        let stored = size.heads * size.elements;
        let weights = [matrix(size.group * stored)?, matrix(stored)?, matrix(stored)?];
        let norm = Norm { gains: vec![1.0; size.channels], biases: Vec::new() };
        Ok(Self { builder, size, weights, norm, quantizers: Vec::new(), random })
    }

    /// The job of so many tokens, after the jobs before.
    ///
    /// # Errors
    /// No room in memory or in heads; an error of the host crate.
    pub fn pass(&mut self, tokens: usize, order: Order) -> anyhow::Result<Pass> {
        let Size { heads, group, elements, channels, .. } = self.size;
        let residual = numbers(&mut self.random, [tokens, channels]);
        let residual = self.builder.b.given(&residual)?;
        let x = self.builder.b.norm("x", &residual, (&self.norm, EPSILON))?;
        let all = 0..heads;
        let parts = if order.by_head { all.map(|head| head..head + 1).collect() } else { vec![all] };
        let mut of_parts = Vec::new();
        for heads in parts {
            let mut made = Vec::new();
            for (name, weights, vectors) in
                [("queries", &self.weights[0], group), ("keys", &self.weights[1], 1), ("values", &self.weights[2], 1)]
            {
                let width = (vectors * elements) as u32;
                let (first, columns) = (heads.start as u32 * width, heads.len() as u32 * width);
                let weights = weights.slice(first, columns, self.builder.caps.panel() as u32);
                made.push(self.builder.linear(name, &x, &weights)?);
            }
            for head in heads.clone() {
                self.attend(&made, (head, head - heads.start), order.late)?;
            }
            let [q, k, v] = [0, 1, 2].map(|kind: usize| extent(&made[kind]));
            of_parts.push(Part { places: [q, k, v], heads });
        }
        let panels = |weights: &Weights| {
            let panels = u64::from(weights.columns.div_ceil(self.builder.caps.panel() as u32));
            weights.panels.address..weights.panels.address + panels * u64::from(weights.panels.stride)
        };
        let weights = self.weights.each_ref().map(panels);
        Ok(Pass { job: self.builder.b.job()?, x: extent(&x), weights, parts: of_parts, heads })
    }

    /// The attention of a head. `place` is its number among the heads of these queries, keys and values.
    fn attend(&mut self, made: &[Floats], (head, place): (usize, usize), late: bool) -> anyhow::Result<()> {
        let Size { group, elements, slots, .. } = self.size;
        let builder = &mut self.builder;
        let of = |kind: usize, width: usize| made[kind].slice(place * width, width);
        let [q, k, v] = [of(0, group * elements)?, of(1, elements)?, of(2, elements)?];
        if head == self.quantizers.len() {
            let of = |rows: &Floats| quantizer(&builder.b.values(rows));
            self.quantizers.push(Quantizers { queries: of(&q), keys: of(&k), values: of(&v) });
        }
        let out = builder.b.floats("attention", q.rows, q.columns)?;
        let entering = Attention {
            head: head as u32,
            tokens: q.rows as u32,
            group: group as u32,
            elements: elements as u32,
            policy: Policy::keep(slots as u16, SHIFT),
            quantizers: self.quantizers[head],
            scale: (1.0 / (elements as f64).sqrt()) as f32,
            rows: Rows { queries: q.at, keys: k.at, values: v.at, out: out.at },
        };
        let job = AttentionJob::new(entering).exact();
        let job = if late { job.late() } else { job };
        builder.b.then(job.build(builder.caps, &builder.b.window)?)
    }
}

impl Pass {
    /// The lifetimes that were seen; a head has so many rows of the cache.
    ///
    /// # Errors
    /// Something was not seen.
    pub fn lifetimes(&self, seen: &Seen, rows: usize) -> anyhow::Result<Lifetimes> {
        let mut weights = [0.0; 3];
        for (cycles, place) in weights.iter_mut().zip(&self.weights) {
            let parts = seen.reads(place, self.parts.len()).context("weights are not read")?;
            *cycles = parts.into_iter().map(|(first, last)| (last + 1 - first) as f64).sum();
        }
        let last_weights = seen.last(&self.weights[2], false).context("weights of values are not read")?;
        let x = last_weights - seen.last(&self.x, true).context("X is not written")?;
        let (mut cached, mut lives, mut value_waits) = ([0.0; 2], Vec::new(), 0.0);
        let share = 1.0 / self.heads as f64;
        for part in &self.parts {
            let mut born = [0; 3];
            for (born, place) in born.iter_mut().zip(&part.places) {
                *born = seen.last(place, true).context("results are not written")?;
            }
            for head in part.heads.clone() {
                let of = |value: bool| seen.cached(head * rows..(head + 1) * rows, value);
                let (keys, values) = (of(false).context("no key is read")?, of(true).context("no value is read")?);
                cached[0] += (keys.1 + 1 - keys.0) as f64;
                cached[1] += (values.1 + 1 - values.0) as f64;
                lives.push([keys.1 - born[0], keys.1 - born[1], values.1 - born[2]]);
                let read = seen.last_ahead(&part.places[2], values.0).context("values are not fetched")?;
                value_waits += share * (values.0 - read) as f64;
            }
        }
        let of = |kind: usize| lives.iter().map(move |life| life[kind] as f64);
        let mean = |kind| of(kind).sum::<f64>() * share;
        let most = |kind| of(kind).fold(0.0, f64::max);
        let x = x as f64;
        let (lives, longest) = ([x, mean(0), mean(1), mean(2)], [x, most(0), most(1), most(2)]);
        Ok(Lifetimes { weights, cached, lives, longest, value_waits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's LLaMA-2-7B at 1 GHz: sums of equations 7 and 8, and how often each activation is refreshed at an
    /// interval of 45 us.
    #[test]
    fn lives_in_the_paper() {
        let size = Size { heads: 1, group: 1, elements: 4096, channels: 4096, slots: 2048 };
        let (weights, cached) = (size.accesses(2048, 128), size.accesses(2048, 256).cached);
        let all = Accesses { cached, ..weights };
        assert_eq!((all.weights, all.cached), ([131_072.0; 3], 65_536.0));
        let sum = |lives: [f64; 4]| lives.iter().sum::<f64>();
        assert_eq!(sum(all.baseline()), 6.0 * 131_072.0 + 4.0 * 65_536.0);
        assert_eq!(sum(all.parallel()), 4.0 * 131_072.0 + 65_536.0);
        let refreshes = |lives: [f64; 4]| lives.map(|life| (life / 45_000.0) as u64);
        assert_eq!((refreshes(all.baseline()), refreshes(all.parallel())), ([8, 7, 4, 2], [8, 4, 0, 0]));
    }
}
