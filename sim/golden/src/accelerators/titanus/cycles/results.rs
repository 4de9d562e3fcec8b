//! Sums become results, and results become rows in memory.

use super::super::Product;
use super::timing::Timing;
use crate::accelerators::cycles::{Converter, Packets, Times, Way, Writer, extend, latest};

/// Bits of a result in flight.
const RESULT: u64 = 16;

/// Results in flight.
#[derive(Clone, Debug)]
pub(super) struct Results {
    /// Beats of sums of a row, and how many of them have results.
    of_row: i64,
    used: i64,
    sums: i64,
    way: Way,
    beats: Packets,
    packer: Converter,
    written: i64,
    /// When each beat of sums was taken, or dropped. When each beat of results began, left its way, and went to the
    /// packer.
    pub summed: Times,
    begun: Times,
    left: Times,
    packed: Times,
}

impl Results {
    /// Results of a product whose rows have so many beats of sums.
    pub fn new(timing: &Timing, product: &Product, of_row: i64) -> Self {
        let (bus, beat) = (8 * timing.shell.bus_bytes, RESULT * timing.drain);
        let (bits, rows) = (RESULT * product.columns, product.x.rows as i64);
        let share = if product.integers { 2 } else { 1 };
        let packer = Converter::new(bus / share, bus, bits.div_ceil(bus) * bus / share);
        Self {
            of_row,
            used: product.columns.div_ceil(timing.drain) as i64,
            sums: rows * of_row,
            way: Way::section(timing.results),
            beats: Packets::new(beat, bus, [(bits, rows)]),
            packer,
            written: rows * packer.goes(),
            summed: Times::default(),
            begun: Times::default(),
            left: Times::default(),
            packed: Times::default(),
        }
    }

    /// Takes sums; `shown` says when each beat of sums is there.
    pub fn advance(&mut self, shown: impl Fn(i64, &Times) -> Option<u64>, writer: &mut Writer) -> bool {
        let mut moved = false;
        let n = self.summed.known();
        if n < self.sums {
            let room = self.left.behind(self.begun.known() - self.way.places, 1);
            if let Some(time) = latest([shown(n, &self.summed), room]) {
                self.summed.push(time);
                if n % self.of_row < self.used {
                    self.begun.push(time);
                }
                moved = true;
            }
        }
        extend!(moved, self.left, {
            let n = self.left.known();
            let free = self.beats.free(n, &self.packed);
            latest([self.begun.behind(n, self.way.cycles), self.left.behind(n - 1, 1), free])
        });
        let n = self.packed.known();
        let free = self.packer.free(n, &writer.came);
        if let Some(time) = latest([self.beats.shown(n, &self.left), self.packed.behind(n - 1, 1), free]) {
            self.packed.push(time);
            moved = true;
        }
        let n = writer.came.known();
        if n < self.written
            && let Some(time) = latest([self.packer.shown(n, &self.packed), writer.free(n)])
        {
            writer.came.push(time);
            moved = true;
        }
        moved
    }
}
