//! How many small faults of the hardware each bench notices: mutants of every block's smallest configuration.
//!
//! `cargo run -p gen --example mutation -- BLOCK` does the same for one block and shows each mutant that lives.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;

use senbazuru::registry::{self, Entry};
use sim::mutate::{Report, Sample};
use support::mutation;

/// The share of mutants that a bench must notice, among those that are not proved to do the same.
const GOAL: f64 = 0.99;

/// Benches that are not there yet, with what they reach on the sample of the ordinary run. What gets better leaves the list,
/// and nothing may get worse.
const BELOW: &[(&str, f64)] = &[];

/// Mutants of each block in an ordinary run.
const SAMPLE: Sample = Sample { count: 40, seed: 1 };

fn tested(entry: &dyn Entry, sample: Sample) -> Result<(u64, Report), String> {
    let (params, design) = mutation::smallest(entry)?;
    mutation::test(entry, &params, &design, sample, None)
}

/// Tests all blocks and leaves a table, `target/tmp/<name>`.
fn table(name: &str, sample: Sample, check: impl Fn(&str, &Report) -> Result<(), String> + Sync) {
    let rows = Mutex::new(BTreeMap::new());
    let work: Vec<_> = registry::all().into_iter().map(|entry| (entry.about().name.to_owned(), entry)).collect();
    let write = || {
        let mut text = String::from("block mutants of killed equivalent survived share vectors run_s proof_s\n");
        for (block, (vectors, r)) in &*rows.lock().unwrap() {
            let report: &Report = r;
            let _ = writeln!(
                text,
                "{block} {} {} {} {} {} {:.1} {vectors} {:.1} {:.1}",
                report.tested.len(),
                report.available,
                report.killed(),
                report.equivalent(),
                report.survivors().count(),
                100.0 * report.score(),
                report.run_seconds,
                report.proof_seconds
            );
        }
        std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), text).unwrap();
    };
    support::on_all_cores(work, |entry| {
        let (vectors, report) = tested(&**entry, sample)?;
        let block = entry.about().name;
        let verdict = check(block, &report);
        rows.lock().unwrap().insert(block, (vectors, report));
        write();
        verdict
    });
}

#[test]
fn benches_notice_a_sample_of_mutants() {
    table("mutation.txt", SAMPLE, |block, report| {
        let floor = BELOW.iter().find(|(name, _)| *name == block).map(|(_, share)| *share);
        match report.score() {
            _ if report.failed() > 0 => Err(format!("a tool gave no answer: {report}")),
            share if share < floor.unwrap_or(GOAL) => Err(report.to_string()),
            share if floor.is_some() && share >= GOAL => Err(format!("`{block}` may leave the list: {share:.4}")),
            _ => Ok(()),
        }
    });
}

#[test]
#[ignore = "all mutants of all blocks"]
fn large_all_mutants() {
    table("mutation-all.txt", Sample::ALL, |block, report| {
        let known = BELOW.iter().any(|(name, _)| *name == block);
        if known || report.score() >= GOAL { Ok(()) } else { Err(report.to_string()) }
    });
}
