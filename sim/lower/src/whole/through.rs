//! A pass of tokens: the chains of its layers, and the host's part between them.

use anyhow::Result;
use half::f16;
use host::Descriptor;
use host::vector::Operand;
use models::decoder::Family;

use super::decoder::{Decoder, Layer, Products, Seen, Stored};
use super::executor::{Executor, Spent};
use super::placer::{Affine, columns_from, half, rows_from};
use super::steps::{Place, Steps};
use crate::pass::{Rows, Share, Shares};

/// Hears of each job.
type Done<'a> = &'a mut dyn FnMut(&Spent) -> Result<()>;

impl<P: Products> Decoder<P> {
    /// Rows through all layers. Returns the logits of the last row of each text, if they are wanted.
    pub(super) fn through(
        &mut self,
        on: &mut dyn Executor,
        (rows, shares): (&Rows, &Shares),
        wanted: bool,
        done: Done<'_>,
    ) -> Result<Vec<Vec<f16>>> {
        let b = self.buffers;
        for (number, row) in rows.iter().enumerate() {
            let bytes: Vec<u8> = row.iter().flat_map(|&x| half(x).to_le_bytes()).collect();
            on.write(rows_from(b.x, number).address, &bytes)?;
        }
        // A layer is cut after its keys and values: the rest of it, and the next layer up to its cut, are a job.
        for number in 0..=self.layers.len() {
            self.job(number, (rows.len(), shares), wanted, (on, done))?;
            let stored = self.stored();
            if let Some(layer) = self.layers.get_mut(number) {
                self.products.keep(on, &mut layer.matrices.cache, &stored, shares)?;
            }
        }
        let logits = |number| -> Result<Vec<f16>> {
            let mut bytes = vec![0; 2 * self.shape.config.vocabulary];
            on.read(rows_from(b.logits, number).address, &mut bytes)?;
            Ok(bytes.chunks(2).map(|pair| f16::from_le_bytes([pair[0], pair[1]])).collect())
        };
        if wanted { (0..shares.all().len()).map(logits).collect() } else { Ok(Vec::new()) }
    }

    /// From the keys and values of the layer before to those of a layer, or to the end.
    fn job(
        &self,
        number: usize,
        (rows, shares): (usize, &Shares),
        wanted: bool,
        (on, done): (&mut dyn Executor, Done<'_>),
    ) -> Result<()> {
        let order = |descriptor: &Descriptor| self.products.order(descriptor);
        let place = Place {
            vector: self.products.vector(),
            window: &self.window,
            epsilon: self.epsilon,
            at: self.buffers.job,
            order: if self.products.overlaps() { Some(&order) } else { None },
        };
        let mut s = Steps::new(place, on, done);
        if let Some(before) = number.checked_sub(1).map(|before| &self.layers[before]) {
            for share in shares.all() {
                match share.rows {
                    1 => self.attend_alone(&mut s, before, share)?,
                    _ => self.attend(&mut s, before, share)?,
                }
            }
            self.feed(&mut s, before, rows)?;
        }
        match (self.layers.get(number), &self.output) {
            (Some(layer), _) => self.begin(&mut s, layer, shares)?,
            (None, Some(last)) if wanted => self.last(&mut s, shares, last)?,
            _ => {}
        }
        s.end()
    }

    /// Queries, keys and values as scores and values take them.
    fn turned(&self) -> Operand {
        if self.angles.is_some() { self.buffers.turned } else { self.buffers.qkv }
    }

    /// Keys and values of a pass.
    fn stored(&self) -> Stored {
        let (heads, qkv, turned) = (self.shape.heads, self.buffers.qkv, self.turned());
        let [keys, values] = [heads.queries, heads.queries + heads.keys].map(|head| head * heads.width);
        let [keys, beside] = [keys, values].map(|column| columns_from(turned, column));
        Stored { keys, beside, values: columns_from(qkv, values), heads }
    }

    /// A row of a buffer as heads that follow each other, a row each.
    fn by_head(&self, at: Operand, row: usize) -> Operand {
        Operand { stride: 2 * self.shape.heads.width as u32, ..rows_from(at, row) }
    }

    /// Rows times a projection. Afterwards all accelerators have all columns. Each has its part in `share` before.
    fn project_all(
        &self,
        s: &mut Steps<'_>,
        (block, columns): ((usize, usize), usize),
        (x, weights): (Operand, &P::Weights),
        [share, out]: [Operand; 2],
    ) -> Result<()> {
        let parts = self.shape.parts;
        if parts == 1 {
            return self.products.project(s, block, x, weights, out);
        }
        self.products.project(s, block, x, weights, share)?;
        s.gather((block.1, columns / parts), share, out)
    }

    /// From the residual stream to rotated queries, keys and values.
    fn begin(&self, s: &mut Steps<'_>, layer: &Layer<P>, shares: &Shares) -> Result<()> {
        let (width, b, heads) = (self.shape.config.width, &self.buffers, self.shape.heads);
        let positions = shares.positions();
        let all = (heads.queries + 2 * heads.keys) * heads.width;
        for (first, rows) in self.products.blocks(positions.len()) {
            let [x, normed, share, qkv] = [b.x, b.normed, b.share, b.qkv].map(|at| rows_from(at, first));
            s.norm((rows, width), x, normed, layer.norms[0])?;
            self.project_all(s, ((first, rows), all), (normed, &layer.matrices.qkv), [share, qkv])?;
            if let Some(angles) = self.angles {
                let count = heads.queries + heads.keys;
                for (row, &position) in positions.iter().enumerate().skip(first).take(rows) {
                    let angles = Operand { stride: 0, ..rows_from(angles, position) };
                    let (from, to) = (self.by_head(b.qkv, row), self.by_head(b.turned, row));
                    s.rows((count, heads.width), from, to, |job| job.rotate(angles))?;
                }
            }
            self.products.store(s, (first, rows), &layer.matrices.cache, &self.stored().from(first))?;
        }
        Ok(())
    }

    /// Attention of all heads of a text's only token in a pass: heads that share keys are rows of a product.
    fn attend_alone(&self, s: &mut Steps<'_>, layer: &Layer<P>, share: &Share) -> Result<()> {
        let (heads, b, cache) = (self.shape.heads, &self.buffers, &layer.matrices.cache);
        let seen = self.products.kept(cache, share.text, share.first + 1);
        let (shared, overlaps) = (heads.shared(), self.products.overlaps());
        let (queries, out) = (self.by_head(self.turned(), share.row), self.by_head(b.attention, share.row));
        let softmax = |s: &mut Steps<'_>, rows: usize, first: usize| {
            let [scores, probabilities] = b.turns[0].map(|at| rows_from(at, first));
            s.rows((rows, seen), scores, probabilities, |job| job.softmax(seen as u32))
        };
        let of = |head| Seen { cache, head, text: share.text, tokens: seen, turn: head % 2 };
        for head in 0..heads.keys {
            let first = head * shared;
            let scores = rows_from(b.turns[0][0], first);
            self.products.scores(s, (shared, rows_from(queries, first)), of(head), scores)?;
            if overlaps {
                softmax(s, shared, first)?;
            }
        }
        if !overlaps {
            softmax(s, heads.queries, 0)?;
        }
        for head in 0..heads.keys {
            let first = head * shared;
            let probabilities = rows_from(b.turns[0][1], first);
            self.products.weigh(s, (shared, probabilities), &of(head))?;
            self.products.mix(s, (shared, probabilities), of(head), rows_from(out, first))?;
        }
        Ok(())
    }

