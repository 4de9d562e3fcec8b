//! Cycles of the jobs of a lowered model, by the golden recurrence alone.

use anyhow::anyhow;
use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::job::Accelerator;
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use host::Window;
use lower::chain::Job;

/// Cycles of a job, descriptor by descriptor, or the code of the error that it ends with.
type Descriptors = Result<Vec<u64>, u8>;

/// The register CYCLES at the end of each job. A device with an ideal memory does the jobs one after the other from a
/// reset on.
pub struct Clock(Box<dyn FnMut(&Job) -> Descriptors>);

impl Clock {
    /// The clock of a recurrence. Each job finds model and memory as the job before left them.
    pub fn of<A: Accelerator + 'static>(golden: A, window: &Window, recurrence: impl Recurrence<A> + 'static) -> Self {
        let (Window { base, limit, .. }, mut memory, mut turns) = (*window, SparseMemory::new(), Turns::default());
        Self(Box::new(move |job| {
            job.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
            let limits = Limits { base, limit, max_descriptors: job.descriptors };
            let spent = recurrence.job(&golden, limits, job.address, (&mut memory, &mut turns))?;
            Ok(spent.iter().map(|spent| spent.cycles).collect())
        }))
    }

    /// Cycles of the next job.
    ///
    /// # Errors
    /// It ends with an error.
    pub fn cycles(&mut self, job: &Job) -> anyhow::Result<u64> {
        Ok(self.descriptors(job)?.iter().sum())
    }

    /// The same, descriptor by descriptor.
    ///
    /// # Errors
    /// It ends with an error.
    pub fn descriptors(&mut self, job: &Job) -> anyhow::Result<Vec<u64>> {
        (self.0)(job).map_err(|code| anyhow!("the job at {:#x} ends with error {code} in the recurrence", job.address))
    }
}
