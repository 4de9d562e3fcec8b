//! Products of a decoder on the crane.

use lower::pass::Shares;
use lower::whole::{Executor, Products, Seen, Steps, Stored, columns_from, rows_from};
use senbazuru::anyhow::Result;
use senbazuru_host::Descriptor;
use senbazuru_host::layout::header;
use senbazuru_host::vector::operations::vector as rows;
use senbazuru_host::vector::{self, Operand};

use super::Lowering;
use super::cache::Cache;
use super::placed::{Columns, Projection};
use crate::host::ProductJob;
use crate::registers::operations::product;

/// Columns of a product at most; their exponents begin where operands may.
const COLUMNS: usize = 32_768;

impl Lowering {
    /// Rows times columns, as many at a time as the accelerator takes.
    fn product(&self, s: &mut Steps<'_>, (rows, x): (usize, Operand), of: &Columns, out: Operand) -> Result<()> {
        let (most, columns, of_groups) =
            (self.caps.rows as usize, of.columns as usize, self.caps.exponent_bytes(of.channels));
        for first in (0..rows).step_by(most) {
            for column in (0..columns).step_by(COLUMNS) {
                let job = ProductJob {
                    rows: most.min(rows - first).try_into()?,
                    columns: COLUMNS.min(columns - column).try_into()?,
                    channels: of.channels,
                    x: rows_from(x, first),
                    weights: rows_from(of.weights, column),
                    exponents: of.exponents + column as u64 * of_groups,
                    out: columns_from(rows_from(out, first), column),
                    shift: of.shift,
                    exact: false,
                };
                s.then(job.descriptor(&self.caps, s.window())?)?;
            }
        }
        Ok(())
    }
}

impl Products for Lowering {
    type Weights = Projection;
    type Cache = Cache;

    fn vector(&self) -> &vector::Caps {
        &self.rows
    }

    fn overlaps(&self) -> bool {
        self.overlaps
    }

    fn order(&self, d: &Descriptor) -> (usize, u64) {
        if d.get(header::OPCODE) as u8 == product::OPCODE {
            return (1, d.get(product::COLUMNS) * d.get(product::CHANNELS).div_ceil(self.caps.word.into()));
        }
        (0, 2 * d.get(rows::ROWS) * d.get(rows::COLUMNS).div_ceil(self.rows.lanes.into()))
    }

    fn project(
        &self,
        s: &mut Steps<'_>,
        (_, rows): (usize, usize),
        x: Operand,
        of: &Projection,
        out: Operand,
    ) -> Result<()> {
        self.product(s, (rows, x), &of.columns, out)?;
        let Some(biases) = of.biases else { return Ok(()) };
        s.parts((rows, of.columns.columns as usize), out, out, |job, first| job.add_rows(columns_from(biases, first)))
    }

    fn keep(&self, on: &mut dyn Executor, cache: &mut Cache, rows: &Stored, shares: &Shares) -> Result<()> {
        cache.keep(on, self.policy, rows, shares)
    }

    fn kept(&self, cache: &Cache, text: usize, _: usize) -> usize {
        cache.head(0, text).tokens()
    }

    fn weigh(&self, s: &mut Steps<'_>, (rows, x): (usize, Operand), of: &Seen<'_, Cache>) -> Result<()> {
        if self.policy.budget == 0 {
            return Ok(());
        }
        let got = of.cache.head(of.head, of.text).got.at;
        s.rows((rows, of.tokens), got, got, |job| job.add_rows(x))
    }

    fn scores(&self, s: &mut Steps<'_>, rows: (usize, Operand), of: Seen<'_, Cache>, out: Operand) -> Result<()> {
        self.product(s, rows, &of.cache.head(of.head, of.text).keys(), out)
    }

    fn mix(&self, s: &mut Steps<'_>, rows: (usize, Operand), of: Seen<'_, Cache>, out: Operand) -> Result<()> {
        self.product(s, rows, &of.cache.head(of.head, of.text).values(), out)
    }
}
