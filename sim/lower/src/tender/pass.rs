//! A pass of tokens: the chains of its layers, and the host's part between them.

use anyhow::Result;
use half::f16;
use host::tender::{MatMulJob, Sign};
use host::vector::Operand;
use models::decoder::Family;

use super::Decoder;
use super::chain::{Steps, columns_from, product, rows_from};
use super::image::{INTEGER, Projection, half};
use super::placed::Last;
use crate::pass::{Rows, Share, Shares};
use crate::whole::{Executor, Move, Spent};

/// Blocks of rows at most: with more, steps beside products are a smaller part than what each product costs anew.
const BLOCKS: usize = 4;

impl Decoder {
    /// Rows through all layers. Returns the logits of the last row of each text, if they are wanted.
    pub(super) fn through(
        &self,
        on: &mut dyn Executor,
        (rows, shares): (&Rows, &Shares),
        wanted: bool,
        done: &mut dyn FnMut(&Spent) -> Result<()>,
    ) -> Result<Vec<Vec<f16>>> {
        for (number, row) in rows.iter().enumerate() {
            let bytes: Vec<u8> = row.iter().flat_map(|&x| half(x).to_le_bytes()).collect();
            on.write(rows_from(self.buffers.x, number).address, &bytes)?;
        }
        let mut steps =
            Steps::new((&self.caps, &self.window, self.epsilon), (self.buffers.job, self.overlaps), on, done);
        self.begin(&mut steps, 0, shares)?;
        for layer in 0..self.layers.len() {
            steps.end()?;
            self.keep(steps.on, layer, shares)?;
            for share in shares.all() {
                match share.rows {
                    1 => self.attend_alone(&mut steps, layer, share)?,
                    _ => self.attend(&mut steps, layer, share)?,
                }
            }
            self.feed(&mut steps, layer, rows.len())?;
            if layer + 1 < self.layers.len() {
                self.begin(&mut steps, layer + 1, shares)?;
            } else if let (true, Some(last)) = (wanted, self.output) {
                self.last(&mut steps, shares, last)?;
            }
        }
        steps.end()?;
        if !wanted {
            return Ok(Vec::new());
        }
        let logits = |number| -> Result<Vec<f16>> {
            let mut bytes = vec![0; 2 * self.config.vocabulary];
            on.read(rows_from(self.buffers.logits, number).address, &mut bytes)?;
            Ok(bytes.chunks(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]])).collect())
        };
        (0..shares.all().len()).map(logits).collect()
    }

    /// Queries, keys and values as scores and values take them.
    fn turned(&self) -> Operand {
        if self.angles.is_some() { self.buffers.turned } else { self.buffers.qkv }
    }

    /// A row of a buffer as heads that follow each other, a row each.
    fn by_head(&self, at: Operand, row: usize) -> Operand {
        Operand { stride: 2 * self.heads.width as u32, ..rows_from(at, row) }
    }

    /// Blocks of rows, the first row and the number of each. They are whole panels, so that the steps of one can run
    /// beside the products of another one. Where nothing overlaps, and where hosts collect results after each product,
    /// all rows are a block.
    fn blocks(&self, rows: usize) -> Vec<(usize, usize)> {
        let panel = self.caps.panel_rows(INTEGER);
        let blocks = if self.overlaps && self.parts == 1 { rows.div_ceil(panel).min(BLOCKS) } else { 1 };
        let each = rows.div_ceil(blocks).next_multiple_of(panel);
        (0..rows).step_by(each).map(|first| (first, each.min(rows - first))).collect()
    }

    /// A packed left matrix from a row on, which begins a panel.
    fn panels_from(&self, at: Operand, row: usize) -> Operand {
        rows_from(at, row / self.caps.panel_rows(INTEGER))
    }

    /// From the residual stream to rotated queries, and to keys and values as integers.
    fn begin(&self, s: &mut Steps<'_>, layer: usize, shares: &Shares) -> Result<()> {
        let (width, b, l, heads) = (self.config.width, &self.buffers, &self.layers[layer], self.heads);
        let positions = shares.positions();
        let (queries, stored) = (heads.queries * heads.width, heads.keys * heads.width);
        for (first, rows) in self.blocks(positions.len()) {
            let [x, normed, share, qkv, turned] =
                [b.x, b.normed, b.share, b.qkv, b.turned].map(|at| rows_from(at, first));
            let left = self.panels_from(b.left, first);
            s.norm((rows, width), x, normed, l.norms[0])?;
            s.pack((rows, width), Sign::Signed, normed, l.attention, left)?;
            s.project_all(rows, left, &l.qkv, [share, qkv])?;
            if let Some(angles) = self.angles {
                let count = heads.queries + heads.keys;
                for (row, &position) in positions.iter().enumerate().skip(first).take(rows) {
                    let angles = Operand { stride: 0, ..rows_from(angles, position) };
                    let (from, to) = (self.by_head(b.qkv, row), self.by_head(b.turned, row));
                    s.rows((count, heads.width), from, to, |job| job.rotate(angles))?;
                }
                // Values join the keys.
                let [from, to] = [qkv, turned].map(|at| columns_from(at, queries + stored));
                s.parts((rows, stored), from, to, |job, _| job)?;
            }
            let stored_from = columns_from(rows_from(self.turned(), first), queries);
            s.pack((rows, 2 * stored), Sign::Signed, stored_from, l.stored, self.panels_from(b.stored, first))?;
        }
        Ok(())
    }

    /// The host's part of a layer: it puts the integers of the tokens' keys and values next to the earlier tokens.
    fn keep(&self, on: &mut dyn Executor, layer: usize, shares: &Shares) -> Result<()> {
        let (heads, lines) = (self.heads, self.caps.panel_columns(INTEGER));
        let word = self.caps.panel_rows(INTEGER);
        let (width, step) = (heads.width, u32::try_from(word)?);
        let mut moves = Vec::new();
        for share in shares.all() {
            for (row, token) in (share.row..share.row + share.rows).zip(share.first..) {
                // A panel has a word for each channel, and in it a byte for each of some rows.
                let first = rows_from(self.buffers.stored, row / word).address + (row % word) as u64;
                let channel = |number: usize| first + (number * word) as u64;
                for (head, at) in self.layers[layer].heads.iter().enumerate() {
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

    /// The keys of a head's text, for products with its queries.
    fn keys(&self, layer: usize, (head, text): (usize, usize), seen: usize) -> Result<Projection> {
        let at = &self.layers[layer].heads[head];
        let (channels, columns) = (self.heads.width.try_into()?, seen.try_into()?);
        let (table, constants) = (at.queries.table, at.queries.scores);
        Ok(Projection { panels: at.keys[text], channels, columns, table, constants })
    }

    /// The values of a head's text, for products with probabilities.
    fn values(&self, layer: usize, (head, text): (usize, usize), seen: usize) -> Result<Projection> {
        let at = &self.layers[layer].heads[head];
        let (channels, columns): (u32, u32) = (seen.try_into()?, self.heads.width.try_into()?);
        let table = (self.positions, channels);
        Ok(Projection { panels: at.values[text], channels, columns, table, constants: at.value_constants })
    }

    /// Probabilities times values.
    fn mix(
        &self,
        s: &mut Steps<'_>,
        (rows, seen): (usize, usize),
        (probabilities, weights): (Operand, Operand),
        (values, out): (Projection, Operand),
    ) -> Result<()> {
        s.pack((rows, seen), Sign::Unsigned, probabilities, self.probabilities, weights)?;
        let product = product((rows, Sign::Unsigned), weights, &values)?;
        s.then(MatMulJob::new(product, out).build(&self.caps, &self.window)?)
    }

    /// Queries times keys.
    fn scores(
        &self,
        s: &mut Steps<'_>,
        rows: usize,
        (queries, constants, left): (Operand, u64, Operand),
        (keys, out): (Projection, Operand),
    ) -> Result<()> {
        s.pack((rows, self.heads.width), Sign::Signed, queries, constants, left)?;
        let product = product((rows, Sign::Signed), left, &keys)?;
        s.then(MatMulJob::new(product, out).constants_per_row().build(&self.caps, &self.window)?)
    }

    /// Attention of all heads of a text's only token in a pass: heads that share keys are rows of a product.
    fn attend_alone(&self, s: &mut Steps<'_>, layer: usize, share: &Share) -> Result<()> {
        let (heads, b, seen) = (self.heads, &self.buffers, share.first + 1);
        let shared = heads.shared();
        let (queries, out) = (self.by_head(self.turned(), share.row), self.by_head(b.attention, share.row));
        let softmax = |s: &mut Steps<'_>, rows: usize, first: usize| {
            let [scores, probabilities] = [b.turns[0].scores, b.turns[0].probabilities].map(|at| rows_from(at, first));
            s.rows((rows, seen), scores, probabilities, |job| job.softmax(seen as u32))
        };
        for (number, at) in self.layers[layer].heads.iter().enumerate() {
            let (first, turn) = (number * shared, &b.turns[number % 2]);
            let keys = self.keys(layer, (number, share.text), seen)?;
            let queries = (rows_from(queries, first), at.queries.constants, turn.queries);
            self.scores(s, shared, queries, (keys, rows_from(b.turns[0].scores, first)))?;
            if self.overlaps {
                softmax(s, shared, first)?;
            }
        }
        if !self.overlaps {
            softmax(s, heads.queries, 0)?;
        }
        for number in 0..heads.keys {
            let first = number * shared;
            let values = self.values(layer, (number, share.text), seen)?;
            let probabilities = rows_from(b.turns[0].probabilities, first);
            let mixed = (probabilities, b.turns[number % 2].weights);
            self.mix(s, (shared, seen), mixed, (values, rows_from(out, first)))?;
        }
        Ok(())
    }

    /// Attention of all heads of several tokens of a text: tokens are rows of a product for each head.
    fn attend(&self, s: &mut Steps<'_>, layer: usize, share: &Share) -> Result<()> {
        let (heads, b, rows) = (self.heads, &self.buffers, share.rows);
        let seen = share.first + rows;
        for head in 0..heads.queries {
            let (number, turn) = (head / heads.shared(), &b.turns[head % 2]);
            let of = |at: Operand| columns_from(rows_from(at, share.row), head * heads.width);
            let queries = (of(self.turned()), self.layers[layer].heads[number].queries.constants, turn.queries);
            let keys = self.keys(layer, (number, share.text), seen)?;
            self.scores(s, rows, queries, (keys, turn.scores))?;
            s.rows((rows, seen), turn.scores, turn.probabilities, |job| job.causal_softmax(share.first as u32 + 1))?;
            let values = self.values(layer, (number, share.text), seen)?;
            self.mix(s, (rows, seen), (turn.probabilities, turn.weights), (values, of(b.attention)))?;
        }
        Ok(())
    }

    /// From the results of the heads to the end of a layer.
    fn feed(&self, s: &mut Steps<'_>, layer: usize, rows: usize) -> Result<()> {
        let (c, b, l) = (&self.config, &self.buffers, &self.layers[layer]);
        for (first, rows) in self.blocks(rows) {
            let from = |at| rows_from(at, first);
            let [x, hidden, normed, added, into] = [b.x, b.hidden, b.normed, b.added, b.into].map(from);
            let (gated, shared, left) = (from(b.gated), from(b.share), self.panels_from(b.left, first));
            let (row, all) = ((rows, c.width), (rows, self.heads.queries * self.heads.width));
            s.pack(all, Sign::Signed, from(b.attention), l.attention_out, left)?;
            s.project_all(rows, left, &l.o, [shared, added])?;
            s.rows(row, x, hidden, |job| job.add_rows(added))?;
            s.norm(row, hidden, normed, l.norms[1])?;
            s.pack(row, Sign::Signed, normed, l.feed_forward, left)?;
            s.project(rows, left, &l.into, into)?;
            let share = c.ffn_width / self.parts;
            let out = if self.parts > 1 { shared } else { gated };
            s.parts((rows, share), into, out, |job, first| match c.family {
                Family::Llama => job.activate().multiply_rows(columns_from(into, share + first)),
                Family::Gpt => job.activate(),
            })?;
            if self.parts > 1 {
                s.gather((rows, share), shared, gated)?;
            }
            s.pack((rows, c.ffn_width), Sign::Signed, gated, l.down, left)?;
            s.project_all(rows, left, &l.back, [shared, added])?;
            s.rows(row, hidden, x, |job| job.add_rows(added))?;
        }
        Ok(())
    }

    /// The last norm, and the last product, of each text's last row.
    fn last(&self, s: &mut Steps<'_>, shares: &Shares, Last { norm, packing, logits }: Last) -> Result<()> {
        let (width, b) = (self.config.width, &self.buffers);
        let texts = shares.all().len();
        for (number, share) in shares.all().iter().enumerate() {
            let from = rows_from(b.x, share.row + share.rows - 1);
            s.norm((1, width), from, rows_from(b.normed, number), norm)?;
        }
        s.pack((texts, width), Sign::Signed, b.normed, packing, b.left)?;
        s.project_all(texts, b.left, &logits, [b.share, b.logits])
    }
}
