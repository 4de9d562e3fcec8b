//! The results of mutants.

use std::fmt;

use serde_json::Value;

use super::Mutation;
use crate::Kill;

/// The result of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The bench noticed.
    Killed(Kill),
    /// The bench did not notice, but the bench of this block does, which is the module of the mutant or around it.
    KilledInPart(String),
    /// The bench did not notice, and no bench could: the mutant is proved equivalent.
    Equivalent,
    /// The bench did not notice.
    Survived {
        /// The cycle in which outputs differ in a shortest run, counted from the first cycle of reset. `None`: no such
        /// run was found, and the mutant is undecided.
        differs_in: Option<u32>,
    },
    /// The bench did not notice, and there is no verdict whether it could: a tool died or took too long.
    NoAnswer(String),
}

/// A mutant and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tested {
    /// The mutation.
    pub mutation: Mutation,
    /// Its result.
    pub outcome: Outcome,
}

/// The result of a bench on a sample of mutants.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Block under test.
    pub block: String,
    /// Its parameters, as a JSON object.
    pub parameters: Value,
    /// Mutations that the design has.
    pub available: usize,
    /// The tested mutants.
    pub tested: Vec<Tested>,
    /// Cycles of the bench on the unchanged design.
    pub cycles: u64,
    /// Seconds that the runs took.
    pub run_seconds: f64,
    /// Seconds that the proofs took.
    pub proof_seconds: f64,
}

impl Report {
    fn count(&self, of: impl Fn(&Outcome) -> bool) -> usize {
        self.tested.iter().filter(|t| of(&t.outcome)).count()
    }

    /// Mutants that the bench noticed, or the bench of a part.
    pub fn killed(&self) -> usize {
        self.count(|o| matches!(o, Outcome::Killed(_) | Outcome::KilledInPart(_)))
    }

    /// Mutants that only the bench of a part noticed.
    pub fn killed_in_parts(&self) -> usize {
        self.count(|o| matches!(o, Outcome::KilledInPart(_)))
    }

    /// Mutants that were noticed because a run did not end.
    pub fn hung(&self) -> usize {
        self.count(|o| matches!(o, Outcome::Killed(Kill::Hang)))
    }

    /// Mutants that nobody can notice.
    pub fn equivalent(&self) -> usize {
        self.count(|o| *o == Outcome::Equivalent)
    }

    /// Mutants without an answer.
    pub fn unanswered(&self) -> usize {
        self.count(|o| matches!(o, Outcome::NoAnswer(_)))
    }

    /// Mutants that a bench should have noticed, as far as known.
    pub fn survivors(&self) -> impl Iterator<Item = &Tested> {
        self.tested.iter().filter(|t| matches!(t.outcome, Outcome::Survived { .. }))
    }

    /// Mutants that count: all that are not proved equivalent.
    pub fn judged(&self) -> usize {
        self.tested.len() - self.equivalent()
    }

    /// The share of killed mutants among all that are not proved equivalent. A mutant without a verdict is not killed.
    /// 1 if there are no such mutants.
    pub fn share(&self) -> f64 {
        match self.judged() {
            0 => 1.0,
            all => self.killed() as f64 / all as f64,
        }
    }
}

impl fmt::Display for Report {
    /// One line, then each mutant that was not noticed, with all that is needed to make it again.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}: {} of {} mutants, {} killed ({} by a hang, {} in a part), {} equivalent, {} survived, {} without answer: {:.1} %",
            self.block,
            self.parameters,
            self.tested.len(),
            self.available,
            self.killed(),
            self.hung(),
            self.killed_in_parts(),
            self.equivalent(),
            self.survivors().count(),
            self.unanswered(),
            100.0 * self.share()
        )?;
        for Tested { mutation, outcome } in &self.tested {
            match outcome {
                Outcome::Survived { differs_in: Some(cycle) } => write!(f, "\n  differs in cycle {cycle}: {mutation}")?,
                Outcome::Survived { differs_in: None } => write!(f, "\n  undecided: {mutation}")?,
                Outcome::NoAnswer(why) => write!(f, "\n  no answer ({why}): {mutation}")?,
                Outcome::Killed(Kill::Panic(why)) => write!(f, "\n  the bench panicked ({why}): {mutation}")?,
                Outcome::Killed(_) | Outcome::KilledInPart(_) | Outcome::Equivalent => {}
            }
        }
        Ok(())
    }
}
