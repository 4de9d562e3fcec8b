//! Layers on `titanus_core`.
//!
//! If the store cannot hold all weights at once, they come slice by slice: some columns of a matrix, the products of
//! all rows with them, then the next columns. If a matrix has more inputs than the store, its parts are products of
//! their own, and their results are added. Keys and values of a sequence are appended to its streams. A prompt becomes
//! the context while it is appended. For each further token all keys and values are restored.

mod descriptors;
mod pipeline;
mod tokens;

use anyhow::{Context, Result, bail, ensure};
use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::titanus::cycles::Timing;
use golden::accelerators::titanus::{Shape, TitanusCore};
use host::Descriptor;
use host::titanus::{Caps, LoadJob, Matrix};

use super::shapes::Model;
use super::{
    Cost, Costs, Counted, Events, Numbers, Room, Steps, Taken, WINDOW, Work, chain, extended, kind, parts, refused,
    rows_cost,
};
use descriptors::{BITS, BLOCK, Tokens, cache, element, product};
pub use pipeline::{Run, Units};
pub use tokens::{Engine, Enters, Step};

/// Bytes of a constant.
const CONSTANT: u64 = 8;
/// After so many tokens after the prefill, or rows of a product, each further one takes as long as the one before.
const TOKENS: u64 = 64;
const ROWS: (u64, u64) = (16, 8);
const VECTORS: (u64, u64) = (8, 8);

/// Events on the way of streams to memory, and from it.
const WRITES: &[&str] = &["memory write", "write beat", "write buffer write", "write buffer read"];
const READS: &[&str] = &["memory read", "read beat", "read buffer write", "read buffer read"];

/// Stages of a token's way through a layer, as [`Titanus::stages`] counts them.
pub const STAGES: [&str; 7] = [
    "norm, queries, keys and values",
    "append and restore",
    "scores",
    "softmax",
    "values",
    "output projection, residual sum, norm",
    "feed-forward network, residual sum",
];

/// An accelerator and its use.
#[derive(Clone, Debug)]
pub struct Titanus {
    /// Its parameters.
    pub caps: Caps,
    /// Its golden model, with empty store and cache.
    pub golden: TitanusCore,
    /// Parameters of its cycle model.
    pub timing: Timing,
    /// Bits of an element in the streams.
    pub bits: f64,
    loads: Counted,
    products: Counted,
    dots: Counted,
    caches: Counted,
    steps: Counted,
}

impl Titanus {
    /// An accelerator whose streams take so many bits for an element: so many bytes move, with their events. Cycles are
    /// counted for 4 bits and 34 % zeros.
    #[must_use]
    pub fn new(caps: Caps, (golden, timing): (TitanusCore, Timing), bits: f64) -> Self {
        let (loads, products, dots, caches, steps) = Default::default();
        Self { caps, golden, timing, bits, loads, products, dots, caches, steps }
    }

    /// What each descriptor of a chain takes on a core that holds nothing.
    fn spent(&self, core: &TitanusCore, descriptors: Vec<Descriptor>, tokens: &[Tokens]) -> Result<Vec<Taken>> {
        let (limits, job, mut memory) = chain(descriptors)?;
        tokens.iter().for_each(|tokens| tokens.store(&mut memory));
        let spent =
            self.timing.job(&core.clone(), limits, job, (&mut memory, &mut Turns::default())).map_err(refused)?;
        Ok(spent.into_iter().map(Taken::from).collect())
    }

    fn alone(&self, descriptor: Descriptor) -> Result<Taken> {
        self.spent(&self.golden, vec![descriptor], &[])?.pop().context("a chain of one descriptor")
    }

    /// What it takes until weights are in the store: inputs, outputs.
    fn load(&self, [inputs, outputs]: [u64; 2]) -> Result<Taken> {
        let rows = Room::new().of(Numbers::Int8, inputs, outputs)?;
        let job = LoadJob::weights(inputs.try_into()?, outputs.try_into()?, rows, (0, 0));
        self.loads.of([inputs, outputs, 0], || self.alone(job.build(&self.caps, &WINDOW)?))
    }

