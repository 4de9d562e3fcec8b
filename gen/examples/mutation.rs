//! Mutants of one block: which does its bench notice?
//!
//! `cargo run -p gen --example mutation -- BLOCK [COUNT [SEED [VECTORS]]]`; COUNT may be `all`.

#[path = "../tests/support/mutation.rs"]
mod mutation;

use senbazuru::registry;
use sim::mutate::{Limits, Sample};

fn main() -> Result<(), String> {
    let (options, words): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|w| w.starts_with('-'));
    let usage = "usage: mutation [--no-proofs] BLOCK [COUNT|all [SEED [VECTORS]]]";
    if let Some(unknown) = options.iter().find(|o| *o != "--no-proofs") {
        return Err(format!("unknown option `{unknown}`; {usage}"));
    }
    let number = |at: usize, what: &str| -> Result<Option<u64>, String> {
        let Some(word) = words.get(at) else { return Ok(None) };
        word.parse().map(Some).map_err(|_| format!("`{word}` is no {what}; {usage}"))
    };
    let (Some(name), true) = (words.first(), words.len() <= 4) else { return Err(usage.to_owned()) };
    let entry = registry::find(name).map_err(|e| e.to_string())?;
    let count = match words.get(1).map(String::as_str) {
        Some("all") => usize::MAX,
        _ => number(1, "count")?.map_or(100, |count| count as usize),
    };
    let sample = Sample { count, seed: number(2, "seed")?.unwrap_or(1) };
    let (params, design) = mutation::configuration(&*entry)?;
    let (vectors, report) = mutation::test(
        &*entry,
        &params,
        &design,
        sample,
        number(3, "number of vectors")?,
        options.is_empty().then(Limits::default),
    )?;
    println!(
        "{report}\n{vectors} vectors, {} cycles a run; runs {:.1} s, proofs {:.1} s",
        report.cycles, report.run_seconds, report.proof_seconds
    );
    Ok(())
}
