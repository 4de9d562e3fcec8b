//! Products and packings: from the first command to the last answer.

use crate::common::bus::Command;

use super::panels::{Buffer, Shared, Tiles};
use super::parts::Parts;
use super::timing::Timing;
use crate::accelerators::cycles::{Converter, Dmas, Flow, Pages, Times, Way, extend, latest};
use crate::accelerators::tender::{Finish, MatMul, Output, Pack, Shape};

/// Bits of a record of constants.
const RECORD: u64 = 128;
/// The DMAs of the engine for products that read constants, and the table.
const CONSTANTS: usize = 2;
const TABLE: usize = 3;
/// The DMAs that read the halves of panels of B.
const WEIGHTS: [usize; 2] = [1, 4];
/// Records that can wait.
const RECORDS: i64 = 4;

/// The source of columns of sums.
#[derive(Clone, Debug)]
struct Sums {
    /// Buffers of index and A, and of B.
    buffers: [Buffer; 2],
    weights: Shared,
    tiles: Tiles,
    /// When each column was taken for the addition of parts, in accelerators that add the sums of parts.
    taken: Option<Times>,
}

/// A product or a packing in flight.
#[derive(Clone, Debug)]
pub(super) struct Columns {
    begin: u64,
    /// `None`: the columns come from rows to pack.
    sums: Option<Sums>,
    /// Rows of fp16: rows to pack, or results.
    pages: Option<Pages>,
    finish: Finish,
    /// Columns of a panel, or groups of them.
    columns: i64,
    lanes: Way,
    /// Constants: the DMA that reads them; beats become records, which wait in a FIFO until they are used.
    reader: usize,
    /// The DMA that reads rows to pack.
    rows: usize,
    records: Converter,
    filed: Times,
    used: Times,
    /// The order in which columns leave the output buffer.
    parts: Parts,
    /// When each column was read from its buffer, entered the lanes, and left them.
    read: Times,
    begun: Times,
    left: Times,
    /// Words of panels become beats.
    words: Converter,
    /// When each beat of rows was read from the turn buffer.
    turned: Times,
}

impl Columns {
    /// A product whose commands are offered in the cycle after `begin`.
    pub fn product(
        (timing, shape): (&Timing, &Shape),
        operation: &MatMul,
        parts: Parts,
        (begin, dmas): (u64, &mut Dmas),
    ) -> Self {
        let (finish, bus) = (&operation.finish, 8 * timing.shell.bus_bytes);
        let (a, b) = (8 * finish.layout.row_word_bytes(), 8 * finish.layout.column_word_bytes());
        // Banks are written beat by beat, or word by word where words are wider.
        let buffer = |word: u64, words: u64| Buffer::new(Converter::new(bus, word.max(bus), words * word));
        let buffers = [buffer(16, operation.steps), buffer(a, operation.channels)];
        let halves = shape.halves(operation.channels, b / 8);
        let weights = Shared(halves.into_iter().filter(|half| *half > 0).map(|half| buffer(b, half)).collect());
        let down = operation.a.rows as i64;
        let tiles = Tiles::new(timing.array, parts.clone(), down, begin);
        let sums = Sums { buffers, weights, tiles, taken: timing.explicit.then(Times::default) };
        let mut all = Self::new(timing, (finish, 1), Some(sums), begin);
        (all.parts, all.reader) = (parts, CONSTANTS);
        dmas.readers[0].offer(&operation.a, begin + 1);
        let mut address = operation.b.address;
        for (half, reader) in halves.into_iter().zip(WEIGHTS).filter(|(half, _)| *half > 0) {
            let row_bytes = half * b / 8;
            for _ in 0..down {
                dmas.readers[reader].offer(&Command { address, row_bytes, ..operation.b }, begin + 1);
            }
            address += row_bytes;
        }
        dmas.readers[TABLE].offer(&operation.table, begin + 1);
        all.constants(dmas, begin);
        match finish.output {
            Output::Fp16 => {
                let strips = (timing.strip, 1);
                all.pages = Some(Pages::new(&finish.out, finish.layout.rows, strips, timing.shell.bus_bytes))
            }
            Output::Integers { .. } => dmas.writer.offer(&finish.out, begin + 1),
        }
        all
    }

