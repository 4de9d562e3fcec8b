//! Blocks of a stream become tiles again.

use super::streams::{BLOCK, Tiles, widest};
use crate::accelerators::cycles::{Times, extend, latest};

/// A side of a restore, from its blocks to its tiles.
#[derive(Clone, Debug)]
pub(super) struct Unpacked {
    tiles: Tiles,
    /// Blocks, with the block on the chip.
    blocks: i64,
    /// Bits that must be there for a cut, and number of such windows of padding.
    window: u64,
    padding: i64,
    /// When each block was taken, and when it was used up.
    pub fed: Times,
    freed: Times,
    /// When each chunk and each window of padding was cut off.
    cut: Times,
    /// When each tile was assembled, and when its product took it.
    assembled: Times,
    entered: Times,
    /// When each tile of a token was rebuilt, and when it was given. The caller that takes it adds the second time.
    rebuilt: Times,
    pub given: Times,
}

impl Unpacked {
    /// A stream of tiles of so many lanes.
    pub fn new(tiles: &Tiles, lanes: u64) -> Self {
        let (fed, freed, cut, assembled, entered) = Default::default();
        let (rebuilt, given) = Default::default();
        let (end, window) = (tiles.end(), widest(lanes));
        let blocks = end.div_ceil(BLOCK);
        let padding = (blocks * BLOCK - end).div_ceil(window) as i64;
        let (blocks, tiles) = (blocks as i64, tiles.clone());
        Self { tiles, blocks, window, padding, fed, freed, cut, assembled, entered, rebuilt, given }
    }

    /// When block `n` is the first one.
    fn present(&self, n: i64) -> Option<u64> {
        latest([self.fed.behind(n, 1), self.freed.behind(n - 1, 1)])
    }

    /// When so many bits from a place on are there, or all bits up to the end of the stream.
    fn there(&self, at: u64, bits: u64) -> Option<u64> {
        let block = (at / BLOCK) as i64;
        let next = if at % BLOCK + bits > BLOCK && block + 1 < self.blocks { block + 1 } else { -1 };
        latest([self.present(block), self.fed.behind(next, 1)])
    }

    /// When the next chunk or window of padding is cut, and whether its block is then used up.
    fn next_cut(&self) -> Option<(u64, bool)> {
        let n = self.cut.known();
        let Some(chunk) = self.tiles.chunks.get(n as usize) else {
            let window = n - self.tiles.chunks.len() as i64;
            if window >= self.padding {
                return None;
            }
            let at = self.tiles.end() + self.window * window as u64;
            let time = latest([self.there(at, self.window), self.cut.behind(n - 1, 1)])?;
            return Some((time, window + 1 == self.padding));
        };
        let before = if chunk.header { -1 } else { chunk.tile - 1 };
        let free = self.assembled.behind(before, 0);
        Some((latest([self.there(chunk.at, self.window), self.cut.behind(n - 1, 1), free])?, chunk.fills()))
    }

    /// A tile goes on when it is known whether another tile follows it.
    fn next_assembled(&self) -> Option<u64> {
        let n = self.assembled.known();
        let last = *self.tiles.last.get(n as usize)?;
        let known = match self.tiles.chunks.get(last as usize + 1) {
            Some(next) => self.there(next.at, 2),
            None => self.cut.behind(last + self.padding, 0),
        };
        latest([self.cut.behind(last, 1), known, self.entered.behind(n - 1, 0)])
    }

    /// When tile `n` of the tokens is there.
    pub fn shown(&self, n: i64) -> Option<u64> {
        latest([self.rebuilt.behind(n, 1), self.given.behind(n - 1, 1)])
    }

    /// `comes`: when blocks come.
    pub fn advance(&mut self, comes: impl Fn(i64) -> Option<u64>) -> bool {
        let mut all = false;
        loop {
            let mut moved = false;
            extend!(moved, self.fed, {
                let n = self.fed.known();
                let room = latest([self.fed.behind(n - 1, 1), self.freed.behind(n - 2, 0)]);
                if n < self.blocks { latest([comes(n), room]) } else { None }
            });
            while let Some((time, frees)) = self.next_cut() {
                self.cut.push(time);
                if frees {
                    self.freed.push(time);
                }
                moved = true;
            }
            extend!(moved, self.assembled, self.next_assembled());
            extend!(moved, self.entered, {
                let n = self.entered.known();
                let room = self.rebuilt.behind(n - 1 - self.tiles.initial, 0);
                latest([self.assembled.behind(n, 1), self.entered.behind(n - 1, 1), room])
            });
            extend!(moved, self.rebuilt, {
                let n = self.rebuilt.known();
                latest([self.entered.behind(n + self.tiles.initial, 1), self.given.behind(n - 1, 0)])
            });
            if !moved {
                return all;
            }
            all = true;
        }
    }
}
