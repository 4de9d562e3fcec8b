//! Tokens in flight to the streams: from their commands to the answer of the last block.

use super::super::{Append, Shape};
use super::blocks::Blocks;
use super::pack::Packed;
use super::streams::Tiles;
use super::timing::Timing;
use crate::accelerators::cycles::{Dmas, Flow, Packets, Reader, Times, Words, latest};

/// Cycles from the beginning of an append to the first cycle in which a tile can be taken: for an open sequence, and
/// for a new one.
const GOES_ON: u64 = 1;
const BEGINS: u64 = 4;
/// Cycles from the beginning to the tile of zeros that ends a given-up sequence; cycles from the last block of that
/// sequence to the first tile of the new one.
const ENDS: u64 = 2;
const FOLLOWS: u64 = 4;

/// An append in flight.
#[derive(Clone, Debug)]
pub(super) struct Appended {
    /// Keys and values of a tile.
    words: [Words; 2],
    tiles: i64,
    /// Tiles of a token, and how many of them come from memory.
    of_token: i64,
    of_row: i64,
    first: u64,
    /// When each tile was taken.
    taken: Times,
    sides: [Packed; 2],
    blocks: Blocks,
}

impl Appended {
    /// An append whose commands are offered in the cycle after `begin`.
    pub fn new(
        (timing, shape): (&Timing, &Shape),
        operation: &Append,
        (tiles, given_up): (&[Tiles; 2], Option<&[Tiles; 2]>),
        (begin, dmas): (u64, &mut Dmas),
    ) -> Self {
        let (bus_bytes, lanes) = (timing.shell.bus_bytes, u64::from(shape.lanes));
        for (reader, side) in dmas.readers.iter_mut().zip(&operation.sides) {
            reader.offer(&side.rows, begin + 1);
        }
        let bits = 8 * u64::from(operation.channels);
        let words = || Words::of_rows(Packets::new(8 * bus_bytes, 8 * lanes, [(bits, operation.tokens.into())]));
        let of_token = i64::from(shape.tiles);
        let ended = |tiles: &Tiles| Packed::new(tiles, of_token as u64 - 1).ended(begin + ENDS);
        let ends = given_up.into_iter().flatten().filter_map(ended).max();
        let first = match ends {
            _ if operation.position > 0 => begin + GOES_ON,
            Some(end) => end + FOLLOWS,
            None => begin + BEGINS,
        };
        let sides = tiles.each_ref().map(|tiles| Packed::new(tiles, 0));
        let place = |side: usize| {
            let (first, count) = sides[side].blocks();
            (&operation.sides[side].area, first, count)
        };
        Self {
            words: [words(), words()],
            tiles: i64::from(operation.tokens) * of_token,
            of_token,
            of_row: bits.div_ceil(8 * lanes) as i64,
            first,
            taken: Times::default(),
            blocks: Blocks::new(bus_bytes, [place(0), place(1)]),
            sides,
        }
    }

    /// When the last tile of a token was taken.
    #[cfg(test)]
    pub fn token(&self, token: i64) -> u64 {
        self.taken.behind((token + 1) * self.of_token - 1, 0).unwrap_or(0)
    }

    /// A tile is taken when both sides of it are there and both sides are free.
    fn take(&mut self) -> bool {
        let n = self.taken.known();
        if n == self.tiles {
            return false;
        }
        let (token, place) = (n / self.of_token, n % self.of_token);
        let comes = place < self.of_row;
        let word = |words: &Words| if comes { words.shown(token * self.of_row + place) } else { Some(0) };
        let [keys, values] = &self.words;
        let [first, second] = &self.sides;
        let there = latest([word(keys), word(values), Some(self.first), self.taken.behind(n - 1, 1)]);
        let Some(time) = latest([there, first.free(n), second.free(n)]) else { return false };
        self.taken.push(time);
        if comes {
            self.words.iter_mut().for_each(|words| words.left.push(time));
        }
        true
    }
}

impl Flow for Appended {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        for (words, reader) in self.words.iter_mut().zip(&mut dmas.readers) {
            moved |= words.take(reader);
        }
        moved |= self.take();
        for (side, left) in self.sides.iter_mut().zip(&self.blocks.left) {
            moved |= side.advance(&self.taken, left);
        }
        moved | self.blocks.advance(&mut dmas.writer)
    }

    /// The side of the next block may depend on events that are not known yet.
    fn decide(&mut self, dmas: &mut Dmas, until: Option<u64>) -> bool {
        let shown = self.sides.each_ref().map(|side| &side.shown);
        self.blocks.offer(shown, &mut dmas.writer, until)
    }

    fn end(&self, dmas: &Dmas) -> Option<u64> {
        let [keys, values] = self.sides.each_ref().map(Packed::end);
        let tiles = self.taken.behind(self.tiles - 1, 1);
        let settled = latest([tiles, keys, values, self.blocks.end(&dmas.writer)])?;
        // All of this is reported in the cycle after the last end of a command.
        let ends = dmas.readers.iter().map(Reader::end).chain([dmas.writer.end()]);
        ends.into_iter().try_fold(settled - 1, |end, time| Some(end.max(time?)))
    }
}
