//! Rows that become tokens: from the first command to the last answer. The places of outliers change the times: a beat
//! with r outliers takes r cycles. The values of the numbers do not.

use super::super::layout::{CODEBOOK_BYTES, HEAD_BYTES, OUTLIER_BYTES, index_bytes};
use super::super::{Quantize, Shape};
use super::scan::Scan;
use super::timing::{Finder, Timing};
use crate::accelerators::cycles::{Dmas, Flow, Packets, Times, Words, extend, latest};
use crate::accelerators::memory::Memory;
use crate::accelerators::outlier_share::share;

/// Bits of an element, of a midpoint, of an outlier with its position.
const ELEMENT: u64 = 16;
const MIDPOINT: u64 = 32;
const RECORD: u64 = 8 * OUTLIER_BYTES;
/// Midpoints of a codebook.
const MIDPOINTS: i64 = 15;
/// Rows between the finder of outliers and the packer of tokens, and rows among them that are in memory.
const TOKENS: i64 = 3;
const BANKS: i64 = 2;
/// Cycles that an outlier is in a FIFO in a memory.
const MEMORY: u64 = 2;

/// A segment of a row.
#[derive(Clone, Copy, Debug)]
struct Segment {
    /// Cycles until the segment's share of the outliers is known.
    shared: u64,
    /// From its last beat to the last pop.
    popped: u64,
}

/// The parts of a token in memory, in beats of the bus.
#[derive(Clone, Copy, Debug)]
struct Layout {
    head: i64,
    indices: i64,
    outliers: i64,
    /// Beats of indices up to the last index; beats of zeros follow.
    indexed: i64,
}

impl Layout {
    fn beats(&self) -> i64 {
        self.head + self.indices + self.outliers
    }
}

/// Rows that become tokens, in flight.
#[derive(Clone, Debug)]
pub(super) struct Quantized {
    begin: u64,
    finder: Finder,
    midpoints: Words,
    rows: i64,
    /// Beats of a row, and of a segment.
    beats: i64,
    segment: i64,
    /// Segments of a row.
    segments: Vec<Segment>,
    /// When scale and count of each row were handed over.
    told: Times,
    scan: Scan,
    layout: Layout,
    /// When the head of each token had left.
    headed: Times,
    indices: Packets,
    records: Packets,
    /// Outliers that have room. Outliers and their beats up to the end of each token. When each outlier was taken.
    room: i64,
    through: Vec<(i64, i64)>,
    gathered: Times,
    /// When each beat of indices and of outliers left. Beats of zeros do not count.
    indices_left: Times,
    records_left: Times,
}

impl Quantized {
    /// Rows whose commands are offered in the cycle after `begin`.
    pub fn new(
        (timing, shape): (&Timing, &Shape),
        (operation, memory): (&Quantize, &mut dyn Memory),
        (begin, dmas): (u64, &mut Dmas),
    ) -> Self {
        // The quantizing operation (opcode 4) is refused in an accelerator that makes no tokens.
        let finder = timing.finder.unwrap_or(Finder { first_pop: 0, next_pop: 0 });
        let bus_bytes = timing.shell.bus_bytes;
        dmas.readers[0].offer(&operation.codebook, begin + 1);
        dmas.readers[1].offer(&operation.x, begin + 1);
        dmas.writer.offer(&operation.out, begin + 1);

        let bus = 8 * bus_bytes;
        let lanes = bus / ELEMENT;
        let beats = operation.columns.div_ceil(lanes) as i64;
        let (n, columns) = (u64::from(shape.orizuru), operation.columns);
        let count = columns.div_ceil(n);
        let segment = |s: u64| {
            let [largest, smallest] = [operation.largest, operation.smallest].map(|k| share(k, s, count));
            // One pop more, for the scale. The smallest values pop a cycle after the largest.
            let last = |share: u64| (share + 1).min(n.min(columns - s * n)) - 1;
            let popped = finder.first_pop + (finder.next_pop * last(largest)).max(1 + finder.next_pop * last(smallest));
            Segment { shared: 1 + largest.max(smallest), popped }
        };
        let marked = operation.marked(memory, n as usize);
        let of_beat = |row: &Vec<bool>| -> Vec<i64> {
            row.chunks(lanes as usize).map(|beat| beat.iter().filter(|&&outlier| outlier).count() as i64).collect()
        };
        let outliers: Vec<i64> = marked.iter().flat_map(of_beat).collect();
        let of_row: Vec<i64> = outliers.chunks(beats as usize).map(|row| row.iter().sum()).collect();
        let in_beat = (bus / RECORD) as i64;
        let through = of_row.iter().scan((0, 0), |(records, words), &row| {
            (*records, *words) = (*records + row, *words + (row + in_beat - 1) / in_beat);
            Some((*records, *words))
        });
        let indexed = 4 * lanes * beats as u64;
        let lengths = of_row.iter().filter(|&&row| row > 0).map(|&row| (RECORD * row as u64, 1));
        let room = OUTLIER_BYTES * (operation.largest + operation.smallest);
        let in_beats = |bytes: u64| (bytes / bus_bytes) as i64;
        Self {
            begin,
            finder,
            midpoints: Words::of_starts(bus_bytes, (MIDPOINT, MIDPOINT * MIDPOINTS as u64), CODEBOOK_BYTES, 0),
            rows: operation.x.rows as i64,
            beats,
            segment: (n / lanes) as i64,
            segments: (0..count).map(segment).collect(),
            told: Times::default(),
            layout: Layout {
                head: in_beats(HEAD_BYTES),
                indices: in_beats(index_bytes(operation.columns)),
                outliers: in_beats(room.next_multiple_of(64)),
                indexed: indexed.div_ceil(bus) as i64,
            },
            headed: Times::default(),
            indices: Packets::new(4 * lanes, bus, [(indexed, 0)]),
            records: Packets::new(RECORD, bus, lengths),
            room: (2 * u64::from(shape.kmax)).min(shape.inner()).max(2) as i64,
            through: through.collect(),
            scan: Scan::new(beats, outliers),
            gathered: Times::default(),
            indices_left: Times::default(),
            records_left: Times::default(),
        }
    }

