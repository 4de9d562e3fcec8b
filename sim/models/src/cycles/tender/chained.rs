//! A layer as one chain of descriptors. Ports keep their turns from one descriptor to the next. Operands follow each
//! other in memory, as a driver places them.

use anyhow::{Context, Result};
use golden::accelerators::cycles::{Recurrence, Turns};
use host::Descriptor;
use host::tender::{MatMulJob, Pack, PackJob, Panels, Product, Sign};
use host::vector::{Epsilon, Operand, VectorJob};

use super::super::shapes::Model;
use super::super::{Room, WINDOW, chain_at, refused};
use super::Tender;

/// Groups of channels of each operand. A calibration may find fewer groups than it was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Groups of the input of queries, keys and values.
    pub attended: u64,
    /// Groups of the queries, head by head.
    pub queries: Vec<u64>,
    /// Groups of the results of all heads.
    pub attention: u64,
    /// Groups of the input of the feed-forward network.
    pub normed: u64,
    /// Groups of the input of the network's last product.
    pub gated: u64,
}

impl Groups {
    /// The same number for all operands, with so many heads.
    #[must_use]
    pub fn all(groups: u64, heads: u64) -> Self {
        let queries = (0..heads).map(|_| groups).collect();
        Self { attended: groups, queries, attention: groups, normed: groups, gated: groups }
    }
}

/// Lines of integers in panels.
#[derive(Clone, Copy)]
struct Packed {
    at: Operand,
    lines: u64,
    inner: u64,
}

/// Address and entries of a table of groups.
type Table = (u64, u32);

struct Chain<'a> {
    tender: &'a Tender,
    room: Room,
    all: Vec<Descriptor>,
}

/// Columns from one on of rows of floats.
fn columns(of: Operand, first: u64) -> Operand {
    Operand { address: of.address + 2 * first, ..of }
}

