//! Products of a decoder: packings, and products of integers.

use anyhow::Result;
use host::Descriptor;
use host::layout::header;
use host::tender::operations::{matmul, pack, vector};
use host::tender::{Caps, MatMulJob, Pack, PackJob, Product, Sign};
use host::vector::{Caps as Vector, Operand};

use super::image::{INTEGER, Projection};
use super::placed::{Cache, HeadBuffers, Weights};
use crate::pass::Shares;
use crate::whole::{Executor, Move, Products, Seen, Steps, Stored, rows_from};

/// Blocks of rows at most: with more, steps beside products are a smaller part than what each product costs anew.
const BLOCKS: usize = 4;

/// The accelerator, and its buffers of packed rows.
#[derive(Clone, Copy, Debug)]
pub struct OfTender {
    pub(super) caps: Caps,
    /// Operations of the accelerator overlap. Then rows come in blocks: a block's norms beside the products of another
    /// one.
    pub(super) overlaps: bool,
    /// Accelerators side by side.
    pub(super) parts: usize,
    pub(super) left: Operand,
    /// Keys and values of a pass.
    pub(super) stored: Operand,
    /// Constants of probabilities, and their channels in their order.
    pub(super) probabilities: u64,
    pub(super) positions: u64,
    /// Heads take turns, so that two can be under way where operations overlap.
    pub(super) turns: [HeadBuffers; 2],
}

impl OfTender {
    /// Numbers become the left matrix of a product.
    fn pack(
        &self,
        s: &mut Steps<'_>,
        (rows, columns): (usize, usize),
        (x, sign): (Operand, Sign),
        constants: u64,
        out: Operand,
    ) -> Result<()> {
        let (rows, columns) = (rows.try_into()?, columns.try_into()?);
        let pack = Pack { rows, columns, integer: INTEGER, sign, x, constants, out };
        s.then(PackJob::new(pack).build(&self.caps, s.window())?)
    }

    /// A packed left matrix from a row on, which begins a panel.
    fn panels_from(&self, at: Operand, row: usize) -> Operand {
        rows_from(at, row / self.caps.panel_rows(INTEGER))
    }

    /// The keys of a head's text, for products with its queries.
    fn keys(&self, of: &Seen<'_, Cache>) -> Result<Projection> {
        let at = &of.cache.heads[of.head];
        let (channels, columns) = (of.cache.width.try_into()?, of.tokens.try_into()?);
        let (table, constants) = (at.queries.table, at.queries.scores);
        Ok(Projection { panels: at.keys[of.text], channels, columns, table, constants })
    }

    /// The values of a head's text, for products with probabilities.
    fn values(&self, of: &Seen<'_, Cache>) -> Result<Projection> {
        let at = &of.cache.heads[of.head];
        let (channels, columns): (u32, u32) = (of.tokens.try_into()?, of.cache.width.try_into()?);
        let table = (self.positions, channels);
        Ok(Projection { panels: at.values[of.text], channels, columns, table, constants: at.value_constants })
    }
}

impl Products for OfTender {
    type Weights = Weights;
    type Cache = Cache;

    fn vector(&self) -> &Vector {
        &self.caps.vector
    }

    fn overlaps(&self) -> bool {
        self.overlaps
    }

    fn order(&self, descriptor: &Descriptor) -> (usize, u64) {
        let get = |field| descriptor.get(field);
        match get(header::OPCODE) as u8 {
            matmul::OPCODE => {
                let panels = |lines: u64, of: usize| lines.div_ceil(of as u64);
                let rows = panels(get(matmul::ROWS), self.caps.panel_rows(INTEGER));
                let columns = panels(get(matmul::COLUMNS), self.caps.panel_columns(INTEGER));
                // The first panels come before the array begins.
                (2, rows * columns * get(matmul::STEPS) + get(matmul::CHANNELS))
            }
            pack::OPCODE => (1, get(pack::COLUMNS) * get(pack::ROWS).div_ceil(self.caps.panel_rows(INTEGER) as u64)),
            _ => {
                // A row is read and written.
                let beats = get(vector::COLUMNS).div_ceil(self.caps.vector.lanes.into());
                (0, 2 * get(vector::ROWS) * beats)
            }
        }
    }