    /// Attention of all heads of several tokens of a text: tokens are rows of a product for each head.
    fn attend(&self, s: &mut Steps<'_>, layer: &Layer<P>, share: &Share) -> Result<()> {
        let (heads, b, rows, cache) = (self.shape.heads, &self.buffers, share.rows, &layer.matrices.cache);
        let tokens = self.products.kept(cache, share.text, share.first + rows);
        for query in 0..heads.queries {
            let (head, turn) = (query / heads.shared(), query % 2);
            let [scores, probabilities] = b.turns[turn];
            let of = |at: Operand| columns_from(rows_from(at, share.row), query * heads.width);
            let seen = || Seen { cache, head, text: share.text, tokens, turn };
            self.products.scores(s, (rows, of(self.turned())), seen(), scores)?;
            s.rows((rows, tokens), scores, probabilities, |job| job.causal_softmax((tokens - rows) as u32 + 1))?;
            self.products.weigh(s, (rows, probabilities), &seen())?;
            self.products.mix(s, (rows, probabilities), seen(), of(b.attention))?;
        }
        Ok(())
    }

    /// From the results of the heads to the end of a layer.
    fn feed(&self, s: &mut Steps<'_>, layer: &Layer<P>, rows: usize) -> Result<()> {
        let (c, b, m, parts) = (&self.shape.config, &self.buffers, &layer.matrices, self.shape.parts);
        for (first, rows) in self.products.blocks(rows) {
            let (block, row) = ((first, rows), (rows, c.width));
            let [x, hidden, normed, added, into] =
                [b.x, b.hidden, b.normed, b.added, b.into].map(|at| rows_from(at, first));
            let [attention, gated, shared] = [b.attention, b.gated, b.share].map(|at| rows_from(at, first));
            self.project_all(s, (block, c.width), (attention, &m.o), [shared, added])?;
            s.rows(row, x, hidden, |job| job.add_rows(added))?;
            s.norm(row, hidden, normed, layer.norms[1])?;
            self.products.project(s, block, normed, &m.into, into)?;
            let share = c.ffn_width / parts;
            let out = if parts > 1 { shared } else { gated };
            s.parts((rows, share), into, out, |job, first| match c.family {
                Family::Llama => job.activate().multiply_rows(columns_from(into, share + first)),
                Family::Gpt => job.activate(),
            })?;
            if parts > 1 {
                s.gather((rows, share), shared, gated)?;
            }
            self.project_all(s, (block, c.width), (gated, &m.back), [shared, added])?;
            s.rows(row, hidden, x, |job| job.add_rows(added))?;
        }
        Ok(())
    }

    /// The last norm, and the last product, of each text's last row.
    fn last(&self, s: &mut Steps<'_>, shares: &Shares, (norm, weights): &(Affine, P::Weights)) -> Result<()> {
        let (c, b, texts) = (&self.shape.config, &self.buffers, shares.all().len());
        for (number, share) in shares.all().iter().enumerate() {
            let from = rows_from(b.x, share.row + share.rows - 1);
            s.norm((1, c.width), from, rows_from(b.normed, number), *norm)?;
        }
        self.project_all(s, ((0, texts), c.vocabulary), (b.normed, weights), [b.share, b.logits])
    }
}
