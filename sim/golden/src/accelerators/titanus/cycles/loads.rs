//! Weights or constants in flight to the memories on chip.

use super::super::{Load, Shape};
use super::timing::Timing;
use crate::accelerators::cycles::{Dmas, Flow, Packets, Words};

/// Bits of a constant.
const CONSTANT: u64 = 64;

/// A load in flight.
#[derive(Clone, Debug)]
pub(super) struct Loaded {
    words: Words,
    count: i64,
}

impl Loaded {
    /// A load whose command is offered in the cycle after `begin`.
    pub fn new((timing, shape): (&Timing, &Shape), load: &Load, (begin, dmas): (u64, &mut Dmas)) -> Self {
        dmas.readers[0].offer(&load.rows, begin + 1);
        let word = if load.constants { CONSTANT } else { 8 * u64::from(shape.outputs) };
        let (bits, rows) = (8 * load.rows.row_bytes, load.rows.rows as i64);
        let words = Words::of_rows(Packets::new(8 * timing.shell.bus_bytes, word, [(bits, rows)]));
        Self { words, count: rows * bits.div_ceil(word) as i64 }
    }
}

impl Flow for Loaded {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        moved |= self.words.take(&mut dmas.readers[0]);
        let n = self.words.left.known();
        if n < self.count
            && let Some(time) = self.words.shown(n)
        {
            self.words.left.push(time);
            moved = true;
        }
        moved
    }

    fn end(&self, dmas: &Dmas) -> Option<u64> {
        let read = dmas.readers[0].end()?;
        self.words.left.behind(self.count - 1, 0).map(|last| last.max(read))
    }
}
