//! Blocks of two streams in flight to memory, one command each.

use crate::accelerators::cycles::{Converter, Times, Writer, extend, latest};
use crate::common::bus::Command;

use super::super::operation::LINE;
use super::streams::BLOCK;

/// Blocks of keys and of values that become full.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// Address of the next block of each side, and the number of its blocks.
    next: [u64; 2],
    count: [i64; 2],
    beats: Converter,
    /// When each block was offered, when its bytes were taken, and when both bytes and command were taken.
    offered: Times,
    given: Times,
    gone: Times,
    /// The side of each block; and for each side, when its blocks were gone.
    sides: Vec<usize>,
    pub left: [Times; 2],
}

impl Blocks {
    /// For each side: the area, the number of the first block, and the number of blocks.
    pub fn new(bus_bytes: u64, sides: [(&Command, u64, i64); 2]) -> Self {
        let (offered, given, gone, left) = Default::default();
        let next = sides.map(|(area, first, _)| area.address + LINE * first);
        let beats = Converter::new(BLOCK, 8 * bus_bytes, BLOCK);
        Self { next, count: sides.map(|(.., count)| count), beats, offered, given, gone, sides: Vec::new(), left }
    }

    fn all(&self) -> i64 {
        self.count.iter().sum()
    }

    /// Offers the next block, if it is known which block is next. `shown` says when the blocks of each side are there.
    /// All unknown events happen after `until`, if ever. Keys come first.
    pub fn offer(&mut self, shown: [&Times; 2], writer: &mut Writer, until: Option<u64>) -> bool {
        let n = self.offered.known();
        let Some(free) = self.gone.behind(n - 1, 1) else { return false };
        let unknown = until.unwrap_or(u64::MAX);
        let when = |side: usize| {
            let next = self.left[side].known();
            if next == self.count[side] {
                return u64::MAX;
            }
            shown[side].behind(next, 0).map_or(unknown.saturating_add(1), |time| time.max(free))
        };
        let [keys, values] = [when(0), when(1)];
        let (side, time) = if keys <= values { (0, keys) } else { (1, values) };
        if time > unknown || time == u64::MAX {
            return false;
        }
        self.offered.push(time);
        self.sides.push(side);
        let address = self.next[side];
        self.next[side] += LINE;
        writer.offer(&Command { address, row_bytes: LINE, rows: 1, stride: LINE }, time);
        true
    }

    pub fn advance(&mut self, writer: &mut Writer) -> bool {
        let mut moved = false;
        extend!(moved, self.given, {
            let n = self.given.known();
            latest([self.offered.behind(n, 0), self.beats.free(n, &writer.came)])
        });
        while let Some(time) = self.next_gone(writer) {
            self.left[self.sides[self.gone.known() as usize]].push(time);
            self.gone.push(time);
            moved = true;
        }
        while writer.came.known() < self.all() * self.beats.goes() {
            let n = writer.came.known();
            let Some(time) = latest([self.beats.shown(n, &self.given), writer.free(n)]) else { break };
            writer.came.push(time);
            moved = true;
        }
        moved
    }

    fn next_gone(&self, writer: &Writer) -> Option<u64> {
        let n = self.gone.known();
        if n == self.offered.known() { None } else { latest([self.given.behind(n, 0), writer.taken(n)]) }
    }

    /// The first cycle without a block in flight.
    pub fn end(&self, writer: &Writer) -> Option<u64> {
        let beats = writer.came.behind(self.all() * self.beats.goes() - 1, 1);
        latest([beats, self.gone.behind(self.all() - 1, 1)])
    }
}
