//! Runs a bench on each mutant.

use std::time::Instant;

use super::equivalence::{self, Limits};
use super::report::{Outcome, Report, Tested};
use super::{Mutants, Mutation};
use crate::{Bench, Result, RunOptions};

/// How to run a bench on mutants.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Seed, vectors and patience. Waveforms and coverage are not made.
    pub run: RunOptions,
    /// How hard to try to prove that a mutant which was not noticed cannot be.
    pub proof: Limits,
}

/// Runs `bench` on the design as it is and on each mutant, each until the bench notices.
///
/// # Errors
/// The bench fails on the design as it is, or compares nothing.
pub fn run(bench: &dyn Bench, mutants: &Mutants, options: &Options) -> Result<Report> {
    let start = Instant::now();
    let variants = &mutants.variants;
    let (effort, right) = variants.right(bench, &options.run)?;
    let mut tested = Vec::new();
    for (index, mutation) in mutants.list.iter().enumerate() {
        let kill = variants.noticed(index + 1, effort, bench, &options.run)?;
        let outcome = kill.map_or(Outcome::Survived { differs_in: None }, Outcome::Killed);
        tested.push(Tested { mutation: Mutation::clone(mutation), outcome });
    }
    let run_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let survived = |(index, t): (usize, &Tested)| matches!(t.outcome, Outcome::Survived { .. }).then_some(index);
    let open: Vec<usize> = tested.iter().enumerate().filter_map(survived).collect();
    if !open.is_empty() {
        let outcomes = equivalence::decide(mutants, &right.watched_streams(), &open, &options.proof)?;
        for (index, outcome) in open.into_iter().zip(outcomes) {
            tested[index].outcome = outcome;
        }
    }
    Ok(Report {
        block: bench.block().to_owned(),
        parameters: bench.parameters(),
        available: mutants.available,
        tested,
        cycles: effort.cycles,
        run_seconds,
        proof_seconds: start.elapsed().as_secs_f64(),
    })
}
