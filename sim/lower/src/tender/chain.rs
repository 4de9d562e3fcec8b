//! A job under construction.

use anyhow::{Result, ensure};
use host::layout::header;
use host::tender::operations::{matmul, pack, vector};
use host::tender::{Caps, MatMulJob, Pack, PackJob, Product, Sign};
use host::vector::{Epsilon, Operand, VectorJob};
use host::{ALIGNMENT, Chain, Descriptor, Window};

use super::executor::MAX_DESCRIPTORS;
use super::image::{Affine, INTEGER, Projection};
use crate::order::{Step, ordered};
use crate::whole::{Executor, Spent};

/// Descriptors that follow each other, and their executor.
pub(super) struct Steps<'a> {
    caps: Caps,
    window: Window,
    epsilon: Epsilon,
    descriptors: Vec<Descriptor>,
    /// The accelerator's operations overlap.
    overlaps: bool,
    /// Where chains are placed.
    at: u64,
    pub on: &'a mut dyn Executor,
    /// Called for each job.
    done: &'a mut dyn FnMut(&Spent) -> Result<()>,
}

/// Some rows of an operand.
pub(super) fn rows_from(at: Operand, row: usize) -> Operand {
    Operand { address: at.address + row as u64 * u64::from(at.stride), ..at }
}

/// Rows of fp16 from a column on.
pub(super) fn columns_from(at: Operand, column: usize) -> Operand {
    Operand { address: at.address + 2 * column as u64, ..at }
}

impl<'a> Steps<'a> {
    pub fn new(
        (caps, window, epsilon): (&Caps, &Window, Epsilon),
        (at, overlaps): (u64, bool),
        on: &'a mut dyn Executor,
        done: &'a mut dyn FnMut(&Spent) -> Result<()>,
    ) -> Self {
        Self { caps: *caps, window: *window, epsilon, descriptors: Vec::new(), overlaps, at, on, done }
    }

    /// One more descriptor. A chain that is as long as a job may be ends before it.
    pub fn then(&mut self, descriptor: Descriptor) -> Result<()> {
        if self.descriptors.len() == MAX_DESCRIPTORS as usize {
            self.end()?;
        }
        self.descriptors.push(descriptor);
        Ok(())
    }

    /// Bytes that a job has at most.
    pub fn most() -> usize {
        MAX_DESCRIPTORS as usize * Descriptor::BYTES
    }

    /// Steps on rows.
    pub fn rows(
        &mut self,
        (rows, columns): (usize, usize),
        x: Operand,
        out: Operand,
        steps: impl FnOnce(VectorJob) -> VectorJob,
    ) -> Result<()> {
        let job = VectorJob::new(rows.try_into()?, columns.try_into()?, x, out);
        self.then(steps(job).build(&self.caps.vector, &self.window)?)
    }

    /// Steps on as many columns at a time as the vector unit takes; `steps` gets the first one.
    pub fn parts(
        &mut self,
        (rows, columns): (usize, usize),
        x: Operand,
        out: Operand,
        steps: impl Fn(VectorJob, usize) -> VectorJob,
    ) -> Result<()> {
        // Parts begin where operands may.
        let unit = ALIGNMENT as usize / 2;
        let most = (self.caps.vector.max_columns() as usize / unit * unit).max(unit);
        for first in (0..columns).step_by(most) {
            let size = (rows, most.min(columns - first));
            self.rows(size, columns_from(x, first), columns_from(out, first), |job| steps(job, first))?;
        }
        Ok(())
    }

    /// A norm of rows.
    pub fn norm(&mut self, size: (usize, usize), x: Operand, out: Operand, affine: Affine) -> Result<()> {
        let epsilon = self.epsilon;
        self.rows(size, x, out, |job| match affine.layer_norm {
            false => job.norm_with_gains(epsilon, affine.at),
            true => job.layer_norm_with_gains(epsilon, affine.at),
        })
    }

    /// Numbers become the left matrix of a product.
    pub fn pack(
        &mut self,
        (rows, columns): (usize, usize),
        sign: Sign,
        x: Operand,
        constants: u64,
        out: Operand,
    ) -> Result<()> {
        let (rows, columns) = (rows.try_into()?, columns.try_into()?);
        let pack = Pack { rows, columns, integer: INTEGER, sign, x, constants, out };
        self.then(PackJob::new(pack).build(&self.caps, &self.window)?)
    }

