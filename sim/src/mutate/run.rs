//! Runs a bench on each mutant.

use std::time::Instant;

use super::equivalence;
use super::limits::Limits;
use super::list::Mutation;
use super::mutants::Mutants;
use super::report::{Outcome, Report, Tested};
use super::select::SELECT;
use crate::broken::Judge;
use crate::{Bench, Kill, Result, RunOptions};

/// Runs of a mutant that is not noticed, each with another seed. A register without reset starts with the right value
/// in half of the runs.
const STARTS: u64 = 8;

/// Runs before a proof is tried. Most mutants that are noticed are noticed soon, and a proof takes longer than a run.
const BEFORE_PROOFS: u64 = 3;

/// Later runs, of mutants that are not proved equivalent, have so many times as many vectors.
const LONGER: u64 = 8;

/// The last run has so many times as many vectors. It is for the few faults that one row or job in a million shows.
const LONGEST: u64 = 64;

/// How to run a bench on mutants.
#[derive(Clone, Debug)]
pub struct Options {
    /// Seed, vectors and patience. Waveforms and coverage are not made.
    pub run: RunOptions,
    /// The effort to prove that a mutant cannot be noticed; `None` does not try.
    pub proof: Option<Limits>,
}

impl Default for Options {
    fn default() -> Self {
        Self { run: RunOptions::default(), proof: Some(Limits::default()) }
    }
}

/// Runs `bench` on the unchanged design and on each mutant, until the bench notices. Mutants that it does not notice,
/// and that are not proved equivalent, are run again with other seeds.
///
/// # Errors
/// The bench fails on the unchanged design, or compares nothing.
pub fn run(bench: &dyn Bench, mutants: &Mutants, options: &Options) -> Result<Report> {
    let mut seconds = [0.0; 2];
    let undecided =
        |mutation: &Mutation| Tested { mutation: mutation.clone(), outcome: Outcome::Survived { differs_in: None } };
    let mut tested: Vec<Tested> = mutants.list.iter().map(undecided).collect();
    let mut open: Vec<usize> = (0..tested.len()).collect();
    let mut cycles = 0;
    for more in 0..STARTS {
        let start = Instant::now();
        let times = match more + 1 {
            STARTS => LONGEST,
            run if run <= BEFORE_PROOFS => 1,
            _ => LONGER,
        };
        let vectors = options.run.vectors * times;
        let run = RunOptions { seed: options.run.seed + more, vectors, ..options.run.clone() };
        let judge = Judge::new(bench, &mutants.model, &run)?;
        let mut left = Vec::new();
        for index in open {
            match one(&judge, mutants, index)? {
                Some(kill) => tested[index].outcome = Outcome::Killed(kill),
                None => left.push(index),
            }
        }
        seconds[0] += start.elapsed().as_secs_f64();
        if more == 0 {
            cycles = judge.effort.cycles;
        }
        if more + 1 == BEFORE_PROOFS
            && let (Some(limits), false) = (&options.proof, left.is_empty())
        {
            let start = Instant::now();
            let outcomes = equivalence::decide(mutants, &judge.contract, &left, limits)?;
            left.iter().zip(outcomes).for_each(|(index, outcome)| tested[*index].outcome = outcome);
            left.retain(|index| tested[*index].outcome != Outcome::Equivalent);
            seconds[1] = start.elapsed().as_secs_f64();
        }
        open = left;
        if open.is_empty() {
            break;
        }
    }
    Ok(Report {
        block: bench.block().to_owned(),
        parameters: bench.parameters(),
        available: mutants.available,
        tested,
        cycles,
        run_seconds: seconds[0],
        proof_seconds: seconds[1],
    })
}

/// Runs the bench on one mutant.
fn one(judge: &Judge, mutants: &Mutants, index: usize) -> Result<Option<Kill>> {
    judge.run(&mutants.model, |sim| {
        let select = sim.input(SELECT)?;
        sim.poke_u64(select, index as u64 + 1);
        Ok(())
    })
}
