//! A job under construction.

use anyhow::{Result, ensure};
use host::tender::{Caps, MatMulJob, Pack, PackJob, Product, Sign};
use host::vector::{Operand, VectorJob};
use host::{Chain, Descriptor, Window};

use super::executor::{Executor, MAX_DESCRIPTORS, Spent};
use super::image::{INTEGER, Projection};

/// Descriptors that follow each other, and their executor.
pub(super) struct Steps<'a> {
    caps: Caps,
    window: Window,
    chain: Chain,
    /// Where chains are placed.
    at: u64,
    pub on: &'a mut dyn Executor,
    /// Called for each job.
    done: &'a mut dyn FnMut(&Spent) -> Result<()>,
}

impl<'a> Steps<'a> {
    pub fn new(
        (caps, window): (&Caps, &Window),
        at: u64,
        on: &'a mut dyn Executor,
        done: &'a mut dyn FnMut(&Spent) -> Result<()>,
    ) -> Self {
        Self { caps: *caps, window: *window, chain: Chain::new(), at, on, done }
    }

    pub fn then(&mut self, descriptor: Descriptor) {
        self.chain = std::mem::take(&mut self.chain).then(descriptor);
    }

    /// Bytes that a job has at most.
    pub fn most() -> usize {
        MAX_DESCRIPTORS as usize * Descriptor::BYTES
    }

    /// Steps on rows.
    pub fn rows(
        &mut self,
        (rows, columns): (u32, u32),
        x: Operand,
        out: Operand,
        steps: impl FnOnce(VectorJob) -> VectorJob,
    ) -> Result<()> {
        let descriptor = steps(VectorJob::new(rows, columns, x, out)).build(&self.caps.vector, &self.window)?;
        self.then(descriptor);
        Ok(())
    }

    /// Numbers become the left matrix of a product.
    pub fn pack(
        &mut self,
        (rows, columns): (u32, u32),
        sign: Sign,
        x: Operand,
        constants: u64,
        out: Operand,
    ) -> Result<()> {
        let pack = Pack { rows, columns, integer: INTEGER, sign, x, constants, out };
        self.then(PackJob::new(pack).build(&self.caps, &self.window)?);
        Ok(())
    }

    /// A row times weights. Several accelerators side by side each compute the columns of their own weights.
    pub fn project(&mut self, left: Operand, weights: &Projection, out: Operand) -> Result<()> {
        let job = MatMulJob::new(product((1, Sign::Signed), left, weights), out);
        self.then(job.build(&self.caps, &self.window)?);
        Ok(())
    }

    /// The same; afterwards all accelerators have all columns.
    pub fn project_all(&mut self, left: Operand, weights: &Projection, share: Operand, out: Operand) -> Result<()> {
        if self.on.parts() == 1 {
            return self.project(left, weights, out);
        }
        self.project(left, weights, share)?;
        self.gather(weights.columns, share, out)
    }

    /// Ends the job. Then all accelerators get the columns of each, side by side.
    pub fn gather(&mut self, columns: u32, share: Operand, out: Operand) -> Result<()> {
        self.end()?;
        let mut row = vec![0; 2 * columns as usize * self.on.parts()];
        for (part, bytes) in row.chunks_mut(2 * columns as usize).enumerate() {
            self.on.read_part(part, share.address, bytes)?;
        }
        self.on.write(out.address, &row)
    }

    /// Places the chain, and waits for its end. The next step begins a new chain.
    pub fn end(&mut self) -> Result<()> {
        let chain = std::mem::take(&mut self.chain);
        if chain.bytes() == 0 {
            return Ok(());
        }
        let image = chain.place(self.at, &self.window, MAX_DESCRIPTORS)?;
        self.on.write(image.address, &image.bytes)?;
        let spent = self.on.run(self.at)?;
        ensure!(spent.sum_overflows == 0, "{} words of sums left their accumulators", spent.sum_overflows);
        (self.done)(&spent)
    }
}

/// A product of rows that were packed.
pub(super) fn product((rows, sign): (u32, Sign), left: Operand, right: &Projection) -> Product {
    Product {
        rows,
        columns: right.columns,
        channels: right.channels,
        integer: INTEGER,
        a: (left, sign),
        b: (right.panels, Sign::Signed),
        table: right.table,
        constants: right.constants,
    }
}
