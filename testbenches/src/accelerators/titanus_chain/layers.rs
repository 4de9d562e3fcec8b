//! Layers on a chain in simulation: all cores at once, or one after the other.

use hdl::accelerators::titanus::TitanusChain;
use host::titanus::Counts;
use host::{Counters, Device, Window};
use lower::chain::Job;
use sim::bus::{AxiConfig, AxiMemory};
use sim::stimulus::Stall;

use super::cores::{Core, Cores, LINK};
use jobs::hardware::ready;

/// Looks at STATUS until a job has taken too long.
const POLLS: u32 = 10_000_000;

/// How the jobs after the loads are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Starts {
    /// All at once: links make them wait.
    Together,
    /// Each after the end of the job before.
    InTurn,
}

/// The cost of a run: from the first start after the loads to the last end, and of each core.
#[derive(Clone, Debug, Default)]
pub struct Ran {
    /// Cycles around all of them, as the bench counts.
    pub cycles: u64,
    /// Counters of the jobs after the loads.
    pub cores: Vec<(Counters, Counts)>,
}

/// Runs loads, then the other job, of each core: every byte that a job writes is the golden model's.
///
/// # Panics
/// The block cannot be built, a job fails, or a byte is another one.
#[must_use]
pub fn run_jobs(
    block: &TitanusChain,
    (window, config): (Window, &AxiConfig),
    jobs: &[[Job; 2]],
    starts: Starts,
) -> Ran {
    let ran = std::sync::Mutex::new(Ran::default());
    let bench = sim::kit::bench(block, |sim, run| {
        sim.reset(2)?;
        let mut memory = AxiMemory::new();
        memory.serve_all(sim, "mem", config, run.seed())?;
        let mut cores = Cores::new(sim, memory, jobs.len(), (Stall::Never, run.seed()))?;
        for (number, [loads, _]) in jobs.iter().enumerate() {
            let mut device = Device::new(Core { sim, cores: &mut cores, number });
            ready(&mut device, window, 65_535).expect("a core");
            loads.run(&mut device).expect("loads");
        }
        for [_, job] in jobs {
            job.images.iter().for_each(|image| cores.memory.memory_mut().store(image.address, &image.bytes));
        }
        let begin = sim.cycle_count();
        let mut end = begin;
        let wait = |sim: &mut sim::Sim, cores: &mut Cores, number: usize, job: &Job| {
            let mut device = Device::new(Core { sim, cores, number });
            let done = device.wait(POLLS).expect("a job that ends well").descriptors;
            assert_eq!(done, job.descriptors);
            let counters = device.counters().expect("counters");
            (counters, Counts::read(&mut device).expect("counts"))
        };
        let mut counted = Vec::new();
        for (number, [_, job]) in jobs.iter().enumerate() {
            Device::new(Core { sim, cores: &mut cores, number }).start(job.address).expect("a start");
            if starts == Starts::InTurn {
                counted.push(wait(sim, &mut cores, number, job));
                end = sim.cycle_count();
            }
        }
        if starts == Starts::Together {
            for (number, [_, job]) in jobs.iter().enumerate() {
                counted.push(wait(sim, &mut cores, number, job));
                end = sim.cycle_count();
            }
        }
        for [_, job] in jobs {
            for image in &job.written {
                let mut got = vec![0; image.bytes.len()];
                cores.memory.memory().load(image.address, &mut got);
                assert!(got == image.bytes, "bytes from {:#x} on are not the golden model's", image.address);
            }
        }
        for number in 0..jobs.len() {
            let waiting = cores.load(sim, number, LINK)? & 0xffff;
            run.expect_equal(sim, "LINK", "tokens that wait", 0, waiting)?;
        }
        *ran.lock().expect("nobody panics with it") = Ran { cycles: end - begin, cores: counted };
        Ok(())
    });
    let design = hdl::lang::elaborate(block).unwrap_or_else(|e| panic!("{e}"));
    let bench = bench.unwrap_or_else(|e| panic!("{e:#}"));
    sim::run(&*bench, &sim::Design::from(&design), &sim::kit::options(1)).unwrap_or_else(|e| panic!("{e}"));
    drop(bench);
    ran.into_inner().expect("nobody panicked with it")
}