    /// What it takes until so many constants are in their table.
    fn load_constants(&self, count: u64) -> Result<Taken> {
        let address = Room::new().at(1, CONSTANT * count)?.address;
        let job = LoadJob::constants(count.try_into()?, address, 0);
        self.loads.of([0, count, 0], || self.alone(job.build(&self.caps, &WINDOW)?))
    }

    /// What rows take times weights in the store by the recurrence: rows, inputs, outputs.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn counted(&self, size: [u64; 3], results: Numbers) -> Result<Taken> {
        self.alone(product(&self.caps, (Matrix::Store { row: 0, column: 0 }, 0), size, results)?)
    }

    /// The same product with any number of rows, from few rows.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn product(&self, [rows, inputs, outputs]: [u64; 3], results: Numbers) -> Result<Taken> {
        extended(rows, VECTORS, &mut |rows| {
            let key = [rows, inputs, 2 * outputs + results as u64];
            self.products.of(key, || self.counted([rows, inputs, outputs], results))
        })
    }

    /// Rows times weights: as many inputs and outputs at a time as the store has. Rows of x are read for each slice.
    fn matrix(&self, [rows, inputs, outputs]: [u64; 3], results: Numbers) -> Result<Cost> {
        let caps = &self.caps;
        let (down, across) = (u64::from(caps.rows * caps.inputs), u64::from(caps.columns * caps.outputs));
        ensure!(
            outputs <= caps.constants.into(),
            "a matrix has {outputs} outputs, a core {} constants of results",
            caps.constants
        );
        ensure!(down > 0 && across > 0, "a core without a store of weights");
        let mut all = Cost::default();
        let blocks = inputs.div_ceil(down);
        let of_block = if blocks > 1 { Numbers::Fp16 } else { results };
        for (inputs, count) in parts(inputs, down) {
            let mut block = self.load_constants(outputs)?.cost(CONSTANT * outputs, 0);
            for (outputs, count) in parts(outputs, across) {
                let mut taken = self.load([inputs, outputs])?;
                taken += self.product([rows, inputs, outputs], of_block)?;
                let bytes = inputs * outputs + rows * (inputs + of_block.bytes() * outputs);
                block += taken.cost(bytes, rows * inputs * outputs).times(count);
            }
            all += block.times(count);
        }
        for block in 1..blocks {
            let sum = if block + 1 == blocks { results } else { Numbers::Fp16 };
            all += self.rows((Steps::Add, sum), [rows, outputs])?;
        }
        Ok(all)
    }

    /// What rows take by the recurrence times the keys of a head of `head` channels, or times its values. Sizes: rows,
    /// channels, tokens.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn counted_dots(&self, values: bool, [rows, head, tokens]: [u64; 3]) -> Result<Taken> {
        // No cycle here depends on other parts of the core.
        let tiles = u32::try_from(head)?.div_ceil(self.caps.lanes);
        let caps = Caps { rows: 0, columns: 0, tiles, ..self.caps };
        let shape = Shape { rows: 0, columns: 0, tiles, ..*self.golden.shape() };
        let core = TitanusCore::new(shape).map_err(anyhow::Error::msg)?;
        let (mut descriptors, of_tokens) = cache(&caps, head, [0, tokens])?;
        descriptors.push(match values {
            false => product(&caps, (Matrix::Keys { tile: 0 }, tokens), [rows, head, tokens], Numbers::Fp16)?,
            true => product(&caps, (Matrix::Values { tile: 0 }, tokens), [rows, tokens, head], Numbers::Int8)?,
        });
        self.spent(&core, descriptors, &of_tokens)?.pop().context("a product with the context")
    }

    /// The same product with any number of rows, from few rows.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn dots(&self, values: bool, [rows, head, tokens]: [u64; 3]) -> Result<Taken> {
        extended(rows, ROWS, &mut |rows| {
            let key = [rows, 2 * head + u64::from(values), tokens];
            self.dots.of(key, || self.counted_dots(values, [rows, head, tokens]))
        })
    }

    /// What it takes by the recurrence of an append of tokens after `old` ones, and of the restore that makes all tokens the
    /// context. Without old tokens the append itself makes the context.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn entering(&self, channels: u64, [old, tokens]: [u64; 2]) -> Result<[Taken; 2]> {
        let (descriptors, of_tokens) = cache(&self.caps, channels, [old, tokens])?;
        match &self.spent(&self.golden, descriptors, &of_tokens)?[..] {
            [append] => Ok([append.clone(), Taken::default()]),
            [_, append, restore] => Ok([append.clone(), restore.clone()]),
            _ => bail!("an append of {tokens} tokens after {old}"),
        }
    }

    /// Tokens from which on streams grow evenly, and the period after which they are at the same place in a block
    /// again.
    fn evenly(&self, channels: u64) -> (u64, u64) {
        let count = |wanted: fn(i8) -> bool| (0..channels).filter(|&c| wanted(element(2, c))).count() as u64;
        let kinds = u64::from(self.caps.tiles) * u64::from(2 + self.caps.lanes);
        let bits = kinds + count(|x| x != 0) + u64::from(BITS) * count(|x| x > 0);
        let block = 8 * BLOCK;
        (u64::from(self.caps.buffer) + TOKENS, block >> bits.trailing_zeros().min(block.trailing_zeros()))
    }

    /// What an append of any number of tokens takes after any number of old ones.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn appended(&self, channels: u64, [old, tokens]: [u64; 2]) -> Result<Taken> {
        let (least, period) = self.evenly(channels);
        let count = |size: [u64; 2]| {
            self.caches.of([size[0], size[1], 2 * channels], || {
                let [append, _] = self.entering(channels, size)?;
                Ok(append)
            })
        };
        if old == 0 {
            return extended(tokens, (least, period), &mut |tokens| count([0, tokens]));
        }
        // Only the streams' place in their blocks counts.
        count([if old < least + period { old } else { least + (old - least) % period }, tokens])
    }

    /// What it takes until any number of tokens is the context again.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn restored(&self, channels: u64, tokens: u64) -> Result<Taken> {
        extended(tokens, self.evenly(channels), &mut |tokens| {
            let size = [tokens - 1, 1];
            self.caches.of([size[0], size[1], 2 * channels + 1], || {
                let [_, restore] = self.entering(channels, size)?;
                Ok(restore)
            })
        })
    }

    /// Tokens of a sequence enter its cache. The last one comes after `context - 1` others.
    fn enter(&self, channels: u64, tokens: u64, context: u64) -> Result<Cost> {
        let most = u64::from(self.caps.context);
        ensure!(context <= most, "{context} tokens, the context has room for {most}");
        let old = context - tokens;
        let packed = |tokens: u64| (2.0 * (tokens * channels) as f64 * self.bits / 8.0) as u64;
        let mut taken = self.appended(channels, [old, tokens])?.streamed(kind::DRAM_WRITE, WRITES, packed(tokens));
        let mut bytes = 2 * tokens * channels + packed(tokens);
        if old > 0 {
            taken += self.restored(channels, context)?.streamed(kind::DRAM_READ, READS, packed(context));
            bytes += packed(context);
        }
        Ok(taken.cost(bytes, 0))
    }

    fn rows(&self, what: (Steps, Numbers), size: [u64; 2]) -> Result<Cost> {
        rows_cost(&self.caps.vector, what, size, &self.steps, &|descriptor| self.alone(descriptor))
    }

    /// A layer of a model; each sequence has a cache of its own.
    ///
    /// # Errors
    /// A layer that does not fit.
    pub fn layer(&self, model: &Model, work: Work) -> Result<Cost> {
        use Numbers::{Fp16, Int8};
        let tokens = work.sequences * work.tokens;
        let (width, head, [heads, _]) = (model.width, model.head, model.heads);
        let (queries, channels) = (model.queries(), model.keys());
        let mut all = Cost::default();
        // Without a rotary embedding queries and keys are integers when they leave the store, and so are results of
        // ReLU.
        let (turned, fed) = if model.gated { (Fp16, Fp16) } else { (Int8, Int8) };
        for (size, results, count) in [
            ([width, queries], turned, 1),
            ([width, channels], turned, 1),
            ([width, channels], Int8, 1),
            ([queries, width], Fp16, 1),
            ([width, model.between], fed, model.inner()),
            ([model.between, width], Fp16, 1),
        ] {
            all += self.matrix([tokens, size[0], size[1]], results)?.times(count);
        }
        all += self.enter(channels, work.tokens, work.context)?.times(work.sequences);
        let size = [work.tokens, head, work.context];
        let count = work.sequences * heads;
        let of_rows = work.tokens * (head + 2 * work.context);
        let products: u64 = size.iter().product();
        for values in [false, true] {
            // Rows of integers and of probabilities, in and out; keys and values are in the core.
            all += self.dots(values, size)?.cost(of_rows, products).times(count);
        }
        all += self.rows((Steps::Softmax, Fp16), [work.tokens, work.context])?.times(count);
        let norm = if model.gated { Steps::RmsNorm } else { Steps::LayerNorm };
        all += self.rows((norm, Int8), [tokens, width])?.times(2);
        all += self.rows((Steps::Add, Fp16), [tokens, width])?.times(2);
        if model.gated {
            all += self.rows((Steps::Rotate, Int8), [tokens, queries])?;
            all += self.rows((Steps::Rotate, Int8), [tokens, channels])?;
            all += self.rows((Steps::Gate, Int8), [tokens, model.between])?;
        }
        Ok(all)
    }
}

