//! `senbazuru sim BLOCK`, the first command that a user types: every block at its default parameters, with few vectors.

use crate::support::on_all_cores;
use senbazuru::catalogue::{Catalogue, Entry, Params};
use sim::{Design, RunOptions};
use test_tag::tag;

/// A block, its parameters, and the runs of its bench: seed and vectors of each.
type Runs = (&'static str, Params, Vec<(u64, u64)>);

/// Runs a bench and returns its error, if there is one.
fn run((block, params, runs): &Runs) -> Result<(), String> {
    let entry = Catalogue::standard().find(block).cloned().map_err(|e| e.to_string())?;
    let design = Design::from(&entry.elaborate(params).map_err(|e| e.to_string())?);
    let bench = entry.bench(params).map_err(|e| e.to_string())?;
    for &(seed, vectors) in runs {
        let options = RunOptions { seed, vectors, ..RunOptions::default() };
        let run = || sim::run(bench.as_ref(), &design, &options);
        let problem = match std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)) {
            Ok(Ok(_)) => continue,
            Ok(Err(error)) => error.to_string(),
            Err(panic) => format!("panic: {:?}", panic.downcast_ref::<String>()),
        };
        return Err(format!("--seed {seed} --vectors {vectors}: {problem}"));
    }
    Ok(())
}

/// Runs each of these, and tells of all that failed.
fn all(work: Vec<Runs>) {
    on_all_cores(
        work.into_iter()
            .map(|runs| (format!("sim {} {}", runs.0, serde_json::Value::from(runs.1.clone())), runs))
            .collect(),
        run,
    );
}

#[test]
fn every_block_runs_at_its_defaults() {
    let runs = [(seeds::seed(1), 1), (seeds::seed(2), 6)];
    all(Catalogue::standard()
        .all()
        .iter()
        .map(|entry| (entry.about().name, entry.defaults(), runs.to_vec()))
        .collect());
}

#[tag(full)]
#[test]
#[ignore = "minutes: every listed configuration with 20 seeds"]
fn every_configuration_runs_with_twenty_seeds() {
    let runs: Vec<(u64, u64)> = (1..=20).map(|seed| (seeds::seed(seed), 6)).collect();
    let of = |entry: &dyn Entry| {
        let name = entry.about().name;
        entry.configurations().into_iter().map(|params| (name, params, runs.clone())).collect::<Vec<_>>()
    };
    all(Catalogue::standard().all().iter().flat_map(|entry| of(entry.as_ref())).collect());
}
