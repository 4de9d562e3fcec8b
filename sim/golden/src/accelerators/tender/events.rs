//! Events of products and packings.

use super::{Finish, MatMul, OPERAND_WIDTH, Output, Pack, Shape};
use crate::accelerators::events::{Event, Events, kind};
use crate::accelerators::execution_controller::RESCALE;
use crate::accelerators::memory::Memory;
use crate::common::bus::Command;

/// Bits of an entry of a table, and of a number of fp16.
const ENTRY: u64 = 16;
const HALF: u64 = 16;

/// The table of a product, as its engine reads it.
struct Table {
    /// Channels in the order of their steps.
    channels: Vec<u64>,
    /// Entries that double all sums.
    doublings: u64,
}

impl Table {
    /// A table without content names each channel once.
    fn of(product: &MatMul, memory: &mut dyn Memory) -> Self {
        let mut table = vec![0; product.table.row_bytes as usize];
        let read = memory.read(product.table.address, &mut table).is_ok();
        if !read || table.iter().all(|&byte| byte == 0) {
            let doublings = product.steps.saturating_sub(product.channels);
            return Self { channels: (0..product.channels).collect(), doublings };
        }
        let entries = table.chunks(2).map(|entry| u16::from_le_bytes([entry[0], entry[1]]));
        let channels: Vec<u64> = entries.filter(|entry| *entry != RESCALE).map(u64::from).collect();
        let doublings = product.steps - channels.len() as u64;
        Self { channels, doublings }
    }
}

/// A bank of words: lines, which are as wide as the bus where words are narrower.
struct Bank {
    words: u64,
    line_bits: u64,
}

impl Bank {
    fn new(word: u64, bus: u64) -> Self {
        let line_bits = word.max(bus);
        Self { words: line_bits / word, line_bits }
    }

    /// Lines of so many words.
    fn lines(&self, words: u64) -> u64 {
        words.div_ceil(self.words)
    }

    /// Lines that are read for words in this order, `times` times. Words of a line in succession read it once.
    fn reads(&self, order: impl Iterator<Item = u64> + Clone, times: u64) -> u64 {
        let lines = order.map(|word| word / self.words);
        let changes = lines.clone().zip(lines.clone().skip(1)).filter(|(line, next)| line != next || self.words == 1);
        let (changes, first, last) = (changes.count() as u64, lines.clone().next(), lines.last());
        let again = u64::from(first != last || self.words == 1);
        changes * times + first.map_or(0, |_| 1 + (times - 1) * again)
    }

    fn written(&self, name: &'static str, count: u64) -> (Event, u64) {
        (Event::new(name, kind::SRAM_WRITE, self.line_bits), count)
    }

    fn read(&self, name: &'static str, count: u64) -> (Event, u64) {
        (Event::new(name, kind::SRAM_READ, self.line_bits), count)
    }
}

impl MatMul {
    /// What happens in it besides the accesses to memory. Sums of a tile leave the array in so many parts. Each tile
    /// reads the whole table. An entry with a channel is a step of all PEs with a product, another one doubles all sums.
    pub(super) fn events(&self, shape: &Shape, parts: u64, memory: &mut dyn Memory) -> Events {
        let table = Table::of(self, memory);
        let Finish { layout, columns, .. } = &self.finish;
        let (down, across) = (self.a.rows, self.b.rows);
        let tiles = down * across;
        let bus = u64::from(shape.vector.data_width());
        let [a, b, index] =
            [8 * layout.row_word_bytes(), 8 * layout.column_word_bytes(), ENTRY].map(|word| Bank::new(word, bus));
        let pes = u64::from(shape.rows) * u64::from(shape.columns);
        let (steps, doublings) = (tiles * table.channels.len() as u64, tiles * table.doublings);
        let sum = u64::from(shape.sum_width());
        // Columns leave with the sums of all rows of the array.
        let leaving = down * columns * parts;
        let channels = table.channels.iter().copied();
        let halves = shape.halves(self.channels, layout.column_word_bytes());
        let low = channels.clone().filter(|channel| *channel < halves[0]);
        let high = channels.clone().filter(|channel| *channel >= halves[0]).map(|channel| channel - halves[0]);
        let banks = [
            index.written("table write", index.lines(self.steps)),
            index.read("table read", index.reads(0..self.steps, tiles)),
            a.written("scratchpad A write", down * a.lines(self.channels)),
            a.read("scratchpad A read", down * a.reads(channels.clone(), across)),
            b.written("scratchpad B write", tiles * halves.iter().map(|half| b.lines(*half)).sum::<u64>()),
            b.read("scratchpad B read", tiles * (b.reads(low, 1) + b.reads(high, 1))),
        ];
        let mut all = self
            .finish
            .events(shape, down * columns)
            .with(Event::new("product", kind::PRODUCT, 2 * u64::from(OPERAND_WIDTH)), steps * pes)
            .with(Event::new("doubled sum", kind::ELEMENT, shape.accumulator_width.into()), doublings * pes)
            .with(Event::new("sum write", kind::SRAM_WRITE, sum), tiles * parts * layout.rows * layout.columns)
            .with(Event::new("sum read", kind::SRAM_READ, sum), leaving * u64::from(shape.rows));
        for (event, count) in banks {
            all = all.with(event, count);
        }
        if self.finish.output == Output::Fp16 {
            let beats = self.finish.beats(shape, &self.finish.out);
            all += turned(down * columns * banks_of(shape, 1), beats * banks_of(shape, 1));
        }
        all
    }
}

impl Pack {
    /// What happens in it besides the accesses to memory.
    pub(super) fn events(&self, shape: &Shape) -> Events {
        let panels = self.finish.rows.div_ceil(self.finish.layout.rows);
        let (beats, group) = (self.finish.beats(shape, &self.x), shape.pack_columns);
        let mut all = self.finish.events(shape, panels * self.finish.columns);
        let groups = panels * self.finish.columns.div_ceil(group.into());
        all += turned(beats * u64::from(shape.vector.lanes), groups * banks_of(shape, group));
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

/// Banks of a turn buffer that takes `group` columns in a cycle: as many as their elements, or as elements of a beat.
fn banks_of(shape: &Shape, group: u32) -> u64 {
    u64::from((shape.rows * group).max(shape.vector.lanes))
}

/// Numbers that are written to the turn buffer, and read from it.
fn turned(writes: u64, reads: u64) -> Events {
    Events::default()
        .with(Event::new("turn buffer write", kind::SRAM_WRITE, HALF), writes)
        .with(Event::new("turn buffer read", kind::SRAM_READ, HALF), reads)
}
