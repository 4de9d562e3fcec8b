//! Where the points of a sweep run: here, on a Slurm cluster, or wherever the user takes the commands.
//!
//! A job is one `senbazuru point` command that writes its results into the store. An engine starts jobs and waits for
//! them; it never looks at results.

mod local;
mod slurm;

pub use local::Local;
pub use slurm::Slurm;

use std::collections::BTreeMap;

use crate::error::Result;
use crate::present::progress::Progress;

/// One point that has to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Number of the point in the plan.
    pub number: usize,
    /// A label that distinguishes it in messages.
    pub label: String,
    /// Program and arguments.
    pub words: Vec<String>,
}

/// Jobs that ended without a result: the reason, by number of the point.
pub type Lost = BTreeMap<usize, String>;

/// A way to run jobs.
pub trait Engine {
    /// Runs all jobs; one that fails never stops another.
    ///
    /// # Errors
    /// Nothing can run at all.
    fn run(&self, jobs: &[Job], progress: &Progress) -> Result<Lost>;

    /// How to go on when the run is interrupted.
    fn after_interrupt(&self) -> &'static str;
}
