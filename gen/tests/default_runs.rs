//! `senbazuru sim BLOCK`, the first command that a user types: every block at its default parameters, with few vectors.

mod support;

use senbazuru::registry;
use sim::{Design, RunOptions};
use support::on_all_cores;

/// Runs a bench; what is wrong with it, if anything is.
fn run(entry: &dyn registry::Entry, params: &registry::Params, seed: u64, vectors: u64) -> Result<(), String> {
    let design = Design::from(&entry.elaborate(params).map_err(|e| e.to_string())?);
    let bench = entry.bench(params).map_err(|e| e.to_string())?;
    let options = RunOptions { seed, vectors, ..RunOptions::default() };
    let run = || sim::run(bench.as_ref(), &design, &options);
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    match ran {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(panic) => Err(format!("panic: {:?}", panic.downcast_ref::<String>())),
    }
}

/// Runs each of these, and tells of all that failed.
fn all(work: Vec<(&'static str, registry::Params, u64, u64)>) {
    let named = work.into_iter().map(|(block, params, seed, vectors)| {
        (format!("sim {block} --seed {seed} --vectors {vectors}"), (block, params, seed, vectors))
    });
    on_all_cores(named.collect(), |(name, params, seed, vectors)| {
        let entry = registry::find(name).map_err(|e| e.to_string())?;
        run(entry.as_ref(), params, *seed, *vectors)
    });
}

#[test]
fn every_block_runs_at_its_defaults() {
    let mut work = Vec::new();
    for entry in registry::all() {
        for (seed, vectors) in [(1, 1), (2, 6)] {
            work.push((entry.about().name, entry.defaults(), seeds::seed(seed), vectors));
        }
    }
    all(work);
}

#[test]
#[ignore = "minutes: every listed configuration with 20 seeds"]
fn large_every_configuration_runs_with_twenty_seeds() {
    let mut work = Vec::new();
    for entry in registry::all() {
        for params in entry.configurations() {
            for seed in 1..=20 {
                work.push((entry.about().name, params.clone(), seeds::seed(seed), 6));
            }
        }
    }
    all(work);
}
