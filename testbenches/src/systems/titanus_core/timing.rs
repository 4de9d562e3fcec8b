//! Cycles of jobs before a memory that never pauses, against the golden recurrence.

use golden::systems::memory::SparseMemory;
use golden::systems::titanus_core::cycles::Timing;
use golden::systems::titanus_core::{Operation, Report, TitanusCore as Golden};
use hdl::accelerators::titanus::TitanusCore;
use sim::stimulus::StimulusRng;

use super::super::program::Program;
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

fn report(model: &Golden, program: &Program) -> Report {
    let mut memory = SparseMemory::new();
    memory.store(program.base, &program.image);
    model.clone().run(program.limits, program.job, &mut memory)
}

/// Whether a chain appends or restores, takes rows through the vector unit, appends.
fn what(report: &Report) -> [bool; 3] {
    let any = |is: fn(&Operation) -> bool| report.executed.iter().any(|executed| is(&executed.operation.operation));
    [
        any(|operation| matches!(operation, Operation::Append(_) | Operation::Restore(_))),
        any(|operation| matches!(operation, Operation::Vector(_))),
        any(|operation| matches!(operation, Operation::Append(_))),
    ]
}

/// A chain whose cycles are known, or one of the cache, which leaves no doubt about whose turn it is on a port.
fn draw(rng: &mut StimulusRng, model: &Golden) -> Program {
    loop {
        let program = program::draw(rng, model, 4);
        let [cache, rows, _] = what(&report(model, &program));
        if !(cache && rows) {
            return program;
        }
    }
}

/// Random chains that are right, each before an ideal memory of some latency; a vector is such a chain.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &TitanusCore) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (block, golden) = (p.clone(), golden_of(p)?);
    anyhow::ensure!(p.ports <= 2, "the bench knows turns on up to 2 ports, there are {}", p.ports);
    crate::bench(p, move |sim, run| {
        compare((sim, run), &golden, draw, |golden, program, latency, (memory, turns)| {
            let [cache, _, appends] = what(&report(golden, program));
            if cache {
                // Values come by the second DMA. The first port's turn is that of whoever reads descriptors.
                if appends && block.ports == 2 {
                    turns.first(1);
                }
                return None;
            }
            let spent = timing(&block, latency).job(golden, program.limits, program.job, (memory, turns));
            let cycles = spent.as_ref().map_or(0, |all| all.iter().map(|spent| spent.cycles).sum());
            Some((cycles, format!("{spent:#?}")))
        })
    })
}
