//! A pass of tokens: the chains of its layers, and the host's part between them.

use anyhow::Result;
use half::f16;
use host::tender::{MatMulJob, Sign};
use host::vector::Operand;
use models::decoder::Family;

use super::chain::{Steps, columns_from, product, rows_from};
use super::image::{INTEGER, Projection, half};
use super::{Decoder, Last};
use crate::pass::{Rows, Share, Shares};
use crate::whole::{Executor, Move, Spent};

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
        let mut steps = Steps::new((&self.caps, &self.window, self.epsilon), self.buffers.job, on, done);
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

    /// From the residual stream to rotated queries, and to keys and values as integers.
    fn begin(&self, s: &mut Steps<'_>, layer: usize, shares: &Shares) -> Result<()> {
        let (width, b, l, heads) = (self.config.width, &self.buffers, &self.layers[layer], self.heads);
        let positions = shares.positions();
        let rows = positions.len();
        let (queries, stored) = (heads.queries * heads.width, heads.keys * heads.width);
        s.norm((rows, width), b.x, b.normed, l.norms[0])?;
        s.pack((rows, width), Sign::Signed, b.normed, l.attention, b.left)?;
        s.project_all(rows, b.left, &l.qkv, [b.share, b.qkv])?;
        if let Some(angles) = self.angles {
            let turned = heads.queries + heads.keys;
            for (row, position) in positions.into_iter().enumerate() {
                let angles = Operand { stride: 0, ..rows_from(angles, position) };
                let (from, to) = (self.by_head(b.qkv, row), self.by_head(b.turned, row));
                s.rows((turned, heads.width), from, to, |job| job.rotate(angles))?;
            }
            // Values join the keys.
            let [from, to] = [b.qkv, b.turned].map(|at| columns_from(at, queries + stored));
            s.parts((rows, stored), from, to, |job, _| job)?;
        }
        s.pack((rows, 2 * stored), Sign::Signed, columns_from(self.turned(), queries), l.stored, b.stored)
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
        probabilities: Operand,
        (values, out): (Projection, Operand),
    ) -> Result<()> {
        let weights = self.buffers.weights;
        s.pack((rows, seen), Sign::Unsigned, probabilities, self.probabilities, weights)?;
        let product = product((rows, Sign::Unsigned), weights, &values)?;
        s.then(MatMulJob::new(product, out).build(&self.caps, &self.window)?)
    }

    /// Queries times keys.
    fn scores(
        &self,
        s: &mut Steps<'_>,
        rows: usize,
        (queries, constants): (Operand, u64),
        (keys, out): (Projection, Operand),
    ) -> Result<()> {
        let left = self.buffers.queries;
        s.pack((rows, self.heads.width), Sign::Signed, queries, constants, left)?;
        let product = product((rows, Sign::Signed), left, &keys)?;
        s.then(MatMulJob::new(product, out).constants_per_row().build(&self.caps, &self.window)?)
    }

    /// Attention of all heads of a text's only token in a pass: heads that share keys are rows of a product.
    fn attend_alone(&self, s: &mut Steps<'_>, layer: usize, share: &Share) -> Result<()> {
        let (heads, b, seen) = (self.heads, &self.buffers, share.first + 1);
        let shared = heads.shared();
        let (queries, out) = (self.by_head(self.turned(), share.row), self.by_head(b.attention, share.row));
        for (number, at) in self.layers[layer].heads.iter().enumerate() {
            let first = number * shared;
            let keys = self.keys(layer, (number, share.text), seen)?;
            let queries = (rows_from(queries, first), at.queries.constants);
            self.scores(s, shared, queries, (keys, rows_from(b.scores, first)))?;
        }
        s.rows((heads.queries, seen), b.scores, b.probabilities, |job| job.softmax(seen as u32))?;
        for number in 0..heads.keys {
            let first = number * shared;
            let values = self.values(layer, (number, share.text), seen)?;
            self.mix(s, (shared, seen), rows_from(b.probabilities, first), (values, rows_from(out, first)))?;
        }
        Ok(())
    }

    /// Attention of all heads of several tokens of a text: tokens are rows of a product for each head.
    fn attend(&self, s: &mut Steps<'_>, layer: usize, share: &Share) -> Result<()> {
        let (heads, b, rows) = (self.heads, &self.buffers, share.rows);
        let seen = share.first + rows;
        for head in 0..heads.queries {
            let number = head / heads.shared();
            let of = |at: Operand| columns_from(rows_from(at, share.row), head * heads.width);
            let queries = (of(self.turned()), self.layers[layer].heads[number].queries.constants);
            let keys = self.keys(layer, (number, share.text), seen)?;
            self.scores(s, rows, queries, (keys, b.scores))?;
            s.rows((rows, seen), b.scores, b.probabilities, |job| job.causal_softmax(share.first as u32 + 1))?;
            let values = self.values(layer, (number, share.text), seen)?;
            self.mix(s, (rows, seen), b.probabilities, (values, of(b.attention)))?;
        }
        Ok(())
    }

    /// From the results of the heads to the end of a layer.
    fn feed(&self, s: &mut Steps<'_>, layer: usize, rows: usize) -> Result<()> {
        let (c, b, l) = (&self.config, &self.buffers, &self.layers[layer]);
        let (row, all) = ((rows, c.width), (rows, self.heads.queries * self.heads.width));
        s.pack(all, Sign::Signed, b.attention, l.attention_out, b.left)?;
        s.project_all(rows, b.left, &l.o, [b.share, b.added])?;
        s.rows(row, b.x, b.hidden, |job| job.add_rows(b.added))?;
        s.norm(row, b.hidden, b.normed, l.norms[1])?;
        s.pack(row, Sign::Signed, b.normed, l.feed_forward, b.left)?;
        s.project(rows, b.left, &l.into, b.into)?;
        let share = c.ffn_width / self.parts;
        let gated = if self.parts > 1 { b.share } else { b.gated };
        s.parts((rows, share), b.into, gated, |job, first| match c.family {
            Family::Llama => job.activate().multiply_rows(columns_from(b.into, share + first)),
            Family::Gpt => job.activate(),
        })?;
        if self.parts > 1 {
            s.gather((rows, share), b.share, b.gated)?;
        }
        s.pack((rows, c.ffn_width), Sign::Signed, b.gated, l.down, b.left)?;
        s.project_all(rows, b.left, &l.back, [b.share, b.added])?;
        s.rows(row, b.hidden, b.x, |job| job.add_rows(b.added))
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
