//! Cycles of the jobs of a lowered model, by the golden recurrence alone.

use anyhow::anyhow;
use golden::accelerators::cycles::{Recurrence, Span, Turns};
use golden::accelerators::job::Accelerator;
use golden::accelerators::memory::{Memory, SparseMemory};
use golden::common::shell::job_controller::Limits;
use host::{Image, Window};
use lower::chain::Job;
use lower::whole::{Move, Recorded};

/// Each descriptor of a job: its cycles, and when its engine works on it. Or the code of the error that the job ends with.
type Descriptors = Result<Vec<(u64, Span)>, u8>;

/// What a host puts into memory, and the chain that it starts: the address of the first descriptor, and their number.
struct Start<'a> {
    images: &'a [Image],
    moves: &'a [Move],
    chain: (u64, u32),
}

/// The register CYCLES at the end of each job. A device with an ideal memory does the jobs one after the other from a
/// reset on.
pub struct Clock(Box<dyn FnMut(&Start<'_>) -> Descriptors>);

impl Clock {
    /// The clock of a recurrence. Each job finds model and memory as the job before left them.
    pub fn of<A: Accelerator + 'static>(golden: A, window: &Window, recurrence: impl Recurrence<A> + 'static) -> Self {
        let (Window { base, limit, .. }, mut memory, mut turns) = (*window, SparseMemory::new(), Turns::default());
        Self(Box::new(move |Start { images, moves, chain: (address, descriptors) }| {
            images.iter().for_each(|image| memory.store(image.address, &image.bytes));
            moves.iter().for_each(|bytes| move_bytes(&mut memory, bytes));
            let limits = Limits { base, limit, max_descriptors: *descriptors };
            let spent = recurrence.job(&golden, limits, *address, (&mut memory, &mut turns))?;
            Ok(spent.iter().map(|spent| (spent.cycles, spent.span)).collect())
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
        let start = Start { images: &job.images, moves: &[], chain: (job.address, job.descriptors) };
        Ok(self.run(&start)?.into_iter().map(|(cycles, _)| cycles).collect())
    }

    /// The cycles of the next job, and when its engines work on each descriptor. A job that needs bytes which a job
    /// before has written finds them only where the times of its operations depend on them.
    ///
    /// # Errors
    /// It ends with an error.
    pub fn spans(&mut self, job: &Recorded) -> anyhow::Result<(u64, Vec<Span>)> {
        let start = Start { images: &job.images, moves: &job.moves, chain: (job.address, job.descriptors) };
        let all = self.run(&start)?;
        Ok((all.iter().map(|(cycles, _)| cycles).sum(), all.into_iter().map(|(_, span)| span).collect()))
    }

    fn run(&mut self, start: &Start<'_>) -> anyhow::Result<Vec<(u64, Span)>> {
        let address = start.chain.0;
        (self.0)(start).map_err(|code| anyhow!("the job at {address:#x} ends with error {code} in the recurrence"))
    }
}

/// Moves bytes as a host does between two jobs.
fn move_bytes(memory: &mut SparseMemory, Move { from, to, count }: &Move) {
    for number in 0..u64::from(*count) {
        let mut byte = [0];
        // There is memory at every address.
        let _ = memory.read(from.0 + number * u64::from(from.1.max(1)), &mut byte);
        memory.store(to.0 + number * u64::from(to.1.max(1)), &byte);
    }
}