impl Chain<'_> {
    /// Lines of weights, or lines that the array or a packing writes. The latter have as many lines a panel as the
    /// array has rows.
    fn panels(&mut self, [lines, inner]: [u64; 2], weights: bool) -> Result<Packed> {
        let (caps, kind) = (&self.tender.caps, (self.tender.integer, Sign::Signed));
        let of = if weights { Panels::columns } else { Panels::rows };
        let panels = of(caps, kind, lines as usize, inner as usize)?;
        Ok(Packed { at: self.room.at(panels.panels() as u64, panels.stride())?, lines, inner })
    }

    fn constants(&mut self, count: u64) -> Result<u64> {
        Ok(self.room.at(1, 16 * count)?.address)
    }

    fn table(&mut self, channels: u64, groups: u64) -> Result<Table> {
        let steps = channels + groups - 1;
        Ok((self.room.at(1, 2 * steps)?.address, steps.try_into()?))
    }

    /// Rows of floats become lines.
    fn pack(&mut self, [rows, columns]: [u64; 2], x: Operand) -> Result<Packed> {
        let constants = self.constants(columns)?;
        let out = self.panels([rows, columns], false)?;
        let pack = Pack {
            rows: rows.try_into()?,
            columns: columns.try_into()?,
            integer: self.tender.integer,
            sign: Sign::Signed,
            x,
            constants,
            out: out.at,
        };
        self.all.push(PackJob::new(pack).build(&self.tender.caps, &WINDOW)?);
        Ok(out)
    }

    /// Rows of floats become lines, in groups of channels.
    fn grouped(&mut self, size: [u64; 2], x: Operand, groups: u64) -> Result<(Packed, Table)> {
        let table = self.table(size[1], groups)?;
        Ok((self.pack(size, x)?, table))
    }

    fn product(&mut self, [a, b]: [Packed; 2], table: Table, constants: u64) -> Result<Product> {
        Ok(Product {
            rows: a.lines.try_into()?,
            columns: b.lines.try_into()?,
            channels: a.inner.try_into()?,
            integer: self.tender.integer,
            a: (a.at, Sign::Signed),
            b: (b.at, Sign::Signed),
            table,
            constants: self.constants(constants)?,
        })
    }

    fn multiply(&mut self, (a, table): (Packed, Table), b: Packed, out: Operand) -> Result<()> {
        let product = self.product([a, b], table, b.lines)?;
        self.all.push(MatMulJob::new(product, out).build(&self.tender.caps, &WINDOW)?);
        Ok(())
    }

    /// Packed rows times weights of so many outputs.
    fn project(&mut self, x: (Packed, Table), outputs: u64) -> Result<Operand> {
        let weights = self.panels([outputs, x.0.inner], true)?;
        let out = self.room.rows(x.0.lines, outputs)?;
        self.multiply(x, weights, out)?;
        Ok(out)
    }

    /// Packed rows times weights, added to rows. Room for both comes first.
    fn add(&mut self, x: (Packed, Table), outputs: u64, to: Operand) -> Result<Operand> {
        let size = [x.0.lines, outputs];
        let (out, sum) = (self.room.rows(size[0], outputs)?, self.room.rows(size[0], outputs)?);
        let weights = self.panels([outputs, x.0.inner], true)?;
        self.multiply(x, weights, out)?;
        self.rows(size, [out, sum], |job| job.add_rows(to))?;
        Ok(sum)
    }

    fn rows(
        &mut self,
        [rows, columns]: [u64; 2],
        [x, out]: [Operand; 2],
        steps: impl FnOnce(VectorJob) -> VectorJob,
    ) -> Result<()> {
        let job = steps(VectorJob::new(rows.try_into()?, columns.try_into()?, x, out));
        self.all.push(job.build(&self.tender.caps.vector, &WINDOW)?);
        Ok(())
    }

    fn norm(&mut self, size: [u64; 2], x: Operand) -> Result<Operand> {
        let gains = self.room.rows(1, size[1])?.address;
        let out = self.room.rows(size[0], size[1])?;
        let epsilon = Epsilon::units(1)?;
        self.rows(size, [x, out], |job| job.norm_with_gains(epsilon, gains))?;
        Ok(out)
    }

    /// Attention of all heads, side by side. Values are packed on their way out of the array, as lines of channels.
    fn attend(&mut self, model: &Model, tokens: u64, residual: Operand, groups: &Groups) -> Result<Operand> {
        let (width, head, [heads, shared]) = (model.width, model.head, model.heads);
        let angles = self.room.rows(tokens, heads * head)?;
        let normed = self.norm([tokens, width], residual)?;
        let x = self.grouped([tokens, width], normed, groups.attended)?;
        let turned = |chain: &mut Self, heads: u64| -> Result<Operand> {
            let out = chain.project(x, heads * head)?;
            chain.rows([tokens, heads * head], [out, out], |job| job.rotate(angles))?;
            Ok(out)
        };
        let (queries, keys) = (turned(self, heads)?, turned(self, shared)?);
        let weights = self.panels([shared * head, width], true)?;
        let values = self.panels([shared * head, tokens], false)?;
        let product = self.product([weights, x.0], x.1, shared * head)?;
        let job = MatMulJob::new(product, values.at).constants_per_row().quantize(Sign::Signed);
        self.all.push(job.build(&self.tender.caps, &WINDOW)?);
        let out = self.room.rows(tokens, heads * head)?;
        let [down, _] = self.tender.panels();
        for group in 0..shared {
            let first = group * head / down * u64::from(values.at.stride);
            let at = Operand { address: values.at.address + first, ..values.at };
            let values = Packed { at, lines: head, inner: tokens };
            let keys = self.pack([tokens, head], columns(keys, group * head))?;
            for number in group * heads / shared..(group + 1) * heads / shared {
                let of_head = groups.queries.get(number as usize).context("groups of a head's queries")?;
                let queries = self.grouped([tokens, head], columns(queries, number * head), *of_head)?;
                let scores = self.room.rows(tokens, tokens)?;
                self.multiply(queries, keys, scores)?;
                self.rows([tokens; 2], [scores; 2], |job| job.causal_softmax(1))?;
                let probabilities = self.grouped([tokens; 2], scores, 1)?;
                self.multiply(probabilities, values, columns(out, number * head))?;
            }
        }
        Ok(out)
    }

    /// The feed-forward network up to its last product.
    fn feed(&mut self, model: &Model, tokens: u64, hidden: Operand, groups: u64) -> Result<Operand> {
        let normed = self.norm([tokens, model.width], hidden)?;
        let x = self.grouped([tokens, model.width], normed, groups)?;
        let (gate, up) = (self.project(x, model.between)?, self.project(x, model.between)?);
        let out = self.room.rows(tokens, model.between)?;
        let unit = &self.tender.caps.vector;
        let most = u64::from(unit.lanes * unit.max_beats) / 64 * 64;
        for first in (0..model.between).step_by(most as usize) {
            let size = [tokens, most.min(model.between - first)];
            let factors = columns(up, first);
            let rows = [columns(gate, first), columns(out, first)];
            self.rows(size, rows, |job| job.activate().multiply_rows(factors))?;
        }
        Ok(out)
    }
}

impl Tender {
    /// Cycles of each descriptor of a prompt in a layer with rotary embedding and gate. One chain does the layer, from
    /// residual stream to residual stream.
    ///
    /// # Errors
    /// A layer that does not fit.
    pub fn chained(&self, model: &Model, tokens: u64, groups: &Groups) -> Result<Vec<u64>> {
        let mut chain = Chain { tender: self, room: Room::new(), all: Vec::new() };
        // A driver tries its descriptors one by one.
        chain.room.at(1, Descriptor::BYTES as u64)?;
        let residual = chain.room.rows(tokens, model.width)?;
        let attention = chain.attend(model, tokens, residual, groups)?;
        let x = chain.grouped([tokens, model.head * model.heads[0]], attention, groups.attention)?;
        let hidden = chain.add(x, model.width, residual)?;
        let gated = chain.feed(model, tokens, hidden, groups.normed)?;
        let x = chain.grouped([tokens, model.between], gated, groups.gated)?;
        chain.add(x, model.width, hidden)?;
        let Chain { mut room, all, .. } = chain;
        let job = room.at(1, Descriptor::BYTES as u64 * all.len() as u64)?.address;
        let (limits, mut memory) = chain_at(all, job)?;
        let spent =
            self.timing.job(&self.golden, limits, job, (&mut memory, &mut Turns::default())).map_err(refused)?;
        Ok(spent.iter().map(|spent| spent.cycles).collect())
    }
}
