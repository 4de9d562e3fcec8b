//! Pruned tiles of a side become blocks.

use super::streams::{BLOCK, Tiles};
use crate::systems::cycles::{Times, extend, latest};

/// A side of an append, from its pruned tiles to its blocks.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    tiles: Tiles,
    /// Blocks that were full before.
    before: u64,
    /// Cycles between the last tile that is kept and the first one of the levels: tiles that its token lacks.
    padding: u64,
    /// When each tile was compacted, and kept.
    compacted: Times,
    kept: Times,
    /// When each tile, those of initial levels first, went to the monitor, and to the first and second half of the quantizer.
    monitored: Times,
    first: Times,
    second: Times,
    /// When each chunk was built, and put behind the others.
    built: Times,
    joined: Times,
    /// When each block is there.
    pub shown: Times,
}

impl Packed {
    /// Of tiles whose last token lacks so many of its own.
    pub fn new(tiles: &Tiles, padding: u64) -> Self {
        let before = tiles.chunks.first().map_or(0, |chunk| chunk.at / BLOCK);
        let (mut compacted, mut kept, monitored, first, second) = <(Times, Times, _, _, _)>::default();
        for _ in 0..tiles.kept {
            compacted.push(0);
            kept.push(0);
        }
        let (built, joined, shown) = Default::default();
        let tiles = tiles.clone();
        Self { tiles, before, padding, compacted, kept, monitored, first, second, built, joined, shown }
    }

    /// The number of the first block, and how many become full.
    pub fn blocks(&self) -> (u64, i64) {
        (self.before, (self.tiles.end() / BLOCK - self.before) as i64)
    }

    /// When the register in front is free for tile `n` of those that come.
    pub fn free(&self, n: i64) -> Option<u64> {
        self.compacted.behind(self.tiles.kept + n - 1, 0)
    }

    /// When the quantizer takes tile `n`.
    fn quantized(&self, n: i64) -> Option<u64> {
        if n < self.tiles.buffered { self.kept.behind(n, 0) } else { self.monitored.behind(self.tiles.initial + n, 0) }
    }

    /// Initial levels and tiles that were kept come when the last one is kept.
    fn next_monitored(&self) -> Option<u64> {
        let n = self.monitored.known();
        let (tile, buffered) = (n - self.tiles.initial, self.tiles.buffered);
        let there = if tile < buffered {
            self.kept.behind(buffered - 1, 1 + self.padding)
        } else {
            self.compacted.behind(tile, 1)
        };
        latest([there, self.monitored.behind(n - 1, 1), self.first.behind(n - 1, 0)])
    }

    /// The last chunk of a tile takes it.
    fn packed(&self, tile: i64) -> Option<u64> {
        if tile < 0 { Some(0) } else { self.built.behind(self.tiles.last[tile as usize], 0) }
    }

    fn next_built(&self) -> Option<u64> {
        let n = self.built.known();
        let chunk = self.tiles.chunks.get(n as usize)?;
        latest([self.second.behind(chunk.tile, 1), self.built.behind(n - 1, 1), self.joined.behind(n - 1, 0)])
    }

    /// A chunk that fills a block waits for the one before, whose blocks leave as `left` says.
    fn next_joined(&self, left: &Times) -> Option<u64> {
        let n = self.joined.known();
        let chunk = self.tiles.chunks.get(n as usize)?;
        let block = if chunk.fills() { (chunk.at / BLOCK - self.before) as i64 } else { 0 };
        latest([self.built.behind(n, 1), self.joined.behind(n - 1, 1), left.behind(block - 1, 0)])
    }

    /// Tiles came as `taken` says.
    pub fn advance(&mut self, taken: &Times, left: &Times) -> bool {
        let mut all = false;
        loop {
            let mut moved = false;
            extend!(moved, self.compacted, {
                let n = self.compacted.known();
                latest([taken.behind(n - self.tiles.kept, 1), self.compacted.behind(n - 1, 1), self.quantized(n - 1)])
            });
            extend!(moved, self.kept, {
                let n = self.kept.known();
                if n < self.tiles.buffered {
                    latest([self.compacted.behind(n, 1), self.kept.behind(n - 1, 1)])
                } else {
                    None
                }
            });
            extend!(moved, self.monitored, self.next_monitored());
            extend!(moved, self.first, {
                let n = self.first.known();
                latest([self.monitored.behind(n, 1), self.first.behind(n - 1, 1), self.second.behind(n - 1, 0)])
            });
            extend!(moved, self.second, {
                let n = self.second.known();
                latest([self.first.behind(n, 1), self.second.behind(n - 1, 1), self.packed(n - 1)])
            });
            extend!(moved, self.built, self.next_built());
            while let Some(time) = self.next_joined(left) {
                if self.tiles.chunks[self.joined.known() as usize].fills() {
                    self.shown.push(time + 1);
                }
                self.joined.push(time);
                moved = true;
            }
            if !moved {
                return all;
            }
            all = true;
        }
    }

    /// The first cycle in which all is in blocks that are there, and in the open one; at once where tiles only wait.
    pub fn end(&self) -> Option<u64> {
        self.joined.behind(self.tiles.chunks.len() as i64 - 1, 1)
    }

    /// When the last block of a stream is there that ends with a tile that is taken in cycle `taken`, and whose blocks leave at once.
    pub fn ended(mut self, taken: u64) -> Option<u64> {
        let mut last = Times::default();
        last.push(taken);
        loop {
            let left = self.shown.clone();
            if !self.advance(&last, &left) {
                break;
            }
        }
        let chunk = self.tiles.chunks.last()?;
        // What is beyond a block is one more.
        let beyond = chunk.at % BLOCK + chunk.bits > BLOCK;
        Some(self.end()? + u64::from(beyond))
    }
}
