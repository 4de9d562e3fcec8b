//! Layers on `tender_top`.

mod chained;

use anyhow::{Result, ensure};
use golden::accelerators::tender::TenderTop;
use golden::accelerators::tender::cycles::Timing;
use host::Descriptor;
use host::tender::{Caps, MatMulJob, Pack, PackJob, Panels, Product, Sign};
use host::vector::Integer;

use super::shapes::Model;
use super::{Cost, Costs, Counted, Numbers, Room, Steps, Taken, WINDOW, Work, alone, extended, rows_cost};

pub use chained::Groups;

/// Rows of a descriptor. They share a table of groups.
const CHUNK: u64 = 256;
/// After so many channels further ones take as long as the channels before, in steps of the second number: a multiple
/// of the channels of a burst.
const INNER: (u64, u64) = (512, 512);

/// An accelerator and its use.
#[derive(Clone, Debug)]
pub struct Tender {
    /// Its parameters.
    pub caps: Caps,
    /// Its golden model.
    pub golden: TenderTop,
    /// Parameters of its cycle model.
    pub timing: Timing,
    /// Operands.
    pub integer: Integer,
    /// Groups of channels.
    pub groups: u64,
    products: Counted,
    packings: Counted,
    steps: Counted,
}

impl Tender {
    /// An accelerator with operands of these bits, channels in so many groups.
    #[must_use]
    pub fn new(caps: Caps, (golden, timing): (TenderTop, Timing), integer: Integer, groups: u64) -> Self {
        let (products, packings, steps) = Default::default();
        Self { caps, golden, timing, integer, groups, products, packings, steps }
    }

    /// Lines of a panel: rows of the left matrix, columns of the right one.
    fn panels(&self) -> [u64; 2] {
        [self.caps.panel_rows(self.integer) as u64, self.caps.panel_columns(self.integer) as u64]
    }

    fn alone(&self, descriptor: Descriptor) -> Result<Taken> {
        alone(&self.timing, &self.golden, descriptor)
    }

