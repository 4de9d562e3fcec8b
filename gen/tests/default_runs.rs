//! `senbazuru sim BLOCK`, the first command that a user types: every block at its default parameters, with few vectors.

use senbazuru::registry;
use sim::{Design, RunOptions};

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

#[test]
fn every_block_runs_at_its_defaults() {
    let mut wrong = Vec::new();
    for entry in registry::all() {
        let name = entry.about().name;
        for (seed, vectors) in [(1, 1), (2, 6), (3, 20)] {
            let seed = seeds::seed(seed);
            let result = run(entry.as_ref(), &entry.defaults(), seed, vectors);
            wrong.extend(result.err().map(|e| format!("sim {name} --seed {seed} --vectors {vectors}: {e}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
