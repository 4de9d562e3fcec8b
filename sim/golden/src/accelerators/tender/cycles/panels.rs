//! From memory to the array: panels, indices, tiles.

use super::parts::Parts;
use crate::accelerators::cycles::{Converter, Reader, Times, extend, latest};

/// A double buffer that a DMA fills.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    words: Converter,
    written: Times,
    /// When each row was given back. The user of the buffer adds the times.
    pub freed: Times,
}

impl Buffer {
    pub fn new(words: Converter) -> Self {
        Self { words, written: Times::default(), freed: Times::default() }
    }

    /// A beat is taken when the words of the beat before are written. A word is written when the row two before is
    /// given back.
    pub fn advance(&mut self, reader: &mut Reader) -> bool {
        let mut all = false;
        loop {
            let mut moved = false;
            extend!(moved, reader.left, {
                let n = reader.left.known();
                latest([reader.shown(n), self.words.free(n, &self.written)])
            });
            extend!(moved, self.written, {
                let n = self.written.known();
                let row = n / self.words.goes();
                let shown = self.words.shown(n, &reader.left);
                latest([shown, self.written.behind(n - 1, 1), self.freed.behind(row - 2, 1)])
            });
            if !moved {
                return all;
            }
            all = true;
        }
    }

    /// When a row can be used.
    pub fn there(&self, row: i64) -> Option<u64> {
        let last = (row + 1) * self.words.goes() - 1;
        latest([self.written.behind(last, 1), self.freed.behind(row - 1, 1)])
    }
}

/// Double buffers that share the channels of a panel.
#[derive(Clone, Debug)]
pub(super) struct Shared(pub Vec<Buffer>);

impl Shared {
    fn there(&self, row: i64) -> Option<u64> {
        self.0.iter().map(|buffer| buffer.there(row)).try_fold(0, |all, time| Some(all.max(time?)))
    }

    fn free(&mut self, time: u64) {
        self.0.iter_mut().for_each(|buffer| buffer.freed.push(time));
    }
}

/// The array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    /// Rows of PEs.
    pub rows: u64,
    /// Columns of PEs.
    pub columns: u64,
    /// Tiles of sums that the output buffer holds.
    pub sum_tiles: u64,
    /// Whether sums leave through the accumulators, not through their own registers.
    pub single_drain: bool,
    /// Registers between operands and sum in a PE. With such registers there are more at the edges.
    pub ranks: u64,
}

impl Array {
    /// From the last step of a tile to its last sum.
    fn last_sum(&self) -> u64 {
        self.rows + 2 * self.columns + if self.ranks > 0 { 3 + self.ranks } else { 0 }
    }
}

/// The tiles of a product.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    array: Array,
    parts: Parts,
    tiles: i64,
    begin: u64,
    /// When the last entry of each part of a tile was read, and when the array took its last step.
    ended: Times,
    last_step: Times,
}

impl Tiles {
    /// The parts of each tile of `down` panels of A, from cycle `begin` on.
    pub fn new(array: Array, parts: Parts, down: i64, begin: u64) -> Self {
        let (ended, last_step) = Default::default();
        let tiles = down * parts.across();
        Self { array, parts, tiles, begin, ended, last_step }
    }

    /// When all sums of a part are in the output buffer.
    pub fn summed(&self, part: i64) -> Option<u64> {
        self.last_step.behind(part, self.array.last_sum())
    }

    /// `read(part)`: when the last column of the part was read from the output buffer. The buffer holds
    /// `sum_tiles` parts.
    pub fn advance(
        &mut self,
        ([index, a], b): ([&mut Buffer; 2], &mut Shared),
        read: impl Fn(i64) -> Option<u64>,
    ) -> bool {
        let mut moved = false;
        while let Some((ended, last_step)) = self.next(([index, a], b), &read) {
            self.ended.push(ended);
            self.last_step.push(last_step);
            let parts = self.ended.known();
            if parts % self.parts.of_tile() == 0 {
                b.free(ended);
            }
            if parts % (self.parts.of_tile() * self.parts.across()) == 0 {
                a.freed.push(ended);
            }
            moved = true;
        }
        moved
    }

    /// Each entry is a step: K + G - 1 steps in as many cycles, once both panels are there. The last step waits for a
    /// place for the sums. It also waits until the sums of the tile before have left the PEs.
    fn next(&self, ([index, a], b): ([&Buffer; 2], &Shared), read: impl Fn(i64) -> Option<u64>) -> Option<(u64, u64)> {
        let part = self.ended.known();
        let tile = part / self.parts.of_tile();
        if tile == self.tiles {
            return None;
        }
        let (row, before) = (tile / self.parts.across(), part - 1);
        let entry =
            if part == 0 { Some(index.there(0)?.max(self.begin + 1) + 1) } else { self.ended.behind(before, 1) };
        let first = latest([entry, self.last_step.behind(before, 0), a.there(row), b.there(tile)])?;
        let tiles = self.array.sum_tiles as i64;
        let room = read(part - tiles)? + u64::from(part >= tiles);
        let (any, last) = if self.array.single_drain {
            (self.last_step.behind(before, self.array.columns + 2)?, 0)
        } else {
            (0, self.last_step.behind(before, self.array.columns)?)
        };
        let first_step = (first + 1).max(any);
        let steps = self.parts.steps(part);
        let ended = if steps == 1 { first.max(room) } else { (first_step + steps - 2).max(room) };
        Some((ended, (ended + 1).max(last).max(first_step)))
    }
}