    /// What a product takes by the recurrence: rows, channels, columns.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn counted(&self, [rows, inner, columns]: [u64; 3]) -> Result<Taken> {
        let mut room = Room::new();
        let operand = (self.integer, Sign::Signed);
        let a = Panels::rows(&self.caps, operand, rows as usize, inner as usize)?;
        let b = Panels::columns(&self.caps, operand, columns as usize, inner as usize)?;
        let steps = inner + self.groups - 1;
        let product = Product {
            rows: rows.try_into()?,
            columns: columns.try_into()?,
            channels: inner.try_into()?,
            integer: self.integer,
            a: (room.at(a.bytes() as u64 / a.stride(), a.stride())?, Sign::Signed),
            b: (room.at(b.bytes() as u64 / b.stride(), b.stride())?, Sign::Signed),
            table: (room.at(1, 2 * steps)?.address, steps.try_into()?),
            constants: room.at(1, 16 * columns)?.address,
        };
        let out = room.rows(rows, columns)?;
        self.alone(MatMulJob::new(product, out).build(&self.caps, &WINDOW)?)
    }

    /// What a product of any size takes, from what few panels take.
    ///
    /// # Errors
    /// A size that the accelerator refuses.
    pub fn product(&self, [rows, inner, columns]: [u64; 3]) -> Result<Taken> {
        let [down, across] = self.panels();
        // Rows of results leave by pages of so many columns.
        let page = across.max(self.timing.strip);
        extended(rows, (4 * down, down), &mut |rows| {
            extended(columns, (8 * page, 2 * page), &mut |columns| {
                extended(inner, INNER, &mut |inner| {
                    let size = [rows, inner, columns];
                    self.products.of(size, || self.counted(size))
                })
            })
        })
    }

    /// A product with any number of rows and channels. A descriptor has up to [`CHUNK`] rows, and as many channels as a
    /// panel has. The results of further channels are added.
    fn matrix(&self, [rows, inner, columns]: [u64; 3]) -> Result<Cost> {
        let (steps, groups) = (self.caps.steps, self.groups);
        ensure!(u64::from(steps) >= groups, "{groups} groups, a table has {steps} entries");
        let depth = u64::from(self.caps.depth).min(u64::from(self.caps.steps) - self.groups + 1);
        let mut all = Cost::default();
        let parts = inner.div_ceil(depth);
        for part in 0..parts {
            let inner = depth.min(inner - part * depth);
            for (rows, count) in [(CHUNK, rows / CHUNK), (rows % CHUNK, 1)].into_iter().filter(|(rows, n)| rows * n > 0)
            {
                let [down, _] = self.panels();
                let panels = rows.div_ceil(down);
                let bits = if self.integer == Integer::Int8 { 8 } else { 4 };
                // A column goes to the array once for each panel of rows, as do its constants.
                let bytes = (panels * columns + rows) * inner * bits / 8 + 16 * panels * columns + 2 * rows * columns;
                let taken = self.product([rows, inner, columns])?;
                all += taken.cost(bytes, rows * inner * columns).times(count);
            }
        }
        for _ in 1..parts {
            all += self.rows(Steps::Add, [rows, columns])?;
        }
        Ok(all)
    }

    fn rows(&self, what: Steps, size: [u64; 2]) -> Result<Cost> {
        rows_cost(&self.caps.vector, (what, Numbers::Fp16), size, &self.steps, &|descriptor| self.alone(descriptor))
    }

    /// Rows become the left matrix of a product.
    fn pack(&self, [rows, columns]: [u64; 2]) -> Result<Cost> {
        let [down, _] = self.panels();
        let one = |rows: u64, columns: u64| -> Result<Taken> {
            let mut room = Room::new();
            let panels = Panels::rows(&self.caps, (self.integer, Sign::Signed), rows as usize, columns as usize)?;
            let pack = Pack {
                rows: rows.try_into()?,
                columns: columns.try_into()?,
                integer: self.integer,
                sign: Sign::Signed,
                x: room.rows(rows, columns)?,
                constants: room.at(1, 16 * columns)?.address,
                out: room.at(panels.bytes() as u64 / panels.stride(), panels.stride())?,
            };
            self.alone(PackJob::new(pack).build(&self.caps, &WINDOW)?)
        };
        let taken = extended(rows, (4 * down, down), &mut |rows| {
            extended(columns, INNER, &mut |columns| self.packings.of([rows, columns, 0], || one(rows, columns)))
        })?;
        let bits = if self.integer == Integer::Int8 { 8 } else { 4 };
        let bytes = 2 * rows * columns + rows * columns * bits / 8 + 16 * columns * rows.div_ceil(down);
        Ok(taken.cost(bytes, 0))
    }

    /// A layer of a model.
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
        // Heads that share keys are rows of one product.
        let group = heads / shared * work.tokens;
        let pairs = work.sequences * shared;
        all += self.matrix([group, head, work.context])?.times(pairs);
        all += self.matrix([group, work.context, head])?.times(pairs);
        all += self.rows(Steps::Softmax, [group, work.context])?.times(pairs);
        all += self.pack([group, head])?.times(pairs);
        all += self.pack([group, work.context])?.times(pairs);
        // Rows that are packed: for queries, keys and values; for the output projection; for both parts of the
        // feed-forward network.
        for columns in [width, model.queries(), width, model.between, 2 * head * shared] {
            all += self.pack([tokens, columns])?;
        }
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

impl Costs for Tender {
    fn about(&self) -> String {
        let Caps { rows, columns, .. } = self.caps;
        format!("{rows} x {columns} PEs, {:?}, {} groups", self.integer, self.groups)
    }

    fn peak(&self) -> f64 {
        let [rows, columns] = self.panels();
        (rows * columns) as f64
    }

    fn layer(&self, model: &Model, work: Work) -> Result<Cost> {
        self.layer(model, work)
    }

    fn head(&self, model: &Model, sequences: u64) -> Result<Cost> {
        let mut all =
            self.rows(if model.gated { Steps::RmsNorm } else { Steps::LayerNorm }, [sequences, model.width])?;
        all += self.pack([sequences, model.width])?;
        all += self.matrix([sequences, model.width, model.vocabulary])?;
        Ok(all)
    }
}
