//! A job under construction.

use anyhow::{Result, ensure};
use host::tender::{Caps, MatMulJob, PackJob, Product, Sign};
use host::vector::{Operand, VectorJob};
use host::{Chain, Descriptor, Window};

use super::executor::{Executor, MAX_DESCRIPTORS, Spent};
use super::image::{INTEGER, Projection};

/// Descriptors one behind the other.
pub(super) struct Steps {
    caps: Caps,
    window: Window,
    chain: Chain,
}

impl Steps {
    pub fn new(caps: &Caps, window: &Window) -> Self {
        Self { caps: *caps, window: *window, chain: Chain::new() }
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
    pub fn pack(&mut self, size: (u32, u32), sign: Sign, x: Operand, constants: u64, out: Operand) -> Result<()> {
        self.then(PackJob::new(size, (INTEGER, sign), x, constants, out).build(&self.caps, &self.window)?);
        Ok(())
    }

    /// A row times weights.
    pub fn project(&mut self, left: Operand, weights: &Projection, out: Operand) -> Result<()> {
        let job = MatMulJob::new(product((1, Sign::Signed), left, weights), out);
        self.then(job.build(&self.caps, &self.window)?);
        Ok(())
    }

    /// Places the chain, and waits for its end.
    pub fn run(&self, on: &mut dyn Executor, at: u64, done: &mut dyn FnMut(&Spent) -> Result<()>) -> Result<()> {
        let image = self.chain.place(at, &self.window, MAX_DESCRIPTORS)?;
        on.write(image.address, &image.bytes)?;
        let spent = on.run(at)?;
        ensure!(spent.sum_overflows == 0, "{} words of sums left their accumulators", spent.sum_overflows);
        done(&spent)
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
