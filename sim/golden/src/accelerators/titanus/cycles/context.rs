//! Products of rows of x with keys, or with values, of the context.

use super::super::{Matrix, Product, Shape};
use super::stalls::Stalls;
use super::timing::Timing;
use crate::accelerators::cycles::{Packets, Reader, Times, Way, Words, extend, latest};

/// Bits of a sum.
const SUM: u64 = 32;
/// Cycles of a beat in the engine, after the cycle in which it is taken.
const ENGINE: u64 = 2;

/// Numbers that become bytes before the words of a row.
#[derive(Clone, Debug)]
struct Bytes {
    way: Way,
    packets: Packets,
    left: Times,
}

/// Dot products in flight.
#[derive(Clone, Debug)]
pub(super) struct Context {
    rows: i64,
    /// Words of a row of x, and how often the engines have results of a row.
    words: i64,
    results: i64,
    integers: Words,
    /// Bytes of products with values, in place of integers.
    bytes: Option<Bytes>,
    /// When each word of x was taken.
    filled: Times,
    /// When each word of a dot product was read, and when it entered the engine.
    issued: Times,
    entered: Times,
    dots: Stalls,
    gather: Packets,
    of_row: i64,
}

impl Context {
    /// Rows of a product.
    pub fn new((timing, shape): (&Timing, &Shape), product: &Product) -> Self {
        let (bus, lanes) = (8 * timing.shell.bus_bytes, 8 * u64::from(shape.lanes));
        let (bits, rows) = (8 * product.inner, product.x.rows as i64);
        let values = matches!(product.matrix, Matrix::Values { .. });
        let bytes = values.then(|| Bytes {
            way: Way::section(timing.probabilities),
            packets: Packets::new(bus / 2, lanes, [(bits, rows)]),
            left: Times::default(),
        });
        Self {
            rows,
            words: bits.div_ceil(lanes) as i64,
            results: product.columns.div_ceil(timing.engines) as i64,
            integers: Words::of_rows(Packets::new(bus, lanes, [(bits, rows)])),
            bytes,
            filled: Times::default(),
            issued: Times::default(),
            entered: Times::default(),
            dots: Stalls::default(),
            gather: Packets::new(SUM * timing.engines, SUM * timing.drain, [(SUM * product.columns, rows)]),
            of_row: product.columns.div_ceil(timing.drain) as i64,
        }
    }

    /// Beats of sums of a row.
    pub fn of_row(&self) -> i64 {
        self.of_row
    }

    /// When beat `n` of the sums is there. `out` says when earlier beats were taken.
    pub fn shown(&self, n: i64, out: &Times) -> Option<u64> {
        latest([self.gather.shown(n, &self.dots.taken), out.behind(n - 1, 1)])
    }

    /// When word `n` of x is there.
    fn word(&self, n: i64) -> Option<u64> {
        match &self.bytes {
            Some(bytes) => latest([bytes.packets.shown(n, &bytes.left), self.filled.behind(n - 1, 1)]),
            None => self.integers.shown(n),
        }
    }

    /// Takes from the DMA what goes to the words.
    fn take(&mut self, reader: &mut Reader) -> bool {
        let Some(bytes) = &mut self.bytes else { return self.integers.take(reader) };
        let mut moved = false;
        let n = reader.left.known();
        if n < reader.beats()
            && let Some(time) = latest([reader.shown(n), bytes.left.behind(n - bytes.way.places, 1)])
        {
            reader.left.push(time);
            moved = true;
        }
        extend!(moved, bytes.left, {
            let n = bytes.left.known();
            let free = bytes.packets.free(n, &self.filled);
            latest([reader.left.behind(n, bytes.way.cycles), bytes.left.behind(n - 1, 1), free])
        });
        moved
    }

    pub fn advance(&mut self, reader: &mut Reader, out: &Times) -> bool {
        let mut moved = self.take(reader);
        let of_row = self.words * self.results;
        let n = self.filled.known();
        if n < self.rows * self.words {
            let before = self.issued.behind(n / self.words * of_row - 1, 1);
            if let Some(time) = latest([self.word(n), before]) {
                self.filled.push(time);
                if self.bytes.is_none() {
                    self.integers.left.push(time);
                }
                moved = true;
            }
        }
        let n = self.issued.known();
        if n < self.rows * of_row {
            let whole = self.filled.behind((n / of_row + 1) * self.words - 1, 1);
            let time = latest([whole, self.issued.behind(n - 1, 1), self.entered.behind(n - 1, 0)]);
            moved |= time.map(|time| self.issued.push(time)).is_some();
        }
        extend!(moved, self.entered, {
            let n = self.entered.known();
            let there = latest([self.issued.behind(n, 1), self.entered.behind(n - 1, 1)]);
            there.and_then(|time| self.dots.moves(time))
        });
        extend!(moved, self.dots.shown, {
            let n = self.dots.shown.known();
            let last = self.entered.behind((n + 1) * self.words - 1, 0);
            last.and_then(|time| self.dots.moves_behind(time, ENGINE)).map(|added| added + 1)
        });
        extend!(moved, self.dots.taken, {
            let n = self.dots.taken.known();
            latest([self.dots.shown.behind(n, 0), self.gather.free(n, out)])
        });
        moved
    }
}
