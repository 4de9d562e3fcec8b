//! Tokens that are saved to memory, and that come back: from the command to the last answer, or to the last write.

use super::super::{HEAD_BYTES, Restore, Save};
use super::timing::Timing;
use super::token::QUERIES;
use crate::accelerators::cycles::{Dmas, Flow, Reader, latest};

/// Tokens that are saved to memory.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    begin: u64,
    /// Beats before a key, and beats of a key or a value.
    head: i64,
    vector: i64,
}

impl Saved {
    /// Tokens whose command is offered in the cycle after `begin`.
    pub fn new(timing: &Timing, operation: &Save, (begin, dmas): (u64, &mut Dmas)) -> Self {
        dmas.writer.offer(&operation.out, begin + 1);
        let beats = |bytes: u64| (bytes / timing.shell.bus_bytes) as i64;
        Self { begin, head: beats(HEAD_BYTES), vector: beats(2 * operation.elements) }
    }

    /// A token is looked up; its key is read and leaves after the score; then its value is read.
    fn next(&self, dmas: &Dmas) -> Option<u64> {
        let came = &dmas.writer.came;
        let n = came.known();
        let place = n % (self.head + 2 * self.vector);
        let reading = match place {
            0 => 4,
            _ if place == self.head + self.vector => 3,
            _ => 1,
        };
        let before = if n == 0 { Some(self.begin + reading) } else { came.behind(n - 1, reading) };
        latest([before, dmas.writer.free(n)])
    }
}

impl Flow for Saved {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        while let Some(time) = self.next(dmas) {
            dmas.writer.came.push(time);
            moved = true;
        }
        moved
    }
}

/// Saved tokens that come back.
#[derive(Clone, Debug)]
pub(super) struct Restored {
    /// From when on the next row is taken.
    begin: u64,
    /// Beats of a row.
    row: i64,
    /// For each token that has not come yet, the last one first, whether it has a slot.
    held: Vec<bool>,
    /// When the last token that came was in the head.
    entered: u64,
}

impl Restored {
    /// Tokens whose command is offered in the cycle after `begin`, and whether each has a slot.
    pub fn new(timing: &Timing, (operation, held): (&Restore, Vec<bool>), (begin, dmas): (u64, &mut Dmas)) -> Self {
        dmas.readers[QUERIES].offer(&operation.saved, begin + 1);
        let row = (operation.saved.row_bytes / timing.shell.bus_bytes) as i64;
        Self { begin: begin + 1, row, held: held.into_iter().rev().collect(), entered: begin }
    }
}

impl Flow for Restored {
    /// A row is taken beat by beat. Then it is written, and a token with a slot gives its key and value up.
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let reader = &mut dmas.readers[QUERIES];
        let mut moved = false;
        while let Some(&slot) = self.held.last() {
            let taken = reader.left.known();
            let from = if taken % self.row == 0 { self.begin } else { 0 };
            let Some(time) = latest([Some(from), reader.shown(taken)]) else { break };
            reader.left.push(time);
            moved = true;
            if (taken + 1) % self.row == 0 {
                self.held.pop();
                self.entered = time + 1 + u64::from(slot);
                self.begin = self.entered + 1;
            }
        }
        moved
    }

    fn end(&self, dmas: &Dmas) -> Option<u64> {
        let readers = dmas.readers.iter().map(Reader::end);
        let entered = self.held.is_empty().then_some(self.entered);
        readers.chain([dmas.writer.end(), entered]).try_fold(0, |end, time| Some(end.max(time?)))
    }
}
