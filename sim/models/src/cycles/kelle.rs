//! Layers on `kelle_top`.

use anyhow::Result;
use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::kelle::KelleTop;
use golden::accelerators::kelle::cycles::Timing;
use host::Descriptor;
use host::kelle::{Attention, AttentionJob, Caps, Linear, LinearJob, Panels, Policy, Quantizers, Rows};

use super::shapes::Model;
use super::{
    Cost, Costs, Counted, Event, Numbers, Room, Steps, Taken, WINDOW, Work, chain, extended, kind, longest, parts,
    refused, rows_cost,
};

/// After so many panels each further panel takes as long as the panel before.
const PANELS: u64 = 24;
/// After so many tokens in a full head, each two tokens take as long as the two before.
const STEPS: u64 = 4;
/// Bytes of scale and bias of a column.
const CONSTANTS: u64 = 8;
/// No result depends on this value.
const NO_QUANTIZER: Quantizers = Quantizers { queries: 1.0, keys: 1.0, values: 1.0 };

/// An accelerator and its use.
#[derive(Clone, Debug)]
pub struct Kelle {
    /// Its parameters.
    pub caps: Caps,
    /// Its golden model, of empty heads.
    pub golden: KelleTop,
    /// Parameters of its cycle model.
    pub timing: Timing,
    /// Tokens that a head keeps.
    pub budget: u64,
    /// Cycles after which a row of the cache is refreshed.
    pub interval: u64,
    products: Counted,
    attention: Counted,
    steps: Counted,
}

impl Kelle {
    /// An accelerator whose heads keep so many tokens, each refreshed after so many cycles.
    #[must_use]
    pub fn new(caps: Caps, (golden, timing): (KelleTop, Timing), [budget, interval]: [u64; 2]) -> Self {
        let (products, attention, steps) = Default::default();
        Self { caps, golden, timing, budget, interval, products, attention, steps }
    }

    /// What the last descriptor of a chain takes, on empty heads.
    fn last(&self, descriptors: Vec<Descriptor>) -> Result<Taken> {
        let (limits, job, mut memory) = chain(descriptors)?;
        let golden = self.golden.clone();
        golden.soft_reset();
        let mut spent = self.timing.job(&golden, limits, job, (&mut memory, &mut Turns::default())).map_err(refused)?;
        Ok(spent.pop().map(Taken::from).unwrap_or_default())
    }