    /// A packing.
    pub fn pack((timing, shape): (&Timing, &Shape), operation: &Pack, (begin, dmas): (u64, &mut Dmas)) -> Self {
        let (finish, group) = (&operation.finish, shape.pack_columns.into());
        let mut all = Self::new(timing, (finish, group), None, begin);
        let strips = (timing.strip, group);
        all.pages = Some(Pages::new(&operation.x, finish.layout.rows, strips, timing.shell.bus_bytes));
        // An engine of its own has two DMAs.
        (all.reader, all.rows) = if timing.shell.overlaps() { (0, 1) } else { (CONSTANTS, 0) };
        all.constants(dmas, begin);
        dmas.writer.offer(&finish.out, begin + 1);
        all
    }

    /// `group` columns move in a cycle, and count as one.
    fn new(timing: &Timing, (finish, group): (&Finish, u64), sums: Option<Sums>, begin: u64) -> Self {
        let bus = 8 * timing.shell.bus_bytes;
        let word = 8 * finish.layout.row_word_bytes();
        let columns = finish.columns.div_ceil(group) as i64;
        let (filed, used, read, begun, left) = Default::default();
        Self {
            begin,
            sums,
            parts: Parts::none(columns),
            columns,
            pages: None,
            finish: finish.clone(),
            lanes: Way::section(timing.result),
            reader: CONSTANTS,
            rows: 0,
            records: Converter::new(bus, RECORD * group, 8 * finish.constants.row_bytes),
            filed,
            used,
            read,
            begun,
            left,
            words: Converter::new(word * group, bus, word * finish.columns),
            turned: Times::default(),
        }
    }

    /// Constants of columns are read again for each panel.
    fn constants(&mut self, dmas: &mut Dmas, begin: u64) {
        let Command { address, row_bytes, .. } = self.finish.constants;
        let rows = if self.finish.per_row { 1 } else { self.panels() as u64 };
        dmas.readers[self.reader].offer(&Command { address, row_bytes, rows, stride: 0 }, begin + 1);
    }

    fn panels(&self) -> i64 {
        self.finish.rows.div_ceil(self.finish.layout.rows) as i64
    }

    fn integers(&self) -> bool {
        self.finish.output != Output::Fp16
    }

    /// Opens pages and asks for them in turn.
    fn walk(&mut self, dmas: &mut Dmas) -> bool {
        let Some(pages) = &mut self.pages else { return false };
        let (read, left, turned) = (&self.read, &self.left, &self.turned);
        if self.sums.is_none() {
            return pages.walk(&mut dmas.readers[self.rows], self.begin, |rows, [before, earlier]| {
                latest([rows.left.behind(before.1, 1), read.behind(earlier.0, 1)])
            });
        }
        pages.walk(&mut dmas.writer, self.begin, |_, [before, earlier]| {
            latest([left.behind(before.0, 1), turned.behind(earlier.1, 1)])
        })
    }

    /// A column is read when the column before has been taken and its tile, or its page, is there.
    fn next_read(&self, dmas: &Dmas) -> Option<u64> {
        let n = self.read.known();
        if n == self.panels() * self.parts.of_panel() {
            return None;
        }
        let there = match (&self.sums, &self.pages) {
            (Some(sums), _) => sums.tiles.summed(self.parts.leaving(n).part).map(|time| time + 1),
            (None, Some(pages)) => dmas.readers[self.rows].left.behind(pages.last_beat(n), 1),
            (None, None) => None,
        };
        let gone = self.taken().unwrap_or(&self.begun).behind(n - 1, 0);
        latest([there, self.read.behind(n - 1, 1), gone])
    }

    fn taken(&self) -> Option<&Times> {
        self.sums.as_ref().and_then(|sums| sums.taken.as_ref())
    }

    /// When a column is added to the same column of earlier parts. The column before must have been written, or must
    /// have entered the lanes. A sum is not read in the cycle in which it is written.
    fn next_taken(&self) -> Option<u64> {
        let taken = self.taken()?;
        let n = taken.known();
        if n >= self.read.known() {
            return None;
        }
        let gone = if n == 0 {
            Some(0)
        } else {
            let (before, here) = (self.parts.leaving(n - 1), self.parts.leaving(n));
            match before.ends {
                true => self.begun.behind(before.column, 0),
                false => taken.behind(n - 1, if before.place == here.place { 2 } else { 1 }),
            }
        };
        latest([self.read.behind(n, 1), gone])
    }

