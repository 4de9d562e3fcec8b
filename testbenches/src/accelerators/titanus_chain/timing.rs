//! Cycles of chains with memories that never pause, against the golden recurrence. A core waits for tokens as long as
//! the core before takes to give them.

use golden::accelerators::cycles::Turns;
use golden::accelerators::memory::SparseMemory;
use golden::accelerators::titanus_chain::{ChainedJob, cycles};
use hdl::accelerators::titanus::TitanusChain;
use rand::RngExt;
use sim::bus::{AxiConfig, AxiMemory};
use sim::stimulus::Stall;
use sim::{Run, Sim};

use super::super::titanus::{golden_of, timing::timing};
use super::cores::Cores;
use super::{Drawn, draw};
use jobs::draft::Operations;
use jobs::player::register;

/// Rounds that end well; a vector is such a round.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &TitanusChain) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (block, golden, operations) = (p.clone(), golden_of(&p.core)?, Operations::of(&p.core));
    sim::kit::bench(p, move |sim, run| {
        sim.reset(2)?;
        let mut rng = run.rng("jobs");
        let mut models = vec![golden.clone(); block.cores as usize];
        let mut turns = vec![Turns::default(); models.len()];
        let mut number = 0;
        while number < run.vectors() {
            let mut after = models.clone();
            let (tokens, jobs) = draw(&mut rng, (&operations, &mut after), 4);
            let good = |job: &Drawn| job.is_good() && job.report.executed.iter().all(|e| e.defined);
            if !jobs.iter().all(good) || after.iter().any(|model| model.waiting().1) {
                continue;
            }
            number += 1;
            models = after;
            let latency = [1, 2, 7, 20, 60][rng.random_range(0..5usize)];
            let mut memory = AxiMemory::new();
            memory.serve_all(sim, "mem", &AxiConfig::ideal(latency), run.seed() ^ number)?;
            jobs.iter().for_each(|job| memory.memory_mut().store(job.program.base, &job.program.image));
            let mut cores = Cores::new(sim, memory, jobs.len(), (Stall::Never, run.seed()))?;
            cores.neighbours.coming.extend(tokens);
            for (k, job) in jobs.iter().enumerate() {
                cores.set_up(sim, k, &job.program)?;
            }
            // Some time between the starts, in any order.
            let mut starts = vec![0; jobs.len()];
            let first = rng.random_range(0..jobs.len());
            for k in 0..jobs.len() {
                let core = (first + k) % jobs.len();
                for _ in 0..rng.random_range(0..200u32) {
                    cores.cycle(sim)?;
                }
                starts[core] = sim.cycle_count() as i64;
                cores.store(sim, core, register::CONTROL, 1)?;
            }
            while cores.interrupts(sim).count_ones() < block.cores {
                cores.cycle(sim)?;
            }
            // Counters show all of a job some cycles after its end.
            for _ in 0..8 {
                cores.cycle(sim)?;
            }
            compare((sim, run), &mut cores, (&block, latency), (&jobs, &starts), &mut turns)?;
        }
        Ok(())
    })
}

/// Each core's CYCLES.
fn compare(
    (sim, run): (&mut Sim, &mut Run),
    cores: &mut Cores,
    (block, latency): (&TitanusChain, u32),
    (jobs, starts): (&[Drawn], &[i64]),
    turns: &mut [Turns],
) -> sim::Result<()> {
    let chained: Vec<ChainedJob<'_>> = (jobs.iter().zip(starts))
        .map(|(Drawn { program, before, .. }, &start)| {
            let (limits, job) = (program.limits, program.job);
            ChainedJob { core: before, limits, job, start }
        })
        .collect();
    let image = |job: &Drawn| {
        let mut memory = SparseMemory::new();
        memory.store(job.program.base, &job.program.image);
        memory
    };
    let mut memories: Vec<SparseMemory> = jobs.iter().map(image).collect();
    let spent = match cycles(&timing(&block.core, latency), &chained, &mut memories, turns) {
        Ok(spent) => spent,
        Err((k, code)) => return run.expect_equal(sim, "CYCLES", &format!("code of core {k}"), 0, code),
    };
    for (k, spent) in spent.iter().enumerate() {
        let expected: u64 = spent.iter().map(|s| s.cycles).sum();
        let taken = cores.load(sim, k, register::CYCLES)?;
        run.expect_equal(sim, "CYCLES", &format!("of core {k}, latency {latency}, {spent:?}"), expected, taken)?;
    }
    Ok(())
}
