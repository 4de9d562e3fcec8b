//! Cycles of jobs with a memory that never pauses, against the golden recurrence.

use golden::accelerators::titanus::cycles::Timing;
use hdl::accelerators::titanus::TitanusCore;
use host::Window;
use lower::chain::Job;

use super::model::golden_of;
use super::program;
use crate::accelerators::clock::Clock;
use jobs::timing::{self, Waits, shell, unit};

/// How long the parts of a block take with a memory that answers after `latency` cycles.
#[must_use]
pub fn timing(block: &TitanusCore, latency: u32) -> Timing {
    let (spec, linear) = (&block.spec, block.linear());
    Timing {
        shell: shell(block, latency),
        load: spec.store.load.into(),
        drain: spec.store.drain.into(),
        engines: spec.engines.into(),
        steps: spec.store.tile.input_width.into(),
        results: linear.results().latency().into(),
        probabilities: linear.probabilities().latency().into(),
        unit: unit(&block.vector().unit()),
    }
}

/// Cycles of jobs with a memory that answers after `latency` cycles.
///
/// # Errors
/// Parameters that the model refuses.
pub fn clock((block, latency): (&TitanusCore, u32), window: &Window) -> anyhow::Result<Clock> {
    Ok(Clock::of(golden_of(block)?, window, timing(block, latency)))
}

/// The register CYCLES at the end of each of these jobs, which run one after the other from a reset on, with an ideal
/// memory.
///
/// # Errors
/// Parameters that the model refuses; a job that ends with an error.
pub fn cycles_of(of: (&TitanusCore, u32), window: &Window, jobs: &[Job]) -> anyhow::Result<Vec<u64>> {
    let mut clock = clock(of, window)?;
    jobs.iter().map(|job| clock.cycles(job)).collect()
}

/// Random chains that are right, each with an ideal memory of some latency; a vector is such a chain.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &TitanusCore) -> anyhow::Result<Box<dyn sim::Bench>> {
    timing::bench(p, (golden_of(p)?, Waits::default()), 4, program::draw, timing)
}
