//! A job under construction.

use anyhow::{Result, ensure};
use host::vector::{Caps, Epsilon, Operand, VectorJob};
use host::{ALIGNMENT, Chain, Descriptor, Window};

use super::device::MAX_DESCRIPTORS;
use super::executor::{Executor, Spent};
use super::placer::{Affine, columns_from, rows_from};
use crate::order::{Step, ordered};

/// The engine of a descriptor, and about how long it takes.
pub type Order<'a> = &'a dyn Fn(&Descriptor) -> (usize, u64);

/// Where and how chains are placed.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The vector unit.
    pub vector: &'a Caps,
    /// The memory that the accelerator may touch.
    pub window: &'a Window,
    /// What norms add to the mean of the squares.
    pub epsilon: Epsilon,
    /// Where chains go.
    pub at: u64,
    /// Where operations overlap.
    pub order: Option<Order<'a>>,
}

/// Descriptors that follow each other, and their executor.
pub struct Steps<'a> {
    place: Place<'a>,
    descriptors: Vec<Descriptor>,
    /// The accelerator.
    pub on: &'a mut dyn Executor,
    /// Called for each job.
    done: &'a mut dyn FnMut(&Spent) -> Result<()>,
}

impl<'a> Steps<'a> {
    /// None yet.
    pub fn new(place: Place<'a>, on: &'a mut dyn Executor, done: &'a mut dyn FnMut(&Spent) -> Result<()>) -> Self {
        Self { place, descriptors: Vec::new(), on, done }
    }

    /// One more descriptor. A chain that is as long as a job may be ends before it.
    ///
    /// # Errors
    /// The job before fails.
    pub fn then(&mut self, descriptor: Descriptor) -> Result<()> {
        if self.descriptors.len() == MAX_DESCRIPTORS as usize {
            self.end()?;
        }
        self.descriptors.push(descriptor);
        Ok(())
    }

    /// The memory that the accelerator may touch.
    #[must_use]
    pub fn window(&self) -> &'a Window {
        self.place.window
    }

    /// Bytes that a job has at most.
    #[must_use]
    pub fn most() -> usize {
        MAX_DESCRIPTORS as usize * Descriptor::BYTES
    }

    /// Steps on rows.
    ///
    /// # Errors
    /// The hardware would refuse it.
    pub fn rows(
        &mut self,
        (rows, columns): (usize, usize),
        x: Operand,
        out: Operand,
        steps: impl FnOnce(VectorJob) -> VectorJob,
    ) -> Result<()> {
        let job = VectorJob::new(rows.try_into()?, columns.try_into()?, x, out);
        self.then(steps(job).build(self.place.vector, self.place.window)?)
    }

    /// Steps on as many columns at a time as the vector unit takes; `steps` gets the first one.
    ///
    /// # Errors
    /// The hardware would refuse it.
    pub fn parts(
        &mut self,
        (rows, columns): (usize, usize),
        x: Operand,
        out: Operand,
        steps: impl Fn(VectorJob, usize) -> VectorJob,
    ) -> Result<()> {
        // Parts begin where operands may.
        let unit = ALIGNMENT as usize / 2;
        let most = (self.place.vector.max_columns() as usize / unit * unit).max(unit);
        for first in (0..columns).step_by(most) {
            let size = (rows, most.min(columns - first));
            self.rows(size, columns_from(x, first), columns_from(out, first), |job| steps(job, first))?;
        }
        Ok(())
    }

    /// A norm of rows.
    ///
    /// # Errors
    /// The hardware would refuse it.
    pub fn norm(&mut self, size: (usize, usize), x: Operand, out: Operand, affine: Affine) -> Result<()> {
        let epsilon = self.place.epsilon;
        self.rows(size, x, out, |job| match affine.layer_norm {
            false => job.norm_with_gains(epsilon, affine.at),
            true => job.layer_norm_with_gains(epsilon, affine.at),
        })
    }

    /// Ends the job. Then all accelerators get the columns of each, side by side.
    ///
    /// # Errors
    /// The job fails.
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

    /// Places the chain, and waits for its end. The next step begins a new chain.
    ///
    /// # Errors
    /// The job fails, or a sum overflowed its accumulator.
    pub fn end(&mut self) -> Result<()> {
        let descriptors = std::mem::take(&mut self.descriptors);
        if descriptors.is_empty() {
            return Ok(());
        }
        let chain = match self.place.order {
            Some(order) => {
                let step = |descriptor| {
                    let (engine, cycles) = order(&descriptor);
                    Step { descriptor, engine, cycles }
                };
                ordered(descriptors.into_iter().map(step).collect())
            }
            None => descriptors.into_iter().fold(Chain::new(), Chain::then),
        };
        let image = chain.place(self.place.at, self.place.window, MAX_DESCRIPTORS)?;
        self.on.write(image.address, &image.bytes)?;
        let spent = self.on.run(self.place.at)?;
        ensure!(spent.sum_overflows == 0, "{} words of sums left their accumulators", spent.sum_overflows);
        (self.done)(&spent)
    }
}
