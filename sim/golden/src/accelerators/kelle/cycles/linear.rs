//! A product of a linear layer: from the first command to the last answer.

use super::super::{CONSTANT_BYTES, Linear};
use super::pages::Pages;
use super::steps::{Sizes, Steps};
use super::timing::Timing;
use crate::accelerators::cycles::{Dmas, Flow, Packets, Words, extend, latest};
use crate::common::bus::Command;

/// Cycles that a row of weights is in a FIFO in a memory.
const FIFO: u64 = 2;

/// A product in flight.
#[derive(Clone, Debug)]
pub(super) struct Product {
    begin: u64,
    integer: u64,
    /// Beats of weights become rows, which wait in a FIFO.
    weights: Words,
    waiting: i64,
    /// Beats of constants become words of constants for some columns.
    constants: Words,
    columns: i64,
    /// Columns of a group, and of a word of constants.
    group: i64,
    lanes: i64,
    /// Beats of results of a group.
    per_group: i64,
    steps: Steps,
    pages: Pages,
    /// From when on it has the array, if it is known.
    given: Option<u64>,
}

impl Product {
    /// A product with panels of so many columns. Commands are offered in the cycle after `begin`.
    pub fn new((timing, panel): (&Timing, u64), operation: &Linear, (begin, dmas): (u64, &mut Dmas)) -> Self {
        let bus = 8 * timing.shell.bus_bytes;
        let (array, lanes) = (timing.array, bus / 16);
        let (rows, columns, channels) = (operation.out.rows, operation.columns, operation.channels);
        for (reader, command) in dmas.readers.iter_mut().zip([&operation.x, &operation.panels, &operation.constants]) {
            reader.offer(command, begin + 1);
        }
        let width = |first: u64| panel.min(columns - first);
        let firsts = || (0..columns).step_by(panel as usize);
        for first in firsts() {
            let address = operation.out.address + 2 * first;
            dmas.writer.offer(&Command { address, row_bytes: 2 * width(first), ..operation.out }, begin + 1);
        }

        let (groups, tiles) = (columns.div_ceil(array.columns), channels.div_ceil(array.rows));
        let beats = (array.columns / lanes) as i64;
        let sizes = Sizes { vectors: rows as i64, per_group: tiles as i64, beats, apart: 0 };
        let in_tile = |tile: u64| (channels - tile % tiles * array.rows).min(array.rows) as i64;
        let steps = Steps::new(array, sizes, (0..groups * tiles).map(in_tile), timing.sum);
        let pages = firsts().map(|first| {
            let groups = width(first).div_ceil(array.columns) as i64;
            (groups * sizes.vectors * beats, sizes.vectors * width(first).div_ceil(lanes) as i64)
        });
        let weights = Packets::new(bus, 8 * array.columns, [(8 * channels * panel, operation.panels.rows as i64)]);
        let constants = Packets::new(bus, 8 * CONSTANT_BYTES * lanes, [(8 * CONSTANT_BYTES * columns, 1)]);
        Self {
            begin,
            integer: timing.integer,
            weights: Words::of_rows(weights),
            waiting: timing.weights,
            constants: Words::of_rows(constants),
            columns: columns as i64,
            group: array.columns as i64,
            lanes: lanes as i64,
            per_group: sizes.vectors * beats,
            pages: Pages::new(pages),
            steps,
            given: timing.given(),
        }
    }

    /// When all rows are here and their first tile can be read.
    fn here(&self, dmas: &Dmas) -> Option<u64> {
        let x = &dmas.readers[0];
        latest([Some(self.begin + 1), x.left.behind(x.beats() - 1, self.integer + 2)])
    }
}

impl Flow for Product {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        let here = self.here(dmas);
        let [x, panels, records, ..] = &mut dmas.readers[..] else { return moved };
        extend!(moved, x.left, x.shown(x.left.known()));
        while self.weights.take(panels) {
            moved = true;
        }
        extend!(moved, self.weights.left, {
            let n = self.weights.left.known();
            latest([self.weights.shown(n), self.steps.loads.behind(n - self.waiting, 1)])
        });
        while self.constants.take(records) {
            moved = true;
        }
        extend!(moved, self.constants.left, {
            let n = self.constants.left.known();
            // The constants of the next group come when the last sum of the group before has gone.
            let before = n * self.lanes / self.group;
            latest([self.constants.shown(n), self.steps.taken.behind(before * self.per_group - 1, 1)])
        });
        let (columns, group, lanes, per_group) = (self.columns, self.group, self.lanes, self.per_group);
        let (weights, constants, pages, given) = (&self.weights.left, &self.constants.left, &self.pages, self.given);
        let known = |n: i64| {
            let end = ((n / per_group + 1) * group).min(columns);
            constants.behind((end + lanes - 1) / lanes - 1, 1)
        };
        moved |= self.steps.advance(here, |n| latest([weights.behind(n, FIFO), given]), known, |n| pages.free(n));
        let came = &dmas.writer.came;
        moved |= self.pages.advance(&self.steps.left, |n| came.behind(n, 0));
        extend!(moved, dmas.writer.came, {
            let n = dmas.writer.came.known();
            latest([self.pages.shown(n), dmas.writer.free(n)])
        });
        moved
    }

    fn given(&mut self, time: u64) {
        self.given = Some(time);
    }
}
