//! Rows of numbers in memory, and which of them a query sees.

use anyhow::ensure;
use host::ALIGNMENT;
use host::vector::{Operand, VectorJob};

/// Rows of fp16 numbers in memory.
#[derive(Clone, Copy, Debug)]
pub struct Floats {
    /// Where.
    pub at: Operand,
    /// Rows.
    pub rows: usize,
    /// Numbers of a row.
    pub columns: usize,
}

impl Floats {
    /// Some rows.
    #[must_use]
    pub fn some_rows(&self, first: usize, rows: usize) -> Self {
        let address = self.at.address + first as u64 * u64::from(self.at.stride);
        Self { at: Operand { address, ..self.at }, rows, ..*self }
    }

    /// Some columns of all rows.
    ///
    /// # Errors
    /// They are not there, or the first one is not aligned.
    pub fn slice(&self, first: usize, columns: usize) -> anyhow::Result<Self> {
        let end = first.checked_add(columns).filter(|&end| end <= self.columns);
        ensure!(end.is_some(), "{columns} columns from {first} on: there are {}", self.columns);
        let least = ALIGNMENT as usize / 2;
        ensure!(
            first.is_multiple_of(least),
            "column {first} is the first one of a slice, must be a multiple of {least}"
        );
        Ok(Self { at: Operand { address: self.at.address + 2 * first as u64, ..self.at }, columns, ..*self })
    }
}

/// Which keys a query sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The keys up to its own token; the last query sees all.
    Before,
    /// All.
    All,
}

impl Seen {
    /// Softmax of rows of scores with so many keys.
    #[must_use]
    pub fn softmax(self, job: VectorJob, [queries, keys]: [usize; 2]) -> VectorJob {
        match self {
            Self::Before => job.causal_softmax((keys + 1 - queries) as u32),
            Self::All => job.softmax(keys as u32),
        }
    }
}
