//! Cycles of jobs with a memory that never pauses, against the golden recurrence.

use golden::accelerators::kllm::cycles::{Finder, Lane, Timing};
use hdl::accelerators::kllm::KllmTop;
use host::Window;

use super::model::golden_of;
use super::program;
use crate::accelerators::clock::Clock;
use crate::kllm::orizuru;
use jobs::timing::{self, Waits, shell, unit};

/// How long the parts of a block take with a memory that answers after `latency` cycles.
#[must_use]
pub fn timing(block: &KllmTop, latency: u32) -> Timing {
    let spec = &block.product;
    let lane = spec.lane();
    Timing {
        shell: shell(block, latency),
        outputs: spec.outputs.into(),
        lane: Lane { multiplication: lane.multiplication().into(), latency: lane.latency().into() },
        scaling: spec.scaling().cycles(0) - 1,
        adding: spec.adding().into(),
        unit: unit(&block.vector().unit()),
        finder: block.quantizer().map(|quantizer| {
            let orizuru = orizuru::timing(&quantizer.spec.finder());
            Finder { first_pop: orizuru.first_pop(), next_pop: orizuru.next_pop() }
        }),
    }
}

/// Cycles of jobs with a memory that answers after `latency` cycles.
///
/// # Errors
/// Parameters that the model refuses.
pub fn clock((block, latency): (&KllmTop, u32), window: &Window) -> anyhow::Result<Clock> {
    Ok(Clock::of(golden_of(block)?, window, timing(block, latency)))
}

/// Random chains that are right, each with an ideal memory of some latency; a vector is such a chain.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KllmTop) -> anyhow::Result<Box<dyn sim::Bench>> {
    timing::bench(p, (golden_of(p)?, Waits::default()), 4, program::draw, timing)
}
