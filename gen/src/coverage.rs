//! Coverage of a bench: lines, branches and toggled bits of a block's Verilog, in the configuration whose mutants are
//! tested.

use sim::{Coverage, Design, RunOptions};

use crate::catalogue::{Entry, Params};
use crate::error::{Failure, Result};
use crate::mutation;

/// Jobs of an accelerator. They are long, and its blocks have benches of their own.
const JOBS: u64 = 60;

/// Runs the bench with so many vectors: without a number, as many as `mutation::test` takes.
///
/// # Errors
/// A tool that dies; a bench that fails.
pub fn measure(entry: &dyn Entry, params: &Params, design: &Design, vectors: Option<u64>) -> Result<(u64, Coverage)> {
    let bench = entry.bench(params)?;
    let run = |vectors| sim::run(&*bench, design, &RunOptions { vectors, coverage: true, ..RunOptions::default() });
    let vectors = match vectors.or(entry.is_accelerator().then_some(JOBS)) {
        Some(vectors) => vectors,
        None => mutation::vectors(entry, |vectors| Ok(run(vectors).map(|r| (r.cycles, r.compared))?))?,
    };
    let missing = || Failure::NoAnswer(format!("no coverage of `{}`", design.top));
    Ok((vectors, run(vectors)?.coverage.ok_or_else(missing)?))
}
