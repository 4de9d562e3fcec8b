//! Events of products and packings.

use super::{Finish, MatMul, OPERAND_WIDTH, Operation, Output, Pack, Shape};
use crate::accelerators::events::{Event, Events, kind};
use crate::accelerators::execution_controller::RESCALE;
use crate::accelerators::memory::Memory;
use crate::common::bus::Command;

/// Bits of an entry of a table, and of a number of fp16.
const ENTRY: u64 = 16;
const HALF: u64 = 16;

impl Operation {
    /// What happens in it besides the accesses to memory. Sums of a tile leave the array in so many parts, and so many
    /// entries of the table double all sums.
    pub(super) fn events(&self, shape: &Shape, [parts, doublings]: [u64; 2]) -> Events {
        match self {
            Self::MatMul(product) => product.events(shape, [parts, doublings]),
            Self::Pack(pack) => pack.events(shape),
            Self::Vector(rows) => rows.events(shape.vector.data_width().into()),
        }
    }
}

impl MatMul {
    /// Entries of the table that double all sums. A table without content names each channel once.
    pub(super) fn doublings(&self, memory: &mut dyn Memory) -> u64 {
        let mut table = vec![0; self.table.row_bytes as usize];
        let read = memory.read(self.table.address, &mut table).is_ok();
        if !read || table.iter().all(|&byte| byte == 0) {
            return self.steps.saturating_sub(self.channels);
        }
        table.chunks(2).filter(|entry| **entry == RESCALE.to_le_bytes()).count() as u64
    }

    /// Each tile reads the whole table. An entry with a channel is a step of all PEs with a product, another one doubles
    /// all sums.
    fn events(&self, shape: &Shape, [parts, doublings]: [u64; 2]) -> Events {
        let Finish { layout, columns, .. } = &self.finish;
        let (down, across) = (self.a.rows, self.b.rows);
        let tiles = down * across;
        let [a, b] = [layout.row_word_bytes(), layout.column_word_bytes()].map(|bytes| 8 * bytes);
        let pes = u64::from(shape.rows) * u64::from(shape.columns);
        let (steps, doublings) = (tiles * (self.steps - doublings), tiles * doublings);
        let sum = u64::from(shape.sum_width());
        // Columns leave with the sums of all rows of the array.
        let leaving = down * columns * parts;
        let mut all = self
            .finish
            .events(shape, down * columns)
            .with(Event::new("product", kind::PRODUCT, 2 * u64::from(OPERAND_WIDTH)), steps * pes)
            .with(Event::new("doubled sum", kind::ELEMENT, shape.accumulator_width.into()), doublings * pes)
            .with(Event::new("table write", kind::SRAM_WRITE, ENTRY), self.steps)
            .with(Event::new("table read", kind::SRAM_READ, ENTRY), tiles * self.steps)
            .with(Event::new("scratchpad A write", kind::SRAM_WRITE, a), down * self.channels)
            .with(Event::new("scratchpad A read", kind::SRAM_READ, a), steps)
            .with(Event::new("scratchpad B write", kind::SRAM_WRITE, b), tiles * self.channels)
            .with(Event::new("scratchpad B read", kind::SRAM_READ, b), steps)
            .with(Event::new("sum write", kind::SRAM_WRITE, sum), tiles * parts * layout.rows * layout.columns)
            .with(Event::new("sum read", kind::SRAM_READ, sum), leaving * u64::from(shape.rows));
        if self.finish.output == Output::Fp16 {
            let beats = self.finish.beats(shape, &self.finish.out);
            all += turned(down * columns * banks(shape), beats * banks(shape));
        }
        all
    }
}

impl Pack {
    fn events(&self, shape: &Shape) -> Events {
        let columns = self.finish.rows.div_ceil(self.finish.layout.rows) * self.finish.columns;
        let (beats, lanes) = (self.finish.beats(shape, &self.x), u64::from(shape.vector.lanes));
        let mut all = self.finish.events(shape, columns);
        all += turned(beats * lanes.min(banks(shape)), columns * banks(shape));
        all
    }
}

impl Finish {
    /// A column of a panel takes the lanes of all rows.
    fn events(&self, shape: &Shape, columns: u64) -> Events {
        Events::default().with(Event::new("result", kind::ELEMENT, 32), columns * u64::from(shape.rows))
    }

    /// Beats of rows of fp16 in the turn buffer. A strip has whole beats.
    fn beats(&self, shape: &Shape, rows: &Command) -> u64 {
        rows.rows * self.columns.div_ceil(shape.vector.lanes.into())
    }
}

/// Banks of the turn buffer: as many as rows of the array, or elements of a beat.
fn banks(shape: &Shape) -> u64 {
    u64::from(shape.rows.max(shape.vector.lanes))
}

/// Numbers that are written to the turn buffer, and read from it.
fn turned(writes: u64, reads: u64) -> Events {
    Events::default()
        .with(Event::new("turn buffer write", kind::SRAM_WRITE, HALF), writes)
        .with(Event::new("turn buffer read", kind::SRAM_READ, HALF), reads)
}
