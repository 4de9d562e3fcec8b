//! Costs of decoder layers, for `compare`: by the recurrence of its cycles, descriptor by descriptor.

use models::cycles::{Counted, Numbers, Room, Steps, Taken, WINDOW, alone, extended, parts, rows_cost};
use senbazuru::accelerator::costs::{Choice, Cost, Costs, Counts, Kind, Model, Work};
use senbazuru::accelerator::prelude::{AxiSpec, DmaSpec, TopParameters};
use senbazuru::anyhow::{Result, ensure};
use senbazuru::hdl::accelerators::vector::VectorParameters;
use senbazuru_host::vector;

use crate::bench::{caps_of, golden_of, timing};
use crate::engine::ProductParameters;
use crate::golden::Golden;
use crate::golden::cycles::Timing;
use crate::host::{Caps, ProductJob};
use crate::top::Crane;

/// After so many columns further ones take as long as the columns before, in steps of the second number: pages of results.
const COLUMNS: (u64, u64) = (512, 128);

/// With 128 rows on a bus of 64 bytes.
pub const COSTS: Counts<Crane> = Counts {
    block: || Crane {
        bus: TopParameters {
            axi: AxiSpec { address_width: 40, data_width: 512, id_width: 1 },
            dma: DmaSpec { burst_beats: 8, ..DmaSpec::default() },
            read_beats: 64,
            ..TopParameters::default()
        },
        array: ProductParameters { rows: 128, group: 32, channels: 16_384, ..ProductParameters::default() },
        vector: VectorParameters { max_beats: 256, ..VectorParameters::all() },
    },
    choices: || {
        let about = "tokens of a head that decoding keeps, as Kelle does, the host choosing who goes; 0: all";
        vec![Choice { name: "budget", default: "0", kind: Kind::Count(0..=16_384), about }]
    },
    costs: |block, settings, latency| {
        let golden = golden_of(block);
        let (caps, rows) = caps_of(block);
        let (budget, counted) = (settings.count("budget")?, Default::default());
        Ok(Box::new(CraneCosts { caps, rows, golden, timing: timing(block, latency), budget, counted }))
    },
};

/// A crane at work.
struct CraneCosts {
    caps: Caps,
    rows: vector::Caps,
    golden: Golden,
    timing: Timing,
    /// Tokens of a head that decoding keeps; 0: all.
    budget: u64,
    /// What products and steps take that were counted so far.
    counted: [Counted; 2],
}

impl CraneCosts {
    /// A product of up to as many rows as the array has.
    fn product(&self, [rows, inner, columns]: [u64; 3]) -> Result<Taken> {
        extended(columns, COLUMNS, &mut |columns| {
            self.counted[0].of([rows, inner, columns], || {
                let mut room = Room::new();
                let exponents = columns * self.caps.exponent_bytes(inner.try_into()?);
                let job = ProductJob {
                    rows: rows.try_into()?,
                    columns: columns.try_into()?,
                    channels: inner.try_into()?,
                    x: room.rows(rows, inner)?,
                    weights: room.at(columns, inner.div_ceil(2).next_multiple_of(64))?,
                    exponents: room.at(1, exponents)?.address,
                    out: room.rows(rows, columns)?,
                    shift: 30,
                    exact: false,
                };
                alone(&self.timing, &self.golden, job.descriptor(&self.caps, &WINDOW)?)
            })
        })
    }

    /// A product of any number of rows. Weights are read again for each round of rows.
    fn matrix(&self, [rows, inner, columns]: [u64; 3]) -> Result<Cost> {
        let most = u64::from(self.caps.rows);
        ensure!(inner <= u64::from(self.caps.channels), "{inner} channels, a row has up to {}", self.caps.channels);
        let exponents = self.caps.exponent_bytes(inner.try_into()?);
        let mut all = Cost::default();
        for (rows, count) in parts(rows, most) {
            for (columns, times) in parts(columns, 32_768) {
                let matrix = columns * (inner.div_ceil(2) + exponents);
                let bytes = matrix + 2 * rows * (inner + columns);
                let taken = self.product([rows, inner, columns])?;
                all += taken.cost(bytes, rows * inner * columns).times(count * times);
            }
        }
        Ok(all)
    }

    fn steps(&self, what: Steps, size: [u64; 2]) -> Result<Cost> {
        rows_cost(&self.rows, (what, Numbers::Fp16), size, &self.counted[1], &|one| {
            alone(&self.timing, &self.golden, one)
        })
    }
}

impl Costs for CraneCosts {
    fn about(&self) -> String {
        let Caps { rows, word, group, .. } = self.caps;
        let kept = if self.budget > 0 { format!(", {} tokens kept", self.budget) } else { String::new() };
        format!("{rows} rows x {word} channels, INT8 x INT4 in groups of {group}{kept}")
    }

    fn peak(&self) -> f64 {
        f64::from(self.caps.rows) * f64::from(self.caps.word)
    }

    /// Values are the columns of a product whose channels are tokens.
    fn most(&self) -> Option<u64> {
        Some(self.caps.channels.into())
    }

    /// Keys and values are columns of INT4, too.
    fn layer(&self, model: &Model, work: Work) -> Result<Cost> {
        ensure!(model.gated, "a model with layer norms: the crane's costs are counted for gated models");
        let tokens = work.sequences * work.tokens;
        let [heads, shared] = model.heads;
        let mut all = Cost::default();
        for [inputs, outputs, count] in model.projections() {
            all += self.matrix([tokens, inputs, outputs])?.times(count);
        }
        // Heads that share keys are rows of one product.
        let (group, pairs) = (heads / shared * work.tokens, work.sequences * shared);
        let evicts = self.budget > 0 && work.tokens == 1;
        let seen = if evicts { work.context.min(self.budget) } else { work.context };
        all += self.matrix([group, model.head, seen])?.times(pairs);
        all += self.matrix([group, seen, model.head])?.times(pairs);
        all += self.steps(Steps::Softmax, [group, seen])?.times(pairs);
        if evicts {
            // What tokens have got so far, by which the host chooses.
            all += self.steps(Steps::Add, [group, seen])?.times(pairs);
        }
        all += self.steps(Steps::RmsNorm, [tokens, model.width])?.times(2);
        all += self.steps(Steps::Add, [tokens, model.width])?.times(2);
        all += self.steps(Steps::Rotate, [tokens * (heads + shared), model.head])?;
        all += self.steps(Steps::Gate, [tokens, model.between])?;
        Ok(all)
    }

    fn head(&self, model: &Model, sequences: u64) -> Result<Cost> {
        let mut all = self.steps(Steps::RmsNorm, [sequences, model.width])?;
        all += self.matrix([sequences, model.width, model.vocabulary])?;
        Ok(all)
    }
}