    /// When the constants of rows were kept: one in each cycle, after the panel before has left the lanes.
    fn next_kept(&self) -> Option<u64> {
        let n = self.used.known();
        if !self.finish.per_row {
            return None;
        }
        let panel = n / self.finish.layout.rows as i64;
        let lanes = self.lanes.cycles;
        latest([
            self.filed.behind(n, 1),
            self.used.behind(n - 1, 1),
            self.begun.behind(panel * self.columns - 1, lanes),
        ])
    }

    /// A column enters the lanes when it is read, its constants are there, and the FIFO after the lanes has room.
    fn next_begun(&self) -> Option<u64> {
        let n = self.begun.known();
        let constants = if self.finish.per_row {
            let panel = n / self.columns;
            let last = ((panel + 1) * self.finish.layout.rows as i64).min(self.finish.rows as i64) - 1;
            self.used.behind(last, 1)
        } else {
            self.filed.behind(n, 1)
        };
        let there = if n >= self.panels() * self.columns {
            None
        } else {
            self.taken().unwrap_or(&self.read).behind(self.parts.end_of(n), 1)
        };
        latest([there, self.begun.behind(n - 1, 1), constants, self.left.behind(n - self.lanes.places, 1)])
    }

    /// Results leave for the words of a panel, or for a page.
    fn next_left(&self, dmas: &Dmas) -> Option<u64> {
        let n = self.left.known();
        let free = match (&self.pages, self.integers()) {
            (_, true) => self.words.free(n, &dmas.writer.came),
            (Some(pages), false) => pages.free(n),
            (None, false) => None,
        };
        latest([self.begun.behind(n, self.lanes.cycles), self.left.behind(n - 1, 1), free])
    }
}

impl Flow for Columns {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = self.walk(dmas);
        if let Some(Sums { buffers: [index, a], weights, tiles, .. }) = &mut self.sums {
            for (k, buffer) in WEIGHTS.into_iter().zip(&mut weights.0).chain([(0, &mut *a), (TABLE, &mut *index)]) {
                moved |= buffer.advance(&mut dmas.readers[k]);
            }
            let (read, parts) = (&self.read, &self.parts);
            moved |= tiles.advance(([index, a], weights), |part| read.behind(parts.last(part), 0));
        } else {
            extend!(moved, dmas.readers[self.rows].left, {
                let (n, reader) = (dmas.readers[self.rows].left.known(), &dmas.readers[self.rows]);
                let page = self.pages.as_ref().and_then(|pages| pages.free_for_beat(n));
                latest([reader.shown(n), page])
            });
        }
        extend!(moved, dmas.readers[self.reader].left, {
            let n = dmas.readers[self.reader].left.known();
            latest([dmas.readers[self.reader].shown(n), self.records.free(n, &self.filed)])
        });
        extend!(moved, self.filed, {
            let n = self.filed.known();
            let used = if self.finish.per_row { &self.used } else { &self.begun };
            let shown = self.records.shown(n, &dmas.readers[self.reader].left);
            latest([shown, self.filed.behind(n - 1, 1), used.behind(n - RECORDS, 1)])
        });
        extend!(moved, self.used, self.next_kept());
        extend!(moved, self.read, self.next_read(dmas));
        while let Some(time) = self.next_taken() {
            self.sums.as_mut().and_then(|sums| sums.taken.as_mut()).into_iter().for_each(|taken| taken.push(time));
            moved = true;
        }
        extend!(moved, self.begun, self.next_begun());
        extend!(moved, self.left, self.next_left(dmas));
        if let (Some(pages), false) = (&self.pages, self.integers()) {
            return moved | pages.turn(&self.left, &mut self.turned, &mut dmas.writer);
        }
        extend!(moved, dmas.writer.came, {
            let n = dmas.writer.came.known();
            latest([self.words.shown(n, &self.left), dmas.writer.free(n)])
        });
        moved
    }

    fn end(&self, dmas: &Dmas) -> Option<u64> {
        if self.pages.as_ref().is_some_and(|pages| !pages.all_walked()) {
            return None;
        }
        dmas.end()
    }
}
