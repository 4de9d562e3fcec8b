//! Streams that are restored, keys first: from their commands to the last tile, or to the last row in memory.

use super::super::operation::LINE;
use super::super::{Restore, Shape};
use super::streams::{BLOCK, Tiles};
use super::timing::Timing;
use super::unpack::Unpacked;
use crate::accelerators::cycles::{Dmas, Flow, Packets, Times, Words, latest};
use crate::common::bus::Command;

/// Rows that tiles become.
#[derive(Clone, Debug)]
struct Rows {
    commands: [Command; 2],
    packets: Packets,
    /// Beats of a side.
    beats: i64,
    /// When each tile with elements of a row was taken.
    taken: Times,
}

/// A restore in flight.
#[derive(Clone, Debug)]
pub(super) struct Restored {
    areas: [Command; 2],
    /// Whole blocks of each side.
    blocks: [i64; 2],
    words: Words,
    rows: Option<Rows>,
    tiles: i64,
    /// Tiles of a token, and how many of them a row has.
    of_token: i64,
    of_row: i64,
    sides: [Unpacked; 2],
    /// When each side was requested, and when it ended.
    asked: Times,
    over: Times,
}

impl Restored {
    /// A restore that requests keys in the cycle after `begin`.
    pub fn new(
        (timing, shape): (&Timing, &Shape),
        operation: &Restore,
        tiles: &[Tiles; 2],
        (begin, dmas): (u64, &mut Dmas),
    ) -> Self {
        let (bus, lanes) = (8 * timing.shell.bus_bytes, u64::from(shape.lanes));
        let (row, tokens) = (8 * u64::from(operation.channels), i64::from(operation.tokens));
        let packets = Packets::new(8 * lanes, bus, [(row, 2 * tokens)]);
        let beats = tokens * row.div_ceil(bus) as i64;
        let rows = operation.rows.map(|commands| Rows { commands, packets, beats, taken: Times::default() });
        let (of_token, of_row) = (i64::from(shape.tiles), row.div_ceil(8 * lanes) as i64);
        let mut restored = Self {
            areas: operation.areas,
            blocks: tiles.each_ref().map(|tiles| (tiles.end() / BLOCK) as i64),
            words: Words::of_rows(Packets::new(bus, BLOCK, [(BLOCK, 0)])),
            rows,
            tiles: tokens * of_token,
            of_token,
            of_row,
            sides: tiles.each_ref().map(|tiles| Unpacked::new(tiles, lanes)),
            asked: Times::default(),
            over: Times::default(),
        };
        restored.ask(dmas, begin + 1);
        restored
    }

    /// When the last tile of a key was given.
    #[cfg(test)]
    pub fn token(&self, token: i64) -> u64 {
        self.sides[0].given.behind((token + 1) * self.of_token - 1, 0).unwrap_or(0)
    }

    /// Requests the next side. Its commands are offered a cycle later.
    fn ask(&mut self, dmas: &mut Dmas, time: u64) {
        let side = self.asked.known() as usize;
        self.asked.push(time);
        if self.blocks[side] > 0 {
            let area = Command { row_bytes: LINE, rows: self.blocks[side] as u64, stride: LINE, ..self.areas[side] };
            dmas.readers[0].offer(&area, time + 1);
        }
        if let Some(rows) = &self.rows {
            dmas.writer.offer(&rows.commands[side], time + 1);
        }
    }

    /// Feeds blocks from memory, then the block on the chip.
    fn feed(&mut self, side: usize) -> bool {
        let (first, blocks) = (if side == 0 { 0 } else { self.blocks[0] }, self.blocks[side]);
        let (words, asked) = (&mut self.words, self.asked.behind(side as i64, 1));
        let unpacked = &mut self.sides[side];
        let known = unpacked.fed.known();
        let moved = unpacked.advance(|n| {
            let comes = if n < blocks { words.shown(first + n) } else { Some(0) };
            latest([comes, asked])
        });
        for n in known..unpacked.fed.known().min(blocks) {
            let time = unpacked.fed.behind(n, 0);
            time.into_iter().for_each(|time| words.left.push(time));
        }
        moved
    }

    /// Tiles go to the context at once, or become rows.
    fn give(&mut self, dmas: &mut Dmas, side: usize) -> bool {
        let unpacked = &mut self.sides[side];
        let n = unpacked.given.known();
        if n == self.tiles {
            return false;
        }
        let used = n % self.of_token < self.of_row;
        let rows = self.rows.as_mut().filter(|_| used);
        let room = rows.as_ref().map_or(Some(0), |rows| rows.packets.free(rows.taken.known(), &dmas.writer.came));
        let Some(time) = latest([unpacked.shown(n), room]) else { return false };
        unpacked.given.push(time);
        rows.into_iter().for_each(|rows| rows.taken.push(time));
        true
    }

    fn write(&mut self, dmas: &mut Dmas) -> bool {
        let Some(rows) = &self.rows else { return false };
        let n = dmas.writer.came.known();
        if n == 2 * rows.beats {
            return false;
        }
        let Some(time) = latest([rows.packets.shown(n, &rows.taken), dmas.writer.free(n)]) else { return false };
        dmas.writer.came.push(time);
        true
    }

    /// When a side ends. Its last tile must have been given, which is reported a cycle later, and its commands must
    /// have ended.
    fn next_over(&self, dmas: &Dmas, side: usize) -> Option<u64> {
        let given = self.sides[side].given.behind(self.tiles - 1, 2);
        let ends = dmas.readers[0].end()?.max(dmas.writer.end()?);
        latest([given, Some(ends + 1)])
    }
}

impl Flow for Restored {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        moved |= self.words.take(&mut dmas.readers[0]);
        let side = self.over.known() as usize;
        if side == self.sides.len() {
            return moved;
        }
        moved |= self.feed(side) | self.give(dmas, side) | self.write(dmas);
        if let Some(time) = self.next_over(dmas, side) {
            self.over.push(time);
            if side == 0 {
                self.ask(dmas, time + 1);
            }
            moved = true;
        }
        moved
    }

    fn end(&self, _: &Dmas) -> Option<u64> {
        self.over.behind(1, 0).map(|last| last - 1)
    }
}
