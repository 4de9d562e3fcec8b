//! How many small faults of the hardware each bench notices: mutants of every block's smallest configuration.
//!
//! `cargo run -p gen --example mutation -- BLOCK` does the same for one block. The sample is a fixed function of the tree.

mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;

use senbazuru::registry;
use sim::mutate::{Report, Sample};
use support::mutation;

/// The share of mutants that a bench must notice, among those that are not proved to do the same.
const GOAL: f64 = 0.99;

/// Benches that are not there yet, with what they must reach. What gets better leaves the list.
const BELOW: &[(&str, f64)] = &[
    ("clustering_unit", 0.76),
    ("refresh_controller", 0.79),
    ("multi_scale_array", 0.88),
    ("float_fma", 0.92),
    ("weighted_sum", 0.93),
    ("systolic_evictor", 0.94),
    ("weight_stationary_array", 0.94),
];

/// Mutants of each block.
const SAMPLE: Sample = Sample { count: 10, seed: 1 };

/// Tests all blocks, demands their floors, and leaves a table, `target/tmp/<name>`, with the share of all in its last line.
fn table(name: &str) {
    let rows = Mutex::new(BTreeMap::new());
    let work: Vec<_> = registry::all().into_iter().map(|entry| (entry.about().name.to_owned(), entry)).collect();
    let text = |rows: &BTreeMap<&str, (u64, Report)>| {
        let mut text =
            String::from("block mutants of killed equivalent survived unanswered share vectors run_s proof_s\n");
        let (mut killed, mut judged) = (0, 0);
        for (block, (vectors, r)) in rows {
            let survived = r.survivors().count();
            (killed, judged) = (killed + r.killed(), judged + r.killed() + survived);
            let _ = writeln!(
                text,
                "{block} {} {} {} {} {survived} {} {:.1} {vectors} {:.1} {:.1}",
                r.tested.len(),
                r.available,
                r.killed(),
                r.equivalent(),
                r.unanswered(),
                100.0 * r.share(),
                r.run_seconds,
                r.proof_seconds
            );
        }
        text + &format!("{killed} of {judged} mutants that are not equivalent are noticed: {:.1} %\n", {
            100.0 * killed as f64 / judged.max(1) as f64
        })
    };
    support::on_all_cores(work, |entry| {
        let block = entry.about().name;
        let (params, design) = mutation::smallest(&**entry)?;
        let (vectors, report) = mutation::test(&**entry, &params, &design, SAMPLE, None)?;
        let verdict = check(block, &report);
        let mut rows = rows.lock().unwrap();
        rows.insert(block, (vectors, report));
        std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), text(&rows)).unwrap();
        verdict
    });
}

/// A sample may have one survivor more than the floor allows: it is small.
fn check(block: &str, report: &Report) -> Result<(), String> {
    let floor = BELOW.iter().find(|(name, _)| *name == block).map_or(GOAL, |(_, share)| *share);
    let survived = report.survivors().count();
    let allowed = ((1.0 - floor) * (report.killed() + survived) as f64).ceil();
    let repeat = format!("cargo run -p gen --example mutation -- {block} {}", SAMPLE.count);
    match survived as f64 > allowed {
        true => Err(format!("below its floor of {:.0} %; `{repeat}` repeats it\n{report}", 100.0 * floor)),
        false => Ok(()),
    }
}

#[test]
#[ignore = "minutes"]
fn large_sample_of_mutants() {
    table("mutation.txt");
}