    /// What a linear operation takes by the recurrence: rows, channels, columns.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn counted(&self, [rows, channels, columns]: [u64; 3]) -> Result<Taken> {
        let mut room = Room::new();
        let panels = Panels::new(&self.caps, columns as usize, channels as usize)?;
        let product = Linear {
            rows: rows.try_into()?,
            columns: columns.try_into()?,
            channels: channels.try_into()?,
            x: room.rows(rows, channels)?,
            quantizer: 1.0,
            panels: room.at(panels.bytes() as u64 / panels.stride(), panels.stride())?,
            constants: room.at(1, CONSTANTS * columns)?.address,
            out: room.rows(rows, columns)?,
        };
        self.last(vec![LinearJob::new(product).build(&self.caps, &WINDOW)?])
    }

    /// What a linear operation with any number of columns takes, from what few panels take.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn product(&self, [rows, channels, columns]: [u64; 3]) -> Result<Taken> {
        let panel = self.caps.panel() as u64;
        extended(columns, (PANELS * panel, panel), &mut |columns| {
            let size = [rows, channels, columns];
            self.products.of(size, || self.counted(size))
        })
    }

    /// Rows times weights. An operation takes as many rows as the accelerator allows, and each operation reads the
    /// weights.
    fn matrix(&self, [rows, channels, columns]: [u64; 3]) -> Result<Cost> {
        let most = u64::from(self.caps.tokens);
        let mut all = Cost::default();
        for (rows, count) in [(most, rows / most), (rows % most, 1)].into_iter().filter(|(rows, n)| rows * n > 0) {
            let taken = self.product([rows, channels, columns])?;
            let bytes = (channels + CONSTANTS) * columns + 2 * rows * (channels + columns);
            all += taken.cost(bytes, rows * channels * columns).times(count);
        }
        Ok(all)
    }

    /// What attention takes by the recurrence: `tokens` tokens enter a head that has `old` tokens, `group` query heads
    /// and `elements` elements. All scores are alike, so the oldest unprotected token goes. No other victim takes a
    /// longer search.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn entering(&self, (group, elements): (u64, u64), old: u64, tokens: u64) -> Result<Taken> {
        let mut room = Room::new();
        let mut job = |tokens: u64, policy: Policy| -> Result<Descriptor> {
            let mut rows = |heads: u64| room.rows(tokens, heads * elements);
            let rows = Rows { queries: rows(group)?, keys: rows(1)?, values: rows(1)?, out: rows(group)? };
            let entering = Attention {
                head: 0,
                tokens: tokens.try_into()?,
                group: group.try_into()?,
                elements: elements.try_into()?,
                policy,
                quantizers: NO_QUANTIZER,
                scale: 1.0,
                rows,
            };
            Ok(AttentionJob::new(entering).build(&self.caps, &WINDOW)?)
        };
        let mut descriptors = Vec::new();
        if old > 0 {
            descriptors.push(job(old, Policy::keep(old.try_into()?, 0))?);
        }
        descriptors.push(job(tokens, Policy::of_budget(self.budget.try_into()?, 0))?);
        self.last(descriptors)
    }

    /// What attention takes for any number of tokens. After the first tokens in a full head, each two take as long as
    /// the two before.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn attending(&self, size: (u64, u64), old: u64, tokens: u64) -> Result<Taken> {
        let old = old.min(self.budget);
        let filling = self.budget - old + STEPS;
        extended(tokens, (filling, 2), &mut |tokens| {
            self.attention.of([size.0 * 4096 + size.1, old, tokens], || self.entering(size, old, tokens))
        })
    }

    /// Attention of a head: tokens enter, and the last one sees `context` tokens, or as many of them as the head keeps.
    fn head(&self, (group, elements): (u64, u64), tokens: u64, context: u64) -> Result<Cost> {
        let old = context - tokens;
        let taken = self.attending((group, elements), old, tokens)?;
        // Keys and values in the head after each token.
        let seen: u64 = (0..tokens).map(|token| (old + token).min(self.budget) + 1).sum();
        let bytes = 2 * tokens * elements * (2 * group + 2);
        Ok(taken.cost(bytes, 2 * seen * group * elements))
    }

    fn rows(&self, what: Steps, size: [u64; 2]) -> Result<Cost> {
        rows_cost(&self.caps.vector, (what, Numbers::Fp16), size, &self.steps, &|descriptor| {
            self.last(vec![descriptor])
        })
    }

    /// A token after `context - 1` others, with the chain of a running model: cycles of each descriptor on its own.
    ///
    /// # Errors
    /// A layer that does not fit.
    pub fn token(&self, model: &Model, context: u64) -> Result<Vec<u64>> {
        let (width, between, head, [heads, shared]) = (model.width, model.between, model.head, model.heads);
        let (queries, channels) = (model.queries(), model.keys());
        let row = |what: Steps, columns: u64| self.rows(what, [1, columns]).map(|cost| cost.cycles);
        let product = |inputs: u64, outputs: u64| self.product([1, inputs, outputs]).map(|taken| taken.cycles);
        let norm = || row(if model.gated { Steps::RmsNorm } else { Steps::LayerNorm }, width);
        let mut all = vec![norm()?, product(width, queries)?, product(width, channels)?, product(width, channels)?];
        if model.gated {
            all.extend([row(Steps::Rotate, queries)?, row(Steps::Rotate, channels)?]);
        }
        let attention = self.attending((heads / shared, head), context - 1, 1)?.cycles;
        all.extend((0..shared).map(|_| attention));
        all.extend([product(queries, width)?, row(Steps::Add, width)?, norm()?]);
        for _ in 0..model.inner() {
            all.push(product(width, between)?);
        }
        for (columns, count) in parts(between, longest(&self.caps.vector)) {
            let cycles = row(if model.gated { Steps::Gate } else { Steps::Activate }, columns)?;
            all.extend((0..count).map(|_| cycles));
        }
        all.extend([product(between, width)?, row(Steps::Add, width)?]);
        Ok(all)
    }

    /// A layer of a model; each sequence has heads of its own in the cache.
    ///
    /// # Errors
    /// A layer that does not fit.
    pub fn layer(&self, model: &Model, work: Work) -> Result<Cost> {
        let tokens = work.sequences * work.tokens;
        let (width, head, [heads, shared]) = (model.width, model.head, model.heads);
        let mut all = Cost::default();
        for [inputs, outputs, count] in model.projections() {
            all += self.matrix([tokens, inputs, outputs])?.times(count);
        }
        all += self.head((heads / shared, head), work.tokens, work.context)?.times(work.sequences * shared);
        let norm = if model.gated { Steps::RmsNorm } else { Steps::LayerNorm };
        all += self.rows(norm, [tokens, width])?.times(2);
        all += self.rows(Steps::Add, [tokens, width])?.times(2);
        if model.gated {
            all += self.rows(Steps::Rotate, [tokens * (heads + shared), head])?;
        }
        all += self.rows(if model.gated { Steps::Gate } else { Steps::Activate }, [tokens, model.between])?;
        Ok(all)
    }
}

impl Costs for Kelle {
    fn about(&self) -> String {
        let Caps { rows, columns, .. } = self.caps;
        format!("{rows} x {columns} PEs, INT8, {} tokens a head", self.budget)
    }

    /// Two PEs take the halves of a weight.
    fn peak(&self) -> f64 {
        f64::from(self.caps.rows) * f64::from(self.caps.columns) / 2.0
    }

    fn layer(&self, model: &Model, work: Work) -> Result<Cost> {
        self.layer(model, work)
    }

    fn head(&self, model: &Model, sequences: u64) -> Result<Cost> {
        let mut all =
            self.rows(if model.gated { Steps::RmsNorm } else { Steps::LayerNorm }, [sequences, model.width])?;
        all += self.matrix([sequences, model.width, model.vocabulary])?;
        Ok(all)
    }

    /// Each kept token has a row in each of four groups of banks: high and low bytes of keys and values.
    fn steady(&self, model: &Model, work: Work) -> Vec<(Event, f64)> {
        let shape = self.golden.shape();
        let tokens = work.sequences * model.heads[1] * work.context.min(self.budget);
        let refresh = Event::new("cache refresh", kind::EDRAM_REFRESH, 8 * u64::from(shape.width));
        vec![(refresh, 4.0 * tokens as f64 / self.interval as f64)]
    }
}
