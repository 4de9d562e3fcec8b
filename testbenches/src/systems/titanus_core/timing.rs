//! Cycles of jobs before a memory that never pauses, against the golden recurrence.

use golden::systems::titanus_core::cycles::Timing;
use hdl::accelerators::titanus::TitanusCore;

use super::super::timing::{compare, shell, unit};
use super::{golden_of, program};

/// DMAs that read.
const READERS: usize = 4;

/// How long the parts of a block take, before a memory that answers after `latency` cycles.
#[must_use]
pub fn timing(block: &TitanusCore, latency: u32) -> Timing {
    let (spec, linear) = (&block.spec, block.linear());
    let beats = (block.read_beats, block.write_beats);
    Timing {
        shell: shell((&block.axi, block.ports as usize, READERS), &block.dma, beats, latency),
        load: spec.store.load.into(),
        drain: spec.store.drain.into(),
        steps: spec.store.tile.input_width.into(),
        results: linear.results().latency().into(),
        probabilities: linear.probabilities().latency().into(),
        unit: unit(&block.vector().unit()),
    }
}

/// Random chains that are right, each before an ideal memory of some latency; a vector is such a chain.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &TitanusCore) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (block, golden) = (p.clone(), golden_of(p)?);
    crate::bench(p, move |sim, run| {
        compare(
            (sim, run),
            (&golden, &[]),
            |rng, model| program::draw(rng, model, 4),
            |model, program, latency, (memory, turns)| {
                let spent = timing(&block, latency).job(model, program.limits, program.job, (memory, turns));
                (spent.as_ref().map_or(0, |all| all.iter().map(|spent| spent.cycles).sum()), format!("{spent:#?}"))
            },
        )
    })
}