    /// They are whole panels, so that the steps of one can run beside the products of another one. Where nothing
    /// overlaps, and where hosts collect results after each product, all rows are a block.
    fn blocks(&self, rows: usize) -> Vec<(usize, usize)> {
        let panel = self.caps.panel_rows(INTEGER);
        let blocks = if self.overlaps && self.parts == 1 { rows.div_ceil(panel).min(BLOCKS) } else { 1 };
        let each = rows.div_ceil(blocks).next_multiple_of(panel);
        (0..rows).step_by(each).map(|first| (first, each.min(rows - first))).collect()
    }

    fn project(
        &self,
        s: &mut Steps<'_>,
        (first, rows): (usize, usize),
        x: Operand,
        weights: &Weights,
        out: Operand,
    ) -> Result<()> {
        let (left, size) = (self.panels_from(self.left, first), (rows, weights.projection.channels as usize));
        self.pack(s, size, (x, Sign::Signed), weights.packing, left)?;
        let job = MatMulJob::new(product((rows, Sign::Signed), left, &weights.projection)?, out);
        s.then(job.build(&self.caps, s.window())?)
    }

    fn store(&self, s: &mut Steps<'_>, (first, rows): (usize, usize), cache: &Cache, at: &Stored) -> Result<()> {
        let stored = at.heads.keys * at.heads.width;
        if at.beside != at.values {
            // Values join the keys.
            s.parts((rows, stored), at.values, at.beside, |job, _| job)?;
        }
        let out = self.panels_from(self.stored, first);
        self.pack(s, (rows, 2 * stored), (at.keys, Sign::Signed), cache.packing, out)
    }

    /// It puts the integers of the tokens' keys and values next to the earlier tokens.
    fn keep(&self, on: &mut dyn Executor, cache: &mut Cache, at: &Stored, shares: &Shares) -> Result<()> {
        let (heads, lines) = (at.heads, self.caps.panel_columns(INTEGER));
        let word = self.caps.panel_rows(INTEGER);
        let (width, step) = (heads.width, u32::try_from(word)?);
        let mut moves = Vec::new();
        for share in shares.all() {
            for (row, token) in (share.row..share.row + share.rows).zip(share.first..) {
                // A panel has a word for each channel, and in it a byte for each of some rows.
                let first = rows_from(self.stored, row / word).address + (row % word) as u64;
                let channel = |number: usize| first + (number * word) as u64;
                for (head, at) in cache.heads.iter().enumerate() {
                    // A key is a column of its panel.
                    let place = rows_from(at.keys[share.text], token / lines).address + (token % lines) as u64;
                    let (from, to) = ((channel(head * width), step), (place, u32::try_from(lines)?));
                    moves.push(Move { from, to, count: u32::try_from(width)? });
                    // A value is a word of each panel.
                    for (panel, done) in (0..width).step_by(lines).enumerate() {
                        let place = rows_from(at.values[share.text], panel).address + (token * lines) as u64;
                        let count = u32::try_from(lines.min(width - done))?;
                        let from = (channel((heads.keys + head) * width + done), step);
                        moves.push(Move { from, to: (place, 1), count });
                    }
                }
            }
        }
        on.copy(&moves)
    }

    fn scores(
        &self,
        s: &mut Steps<'_>,
        (rows, queries): (usize, Operand),
        of: Seen<'_, Cache>,
        out: Operand,
    ) -> Result<()> {
        let (left, constants) = (self.turns[of.turn].queries, of.cache.heads[of.head].queries.constants);
        self.pack(s, (rows, of.cache.width), (queries, Sign::Signed), constants, left)?;
        let product = product((rows, Sign::Signed), left, &self.keys(&of)?)?;
        s.then(MatMulJob::new(product, out).constants_per_row().build(&self.caps, s.window())?)
    }

    fn mix(
        &self,
        s: &mut Steps<'_>,
        (rows, probabilities): (usize, Operand),
        of: Seen<'_, Cache>,
        out: Operand,
    ) -> Result<()> {
        let left = self.turns[of.turn].weights;
        self.pack(s, (rows, of.tokens), (probabilities, Sign::Unsigned), self.probabilities, left)?;
        let product = product((rows, Sign::Unsigned), left, &self.values(&of)?)?;
        s.then(MatMulJob::new(product, out).build(&self.caps, s.window())?)
    }
}

/// A product of rows that were packed.
fn product((rows, sign): (usize, Sign), left: Operand, right: &Projection) -> Result<Product> {
    Ok(Product {
        rows: rows.try_into()?,
        columns: right.columns,
        channels: right.channels,
        integer: INTEGER,
        a: (left, sign),
        b: (right.panels, Sign::Signed),
        table: right.table,
        constants: right.constants,
    })
}
