//! The effort to decide about a mutant.

use std::time::Duration;

/// The effort to decide about a mutant. All limits except the time mean the same on all machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Length of the runs in which ABC looks for a difference.
    pub cycles: u32,
    /// Conflicts that the solver may meet in one question. With 0 only questions of a second or two are asked.
    pub conflicts: u32,
    /// Time for each attempt, which also limits the work that the other limits do not count.
    pub time: Duration,
}

impl Limits {
    /// Little effort: hard mutants stay open. The time is only a guard: a slow machine decides the same.
    pub const QUICK: Self = Self { cycles: 20, conflicts: 0, time: Duration::from_secs(600) };
}

impl Default for Limits {
    fn default() -> Self {
        Self { cycles: 40, conflicts: 10_000, time: Duration::from_secs(10) }
    }
}
