//! Pruned tiles of a side become blocks.

use super::streams::{BLOCK, Tiles};
use crate::accelerators::cycles::{Times, extend, latest};

/// A side of an append, from its pruned tiles to its blocks.
#[derive(Clone, Debug)]
pub(super) struct Packed {
    tiles: Tiles,
    /// Full blocks before the first tile.
    before: u64,
    /// Cycles between the last buffered tile and the first tile of levels: one for each tile that the last token lacks.
    padding: u64,
    /// When each tile was compacted, and when it was buffered.
    compacted: Times,
    kept: Times,
    /// When each tile entered the monitor, and the first and second half of the quantizer. Tiles of initial levels come
    /// first.
    monitored: Times,
    first: Times,
    second: Times,
    /// When each chunk was built, and when it joined the chunks before.
    built: Times,
    joined: Times,
    /// When each block is there.
    pub shown: Times,
}

impl Packed {
    /// `padding`: tiles that the last token lacks.
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

    /// The number of the first block, and the number of blocks that become full.
    pub fn blocks(&self) -> (u64, i64) {
        (self.before, (self.tiles.end() / BLOCK - self.before) as i64)
    }

    /// When the input register is free for incoming tile `n`.
    pub fn free(&self, n: i64) -> Option<u64> {
        self.compacted.behind(self.tiles.kept + n - 1, 0)
    }

    /// When the quantizer takes tile `n`.
    fn quantized(&self, n: i64) -> Option<u64> {
        if n < self.tiles.buffered { self.kept.behind(n, 0) } else { self.monitored.behind(self.tiles.initial + n, 0) }
    }

    /// When the next tile goes to the monitor. Initial levels and buffered tiles go once the last tile is buffered.
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

    /// When tile `tile` leaves the quantizer: with its last chunk.
    fn packed(&self, tile: i64) -> Option<u64> {
        if tile < 0 { Some(0) } else { self.built.behind(self.tiles.last[tile as usize], 0) }
    }

    fn next_built(&self) -> Option<u64> {
        let n = self.built.known();
        let chunk = self.tiles.chunks.get(n as usize)?;
        latest([self.second.behind(chunk.tile, 1), self.built.behind(n - 1, 1), self.joined.behind(n - 1, 0)])
    }

    /// A chunk that fills a block waits until the block before has left; `left` has these times.
    fn next_joined(&self, left: &Times) -> Option<u64> {
        let n = self.joined.known();
        let chunk = self.tiles.chunks.get(n as usize)?;
        let block = if chunk.fills() { (chunk.at / BLOCK - self.before) as i64 } else { 0 };
        latest([self.built.behind(n, 1), self.joined.behind(n - 1, 1), left.behind(block - 1, 0)])
    }

    /// `taken`: when tiles came. `left`: when blocks left.
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

    /// The first cycle in which all chunks are in the open block or in blocks that are there. If tiles only wait, at
    /// once.
    pub fn end(&self) -> Option<u64> {
        self.joined.behind(self.tiles.chunks.len() as i64 - 1, 1)
    }

    /// When the last block of a stream is there, if the stream ends with a tile that is taken in cycle `taken` and its
    /// blocks leave at once.
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
        // Bits beyond a block make one more block.
        let beyond = chunk.at % BLOCK + chunk.bits > BLOCK;
        Some(self.end()? + u64::from(beyond))
    }
}