    /// Rows times weights. Several accelerators side by side each compute the columns of their own weights.
    pub fn project(&mut self, rows: usize, left: Operand, weights: &Projection, out: Operand) -> Result<()> {
        let job = MatMulJob::new(product((rows, Sign::Signed), left, weights)?, out);
        self.then(job.build(&self.caps, &self.window)?)
    }

    /// The same; afterwards all accelerators have all columns. Each has its part in `share` before.
    pub fn project_all(
        &mut self,
        rows: usize,
        left: Operand,
        weights: &Projection,
        [share, out]: [Operand; 2],
    ) -> Result<()> {
        if self.on.parts() == 1 {
            return self.project(rows, left, weights, out);
        }
        self.project(rows, left, weights, share)?;
        self.gather((rows, weights.columns as usize), share, out)
    }

    /// Ends the job. Then all accelerators get the columns of each, side by side.
    pub fn gather(&mut self, (rows, columns): (usize, usize), share: Operand, out: Operand) -> Result<()> {
        self.end()?;
        let (width, stride) = (2 * columns, share.stride as usize);
        // All rows at once: each read waits for its accelerator.
        let mut parts = vec![vec![0; (rows - 1) * stride + width]; self.on.parts()];
        for (part, bytes) in parts.iter_mut().enumerate() {
            self.on.read_part(part, share.address, bytes)?;
        }
        for row in 0..rows {
            let bytes: Vec<u8> = parts.iter().flat_map(|part| &part[row * stride..][..width]).copied().collect();
            self.on.write(rows_from(out, row).address, &bytes)?;
        }
        Ok(())
    }

    /// A descriptor with its engine, and about how long it takes.
    fn step(&self, descriptor: Descriptor) -> Step {
        let get = |field| descriptor.get(field);
        let (engine, cycles) = match get(header::OPCODE) as u8 {
            matmul::OPCODE => {
                let panels = |lines: u64, of: usize| lines.div_ceil(of as u64);
                let rows = panels(get(matmul::ROWS), self.caps.panel_rows(INTEGER));
                let columns = panels(get(matmul::COLUMNS), self.caps.panel_columns(INTEGER));
                // The first panels come before the array begins.
                (2, rows * columns * get(matmul::STEPS) + get(matmul::CHANNELS))
            }
            pack::OPCODE => (1, get(pack::COLUMNS) * get(pack::ROWS).div_ceil(self.caps.panel_rows(INTEGER) as u64)),
            _ => {
                // A row is read and written.
                let beats = get(vector::COLUMNS).div_ceil(self.caps.vector.lanes.into());
                (0, 2 * get(vector::ROWS) * beats)
            }
        };
        Step { descriptor, engine, cycles }
    }

    /// Places the chain, and waits for its end. The next step begins a new chain.
    pub fn end(&mut self) -> Result<()> {
        let descriptors = std::mem::take(&mut self.descriptors);
        if descriptors.is_empty() {
            return Ok(());
        }
        let chain = if self.overlaps {
            ordered(descriptors.into_iter().map(|descriptor| self.step(descriptor)).collect())
        } else {
            descriptors.into_iter().fold(Chain::new(), Chain::then)
        };
        let image = chain.place(self.at, &self.window, MAX_DESCRIPTORS)?;
        self.on.write(image.address, &image.bytes)?;
        let spent = self.on.run(self.at)?;
        ensure!(spent.sum_overflows == 0, "{} words of sums left their accumulators", spent.sum_overflows);
        (self.done)(&spent)
    }
}

/// A product of rows that were packed.
pub(super) fn product((rows, sign): (usize, Sign), left: Operand, right: &Projection) -> Result<Product> {
    Ok(Product {
        rows: rows.try_into()?,
        columns: right.columns,
        channels: right.channels,
        integer: INTEGER,
        a: (left, sign),
        b: (right.panels, Sign::Signed),
        table: right.table,
        constants: right.constants,
    })
}
