//! Cycles of jobs before a memory that never pauses, against the golden recurrence.

use golden::common::shell::job_controller::Limits;
use golden::systems::cycles::Turns;
use golden::systems::kllm_top::cycles::{Finder, Lane, Timing};
use golden::systems::memory::SparseMemory;
use hdl::accelerators::kllm::KllmTop;
use host::Window;

use super::super::chain_builder::Job;
use super::super::timing::{compare, shell, unit};
use super::{golden_of, program};
use crate::kllm::orizuru;

/// DMAs that read, with one group of lanes.
const READERS: usize = 6;

/// How long the parts of a block take, before a memory that answers after `latency` cycles.
#[must_use]
pub fn timing(block: &KllmTop, latency: u32) -> Timing {
    let spec = &block.product;
    let (lane, beats) = (spec.lane(), (block.read_beats, block.write_beats));
    Timing {
        shell: shell(
            (&block.axi, block.ports as usize, READERS + spec.groups as usize - 1),
            &block.dma,
            beats,
            latency,
        ),
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

/// What the register CYCLES has at the end of a chain before an ideal memory; `turns` are left by the job before.
///
/// # Errors
/// The chain ends with an error.
pub fn cycles_of(
    (block, latency): (&KllmTop, u32),
    window: &Window,
    job: &Job,
    turns: &mut Turns,
) -> anyhow::Result<u64> {
    let mut memory = SparseMemory::new();
    job.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
    let limits = Limits { base: window.base, limit: window.limit, max_descriptors: job.descriptors };
    let spent = timing(block, latency).job(&golden_of(block)?, limits, job.address, (&mut memory, turns));
    let spent = spent.map_err(|code| anyhow::anyhow!("the job ends with error {code}"))?;
    Ok(spent.iter().map(|spent| spent.cycles).sum())
}

/// Random chains that are right, each before an ideal memory of some latency; a vector is such a chain.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KllmTop) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (block, golden) = (p.clone(), golden_of(p)?);
    crate::bench(p, move |sim, run| {
        let shape = *golden.shape();
        compare(
            (sim, run),
            (&golden, &[]),
            |rng, _| program::draw(rng, &shape, 4),
            |golden, program, latency, (memory, turns)| {
                let spent = timing(&block, latency).job(golden, program.limits, program.job, (memory, turns));
                (spent.as_ref().map_or(0, |all| all.iter().map(|spent| spent.cycles).sum()), format!("{spent:#?}"))
            },
        )
    })
}
