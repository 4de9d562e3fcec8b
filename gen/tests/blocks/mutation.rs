//! How many small faults of the hardware each bench notices: mutants of every block's smallest configuration.
//!
//! `senbazuru mutate BLOCK` does the same for one block. The set of mutants is a fixed function of the tree.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use test_tag::tag;

use crate::support::trust::{BELOW, GOAL, chosen, floor, may_live, mutants_below, renew, renews};
use senbazuru::{Catalogue, mutation};
use sim::mutate::{Limits, Report, Sample};

/// Tests `count` mutants of all blocks, demands their shares, and leaves a table, `target/tmp/<name>`, with the share
/// of all in its last line. `spare` mutants of a block may live beyond its share, and twice as many where equivalence
/// is not proved. `whole`: also the blocks that take long.
fn table(name: &str, count: usize, spare: usize, proof: Limits, whole: bool) {
    let sample = Sample { count, seed: 1 };
    let (old, rows) = (crate::support::trust::rows(), Mutex::new(BTreeMap::new()));
    let blocks = chosen();
    let some = seeds::some(&blocks, if whole { blocks.len() } else { blocks.len().div_ceil(8) });
    let mut work: Vec<_> = some.into_iter().map(|entry| (entry.about().name.to_owned(), entry)).collect();
    // Work is taken from the end: the longest begins first.
    work.sort_by_key(|(block, _)| LONGEST.iter().position(|name| name == block).map(|at| LONGEST.len() - at));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    crate::support::on_all_cores(work, |entry| {
        let block = entry.about().name;
        let (params, design) = mutation::configuration(&***entry).map_err(|e| e.to_string())?;
        // Proofs of these do not end in the time of the smaller samples: mutants that are equivalent live.
        let hard = BELOW.iter().any(|(below, ..)| *below == block) && !whole;
        let proof = (!hard).then_some(proof);
        let allowed = |judged| match old.get(block).and_then(|row| row.mutants).filter(|_| hard) {
            Some([tested, _, noticed]) => judged * (tested - noticed) / tested + 2 * spare,
            None => may_live(block, judged, spare),
        };
        let (vectors, report) =
            mutation::test(&Catalogue::standard(), &***entry, &params, &design, sample, None, proof)
                .map_err(|e| e.to_string())?;
        let verdict = check(block, &report, sample.count, allowed(report.judged()));
        let mut rows = rows.lock().unwrap();
        if whole && renews() {
            renew(|name, row| {
                if name == block {
                    row.mutants = Some([report.tested.len(), report.equivalent(), report.killed()]);
                }
            });
        }
        rows.insert(block, (vectors, report));
        std::fs::write(&path, text(&rows)).unwrap();
        verdict
    });
    let rows = rows.into_inner().unwrap();
    let apart = |block: &str| mutants_below().any(|name| name == block);
    let there: Rows = rows.clone().into_iter().filter(|(block, _)| !apart(block)).collect();
    let (killed, judged) = total(&there);
    assert!(killed as f64 >= GOAL * judged as f64, "{}", text(&rows));
}

/// Blocks of which the mutants take longest.
const LONGEST: [&str; 4] = ["kv_bank_group", "index_matmul_column", "kv_compressor", "kv_decompressor"];

type Rows = BTreeMap<&'static str, (u64, Report)>;

fn total(rows: &Rows) -> (usize, usize) {
    rows.values().fold((0, 0), |(killed, judged), (_, r)| (killed + r.killed(), judged + r.judged()))
}

fn text(rows: &Rows) -> String {
    let mut text = String::from("block mutants of killed equivalent survived unanswered share vectors run_s proof_s\n");
    for (block, (vectors, r)) in rows {
        let _ = writeln!(
            text,
            "{block} {} {} {} {} {} {} {:.1} {vectors} {:.1} {:.1}",
            r.tested.len(),
            r.available,
            r.killed(),
            r.equivalent(),
            r.survivors().count(),
            r.unanswered(),
            100.0 * r.share(),
            r.run_seconds,
            r.proof_seconds
        );
    }
    let (killed, judged) = total(rows);
    let share = 100.0 * killed as f64 / judged.max(1) as f64;
    text + &format!("{killed} of {judged} mutants that are not proved equivalent are noticed: {share:.1} %\n")
}

fn check(block: &str, report: &Report, count: usize, allowed: usize) -> Result<(), String> {
    match report.judged() - report.killed() > allowed {
        true => Err(format!(
            "more than {allowed} live, with a floor of {:.0} %; `senbazuru mutate {block} --count {count}` repeats it\n{report}",
            100.0 * floor(block)
        )),
        false => Ok(()),
    }
}

/// One mutant of every eighth block, in a full run of every block. A single survivor says little about its block, so
/// all mutants together must reach the goal.
#[test]
fn sample_of_mutants() {
    table("mutation.txt", 1, 1, Limits::QUICK, false);
}

/// The mutants of docs/catalogue.md, with proofs that take longer. `senbazuru mutate BLOCK --count all` does one block.
#[tag(release)]
#[test]
#[ignore = "hours: 200 mutants of each block"]
fn sample_of_mutants_all() {
    table("mutation-release.txt", 200, 2, Limits::default(), true);
}