impl Taken {
    /// The same with streams of so many bytes, where the recurrence has those of its own numbers.
    fn streamed(self, kind: &str, names: &[&str], bytes: u64) -> Self {
        let moved = self.events.iter().filter(|(event, _)| event.kind == kind);
        let bits: u64 = moved.map(|(event, count)| event.bits * count).sum();
        let times = if bits == 0 { 1.0 } else { 8.0 * bytes as f64 / bits as f64 };
        let mut events = Events::default();
        for (event, count) in self.events.iter() {
            let is_streamed = names.contains(&&*event.name);
            events.add(event.clone(), if is_streamed { (count as f64 * times).round() as u64 } else { count });
        }
        Self { events, ..self }
    }
}

impl Costs for Titanus {
    fn about(&self) -> String {
        let Caps { rows, columns, inputs, outputs, .. } = self.caps;
        format!("{rows} x {columns} macros of {inputs} x {outputs}, keys and values of {} bits", self.bits)
    }

    /// Macros take a bit of all inputs a cycle.
    fn peak(&self) -> f64 {
        let Caps { rows, columns, inputs, outputs, .. } = self.caps;
        [rows, columns, inputs, outputs].map(f64::from).iter().product::<f64>() / self.timing.steps as f64
    }

    fn most(&self) -> Option<u64> {
        Some(self.caps.context.into())
    }

    fn layer(&self, model: &Model, work: Work) -> Result<Cost> {
        self.layer(model, work)
    }

    fn head(&self, model: &Model, sequences: u64) -> Result<Cost> {
        let norm = if model.gated { Steps::RmsNorm } else { Steps::LayerNorm };
        let mut all = self.rows((norm, Numbers::Int8), [sequences, model.width])?;
        for (outputs, count) in parts(model.vocabulary, self.caps.constants.max(1).into()) {
            all += self.matrix([sequences, model.width, outputs], Numbers::Fp16)?.times(count);
        }
        Ok(all)
    }
}
