//! Rows of x through the macros of the store.

use super::super::{Product, Shape};
use super::stalls::Stalls;
use super::timing::Timing;
use crate::accelerators::cycles::{Packets, Reader, Times, Words, extend, latest};

/// Vectors in flight.
#[derive(Clone, Debug)]
pub(super) struct Store {
    begin: u64,
    rows: i64,
    /// Beats of inputs of a row, and beats of its sums.
    inputs: i64,
    sums: i64,
    steps: u64,
    words: Words,
    /// When each row had its rectangle of macros, was taken by them, and had its last bit in them.
    placed: Times,
    taken: Times,
    stepped: Times,
    /// Results of the macros.
    macros: Stalls,
    /// When each beat of sums began to leave.
    moved: Times,
}

impl Store {
    /// Rows of a product that begins in cycle `begin`.
    pub fn new((timing, shape): (&Timing, &Shape), product: &Product, begin: u64) -> Self {
        let (bits, load, rows) = (8 * product.inner, 8 * timing.load, product.x.rows as i64);
        let outputs = u64::from(shape.outputs);
        Self {
            begin,
            rows,
            inputs: bits.div_ceil(load) as i64,
            sums: (product.columns.div_ceil(outputs) * outputs / timing.drain) as i64,
            steps: timing.steps,
            words: Words::of_rows(Packets::new(8 * timing.shell.bus_bytes, load, [(bits, rows)])),
            placed: Times::default(),
            taken: Times::default(),
            stepped: Times::default(),
            macros: Stalls::default(),
            moved: Times::default(),
        }
    }

    /// Beats of sums of a row.
    pub fn of_row(&self) -> i64 {
        self.sums
    }

    /// When beat `n` of the sums is there. `out` says when earlier beats were taken.
    pub fn shown(&self, n: i64, out: &Times) -> Option<u64> {
        latest([self.moved.behind(n, 1), out.behind(n - 1, 1)])
    }

    pub fn advance(&mut self, reader: &mut Reader, out: &Times) -> bool {
        let mut moved = self.words.take(reader);
        let push = |times: &mut Times, time: Option<u64>| time.map(|time| times.push(time)).is_some();
        let n = self.placed.known();
        if n < self.rows {
            // The register of the vector is free again in the cycle in which the macros take it.
            moved |= push(&mut self.placed, latest([Some(self.begin + 1), self.taken.behind(n - 1, 0)]));
        }
        let n = self.words.left.known();
        if n < self.rows * self.inputs {
            let word = latest([self.words.shown(n), self.placed.behind(n / self.inputs, 1)]);
            moved |= push(&mut self.words.left, word);
        }
        extend!(moved, self.taken, {
            let n = self.taken.known();
            let whole = self.words.left.behind((n + 1) * self.inputs - 1, 1);
            latest([whole, self.stepped.behind(n - 1, 0)]).and_then(|time| self.macros.moves(time))
        });
        extend!(moved, self.stepped, {
            let taken = self.taken.behind(self.stepped.known(), 0);
            taken.and_then(|time| self.macros.moves_behind(time, self.steps))
        });
        extend!(moved, self.macros.shown, {
            let stepped = self.stepped.behind(self.macros.shown.known(), 0);
            stepped.and_then(|time| self.macros.moves_behind(time, 1)).map(|added| added + 1)
        });
        extend!(moved, self.macros.taken, {
            let n = self.macros.taken.known();
            latest([self.macros.shown.behind(n, 0), self.moved.behind(n * self.sums - 1, 0)])
        });
        extend!(moved, self.moved, {
            let n = self.moved.known();
            let vector = self.macros.taken.behind(n / self.sums, 1);
            latest([vector, self.moved.behind(n - 1, 1), out.behind(n - 1, 0)])
        });
        moved
    }
}
