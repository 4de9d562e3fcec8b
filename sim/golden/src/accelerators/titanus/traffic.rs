//! Bytes that a job moves, by their kind: from its descriptors, and from the content of the cache.
//!
//! A row takes whole beats of the bus, from its first byte on. It is moved as often as the operation needs it: rows of
//! a product with a stride of 0, and the gains of a norm, are moved again for each row. Only whole blocks of streams
//! move; the bits after them stay on the chip.

use std::ops::{Add, AddAssign};

use crate::accelerators::job::DESCRIPTOR_BYTES;
use crate::common::bus::Command;

use super::operation::LINE;
use super::{Operation, Report, Work};

/// Bytes of a tag.
const TAG: u64 = 4;

/// Traffic of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes with a meaning.
    pub bytes: u64,
    /// Beats of the bus that carry them.
    pub beats: u64,
}

impl Moved {
    /// Rows of a command. Each row begins a beat, because no row begins within a beat of up to 64 bytes.
    fn rows(command: &Command, bus_bytes: u64) -> Self {
        Self { bytes: command.rows * command.row_bytes, beats: command.packed_beats(bus_bytes) }
    }

    /// So many pieces of so many bytes, each with its own beats.
    fn pieces(count: u64, bytes: u64, bus_bytes: u64) -> Self {
        Self { bytes: count * bytes, beats: count * bytes.div_ceil(bus_bytes) }
    }
}

impl Add for Moved {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, beats: self.beats + other.beats }
    }
}

impl AddAssign for Moved {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// All traffic of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Descriptors.
    pub descriptors: Moved,
    /// Weights on their way to the store.
    pub weights: Moved,
    /// Constants of results.
    pub constants: Moved,
    /// Rows that products, steps on rows and appends read.
    pub rows_in: Moved,
    /// Rows that products, steps on rows and restores write.
    pub rows_out: Moved,
    /// Whole blocks of streams that restores read.
    pub blocks_in: Moved,
    /// Whole blocks that appends write.
    pub blocks_out: Moved,
    /// Tags.
    pub tags: Moved,
}

impl AddAssign for Traffic {
    fn add_assign(&mut self, other: Self) {
        for (sum, more) in [
            (&mut self.descriptors, other.descriptors),
            (&mut self.weights, other.weights),
            (&mut self.constants, other.constants),
            (&mut self.rows_in, other.rows_in),
            (&mut self.rows_out, other.rows_out),
            (&mut self.blocks_in, other.blocks_in),
            (&mut self.blocks_out, other.blocks_out),
            (&mut self.tags, other.tags),
        ] {
            *sum += more;
        }
    }
}

impl Traffic {
    /// All reads, as register READ_BEATS counts them.
    #[must_use]
    pub fn read(&self) -> Moved {
        self.descriptors + self.weights + self.constants + self.rows_in + self.blocks_in
    }

    /// All writes, as WRITE_BEATS counts them.
    #[must_use]
    pub fn written(&self) -> Moved {
        self.rows_out + self.blocks_out + self.tags
    }
}

impl Work {
    /// The traffic of the operation on a bus of so many bytes; undefined after an error.
    fn traffic(&self, bus_bytes: u64) -> Traffic {
        let mut all = Traffic::default();
        let rows = |command: &Command| Moved::rows(command, bus_bytes);
        match &self.operation {
            Operation::Load(load) if load.constants => all.constants += rows(&load.rows),
            Operation::Load(load) => all.weights += rows(&load.rows),
            Operation::Product(product) => {
                all.rows_in += rows(&product.x);
                all.rows_out += rows(&product.out);
            }
            Operation::Vector(steps) => {
                // Gains are read again for each row.
                let gains = steps.gains.map(|gains| Command { rows: steps.x.rows, ..gains });
                for command in [Some(steps.x), steps.addends, steps.factors, gains].iter().flatten() {
                    all.rows_in += rows(command);
                }
                all.rows_out += rows(&steps.out);
            }
            Operation::Link(_) => {}
            Operation::Append(append) => append.sides.iter().for_each(|side| all.rows_in += rows(&side.rows)),
            Operation::Restore(restore) => {
                restore.rows.iter().flatten().for_each(|command| all.rows_out += rows(command));
            }
        }
        all.blocks_in += Moved::pieces(self.counts.read, LINE, bus_bytes);
        all.blocks_out += Moved::pieces(self.counts.written, LINE, bus_bytes);
        all
    }
}

impl Report {
    /// The traffic of a job that ended without an error, on a bus of so many bytes, 4 to 64.
    #[must_use]
    pub fn traffic(&self, bus_bytes: u64) -> Traffic {
        let mut all = Traffic {
            descriptors: Moved::pieces(self.executed.len() as u64, DESCRIPTOR_BYTES, bus_bytes),
            tags: Moved::pieces(self.tags.len() as u64, TAG, bus_bytes),
            ..Traffic::default()
        };
        for executed in &self.executed {
            all += executed.operation.traffic(bus_bytes);
        }
        all
    }
}
