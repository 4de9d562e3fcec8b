//! Costs of decoder layers, for `compare`: by the recurrence of its cycles, descriptor by descriptor.

use std::cell::RefCell;
use std::collections::BTreeMap;

use models::cycles::{Taken, extended};
use senbazuru::accelerator::costs::{Choice, Cost, Costs, Counts, Kind, Model, Work};
use senbazuru::accelerator::golden::accelerators::cycles::{Recurrence, Turns};
use senbazuru::accelerator::golden::accelerators::memory::SparseMemory;
use senbazuru::accelerator::golden::common::shell::job_controller::Limits;
use senbazuru::accelerator::prelude::{AxiSpec, DmaSpec, TopParameters};
use senbazuru::anyhow::{Result, anyhow, ensure};
use senbazuru::hdl::accelerators::vector::VectorParameters;
use senbazuru_host::vector::{self, Epsilon, Operand, VectorJob};
use senbazuru_host::{Allocator, Chain, Descriptor, Window};
use testbenches::accelerators::vector::caps_of_rows;

use crate::bench::{golden_of, timing};
use crate::engine::ProductParameters;
use crate::golden::Golden;
use crate::golden::cycles::Timing;
use crate::host::{Caps, ProductJob};
use crate::top::{Crane, ROWS};

/// Memory that a descriptor may touch.
const WINDOW: Window = Window { base: 0, limit: (1 << 40) - 1, address_width: 40 };
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
        let shape = *golden.shape();
        let caps =
            Caps { rows: shape.rows, group: shape.group, channels: shape.channels, word: 4 * shape.vector.lanes };
        let rows = caps_of_rows(&shape.vector, ROWS as u8);
        let (budget, counted) = (settings.count("budget")?, RefCell::default());
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
    /// What descriptors take that were counted so far.
    counted: RefCell<BTreeMap<(u8, [u64; 3]), Taken>>,
}

/// Steps on rows, and how many rows are read for one that is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Steps {
    Norm,
    Softmax,
    Rotate,
    Add,
    Gate,
}

/// Operands without content, one after the other.
struct Room(Allocator);

impl Room {
    fn new() -> Self {
        Self(Allocator::new(&WINDOW))
    }

    fn rows(&mut self, rows: u64, bytes: u64) -> Result<Operand> {
        let stride = bytes.next_multiple_of(64);
        Ok(Operand { address: self.0.take(rows * stride)?, stride: stride.try_into()? })
    }
}

impl CraneCosts {
    /// A descriptor alone.
    fn alone(&self, descriptor: Descriptor) -> Result<Taken> {
        let job = 1 << 39;
        let image = Chain::new().then(descriptor).place(job, &WINDOW, 1)?;
        let mut memory = SparseMemory::new();
        memory.store(image.address, &image.bytes);
        let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 1 };
        let spent = self.timing.job(&self.golden, limits, job, (&mut memory, &mut Turns::default()));
        let spent = spent.map_err(|code| anyhow!("a descriptor ends with error {code}"))?;
        Ok(spent.into_iter().fold(Taken::default(), |mut all, one| {
            all += one.into();
            all
        }))
    }

    fn of(&self, key: (u8, [u64; 3]), count: impl FnOnce() -> Result<Taken>) -> Result<Taken> {
        if let Some(taken) = self.counted.borrow().get(&key) {
            return Ok(taken.clone());
        }
        let taken = count()?;
        self.counted.borrow_mut().insert(key, taken.clone());
        Ok(taken)
    }

    /// A product of up to as many rows as the array has.
    fn product(&self, [rows, inner, columns]: [u64; 3]) -> Result<Taken> {
        extended(columns, COLUMNS, &mut |columns| {
            self.of((0, [rows, inner, columns]), || {
                let mut room = Room::new();
                let exponents = columns * self.caps.exponent_bytes(inner.try_into()?);
                let job = ProductJob {
                    rows: rows.try_into()?,
                    columns: columns.try_into()?,
                    channels: inner.try_into()?,
                    x: room.rows(rows, 2 * inner)?,
                    weights: room.rows(columns, inner.div_ceil(2))?,
                    exponents: room.rows(1, exponents)?.address,
                    out: room.rows(rows, 2 * columns)?,
                    shift: 30,
                    exact: false,
                };
                self.alone(job.descriptor(&self.caps, &WINDOW)?)
            })
        })
    }

    /// A product of any number of rows. Weights are read again for each round of rows.
    fn matrix(&self, [rows, inner, columns]: [u64; 3]) -> Result<Cost> {
        let most = u64::from(self.caps.rows);
        ensure!(inner <= u64::from(self.caps.channels), "{inner} channels, a row has up to {}", self.caps.channels);
        let exponents = self.caps.exponent_bytes(inner.try_into()?);
        let mut all = Cost::default();
        for (rows, count) in [(most, rows / most), (rows % most, 1)] {
            if rows * count == 0 {
                continue;
            }
            let mut cost = Cost::default();
            for (columns, times) in [(32_768, columns / 32_768), (columns % 32_768, 1)] {
                if columns * times > 0 {
                    let Taken { cycles, events } = self.product([rows, inner, columns])?;
                    let matrix = columns * (inner.div_ceil(2) + exponents);
                    let bytes = matrix + 2 * rows * (inner + columns);
                    cost += Cost { cycles, bytes, products: rows * inner * columns, events }.times(times);
                }
            }
            all += cost.times(count);
        }
        Ok(all)
    }

    /// Steps on rows. Rows of steps on elements may be longer than the vector unit takes.
    fn steps(&self, what: Steps, [rows, columns]: [u64; 2]) -> Result<Cost> {
        let most = self.rows.max_columns();
        let mut all = Taken::default();
        for first in (0..columns).step_by(most as usize) {
            let part = most.min(columns - first);
            all += extended(rows, (8, 8), &mut |rows| {
                self.of((1 + what as u8, [rows, part, 0]), || {
                    let mut room = Room::new();
                    let (x, other) = (room.rows(rows, 2 * part)?, room.rows(rows, 2 * part)?);
                    let (out, gains) = (room.rows(rows, 2 * part)?, room.rows(1, 2 * part)?.address);
                    let job = VectorJob::new(rows.try_into()?, part.try_into()?, x, out);
                    let job = match what {
                        Steps::Norm => job.norm_with_gains(Epsilon::units(1)?, gains),
                        Steps::Softmax => job.softmax(part.try_into()?),
                        Steps::Rotate => job.rotate(other),
                        Steps::Add => job.add_rows(other),
                        Steps::Gate => job.activate().multiply_rows(other),
                    };
                    self.alone(job.build(&self.rows, &WINDOW)?)
                })
            })?;
        }
        let moved = if matches!(what, Steps::Rotate | Steps::Add | Steps::Gate) { 3 } else { 2 };
        let Taken { cycles, events } = all;
        Ok(Cost { cycles, bytes: 2 * moved * rows * columns, products: 0, events })
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
        all += self.steps(Steps::Norm, [tokens, model.width])?.times(2);
        all += self.steps(Steps::Add, [tokens, model.width])?.times(2);
        all += self.steps(Steps::Rotate, [tokens * (heads + shared), model.head])?;
        all += self.steps(Steps::Gate, [tokens, model.between])?;
        Ok(all)
    }

    fn head(&self, model: &Model, sequences: u64) -> Result<Cost> {
        let mut all = self.steps(Steps::Norm, [sequences, model.width])?;
        all += self.matrix([sequences, model.width, model.vocabulary])?;
        Ok(all)
    }
}