    /// The last beat of a segment, counted over all rows.
    fn last_beat(&self, segment: i64) -> i64 {
        let of_row = self.segments.len() as i64;
        let (row, s) = (segment / of_row, segment % of_row);
        row * self.beats + ((s + 1) * self.segment).min(self.beats) - 1
    }

    /// The time so many cycles after the last pop of a segment.
    fn served(&self, dmas: &Dmas, segment: i64, cycles: u64) -> Option<u64> {
        if segment < 0 {
            return Some(0);
        }
        let popped = self.segments[segment as usize % self.segments.len()].popped;
        dmas.readers[1].left.behind(self.last_beat(segment), popped + cycles)
    }

    /// When a beat of a row is taken. The first beat of a segment waits until the segment before is finished and its
    /// own share is known. The first beat of a row also waits for a bank.
    fn next_row_beat(&self, dmas: &Dmas) -> Option<u64> {
        let n = dmas.readers[1].left.known();
        let shown = dmas.readers[1].shown(n)?;
        let (row, place) = (n / self.beats, n % self.beats);
        if place % self.segment != 0 {
            return Some(shown);
        }
        let of_row = self.segments.len() as i64;
        let segment = row * of_row + place / self.segment;
        let shared = self.segments[(segment % of_row) as usize].shared;
        let shared = if segment == 0 {
            Some(self.begin + shared)
        } else {
            let first = (segment - 1) / of_row * self.beats + (segment - 1) % of_row * self.segment;
            dmas.readers[1].left.behind(first, shared)
        };
        // The pops come to rest, and the roots are read.
        let rest = self.served(dmas, segment - 1, (self.finder.next_pop + 1).max(3));
        let (told, bank) = if place == 0 {
            (self.told.behind(row - 1, 1), self.scan.left.behind((row - BANKS + 1) * self.beats - 1, 1))
        } else {
            (Some(0), Some(0))
        };
        latest([Some(shown), shared, rest, told, bank])
    }

    /// A row is complete when its last segment is. Its head and its scale need places.
    fn next_told(&self, dmas: &Dmas) -> Option<u64> {
        let row = self.told.known();
        if row == self.rows {
            return None;
        }
        let found = self.served(dmas, (row + 1) * self.segments.len() as i64 - 1, 3);
        latest([found, self.scan.begun.behind(row - TOKENS, 1), self.headed.behind(row - TOKENS, 1)])
    }

    fn through(&self, row: i64) -> (i64, i64) {
        if row < 0 { (0, 0) } else { self.through[row as usize] }
    }

    /// An outlier enters a beat of outliers when the head of its token has left.
    fn next_gathered(&self) -> Option<u64> {
        let n = self.gathered.known();
        if n == self.through(self.rows - 1).0 {
            return None;
        }
        let row = self.through.partition_point(|through| through.0 <= n) as i64;
        latest([
            self.headed.behind(row, 1),
            self.scan.sent.behind(n, MEMORY),
            self.gathered.behind(n - 1, 1),
            self.records.free(n, &self.records_left),
        ])
    }

    /// A beat of a token leaves.
    fn write(&mut self, dmas: &mut Dmas) -> bool {
        let n = dmas.writer.came.known();
        let Layout { head, indices, indexed, .. } = self.layout;
        let (row, place) = (n / self.layout.beats(), n % self.layout.beats());
        if row == self.rows {
            return false;
        }
        let (before, end) = (self.through(row - 1).1, self.through(row).1);
        let index = place - head;
        let record = before + index - indices;
        let is_index = (0..indexed).contains(&index);
        let is_record = index >= indices && record < end;
        let there = if place < head {
            self.told.behind(row, 1)
        } else if is_index {
            self.indices.shown(row * indexed + index, &self.scan.indexed)
        } else if is_record {
            self.records.shown(record, &self.gathered)
        } else {
            Some(0)
        };
        let Some(time) = latest([there, dmas.writer.free(n)]) else { return false };
        dmas.writer.came.push(time);
        if place == head - 1 {
            self.headed.push(time);
        }
        if is_index {
            self.indices_left.push(time);
        }
        if is_record {
            self.records_left.push(time);
        }
        true
    }

    /// When all midpoints are kept.
    fn loaded(&self) -> Option<u64> {
        self.midpoints.left.behind(MIDPOINTS - 1, 1)
    }
}

impl Flow for Quantized {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        moved |= self.midpoints.take(&mut dmas.readers[0]);
        while self.midpoints.left.known() < MIDPOINTS
            && let Some(time) = self.midpoints.shown(self.midpoints.left.known())
        {
            self.midpoints.left.push(time);
            moved = true;
        }
        extend!(moved, dmas.readers[1].left, self.next_row_beat(dmas));
        extend!(moved, self.told, self.next_told(dmas));
        let loaded = self.loaded();
        moved |= self
            .scan
            .advance((&self.told, loaded), (&self.gathered, self.room), |n| self.indices.free(n, &self.indices_left));
        extend!(moved, self.gathered, self.next_gathered());
        moved | self.write(dmas)
    }
}
