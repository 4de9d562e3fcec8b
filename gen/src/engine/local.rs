//! On this machine: as many jobs at a time as it has cores. Each is a process of its own, so a crash in one point does
//! not reach another.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sim::process::{ProcessError, Tool};

use super::{Engine, Job, Lost};
use crate::error::{Failure, Result};
use crate::parallel::while_true;
use crate::present::progress::Progress;

/// Runs jobs on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Local {
    /// Jobs at a time.
    pub jobs: NonZeroUsize,
    /// Limit of one job.
    pub limit: Option<Duration>,
}

impl Engine for Local {
    fn run(&self, jobs: &[Job], progress: &Progress) -> Result<Lost> {
        let lost = Mutex::new(Lost::new());
        while_true(self.jobs, jobs, |job| {
            progress.message(&job.label);
            if let Some(reason) = self.one(job, progress) {
                lost.lock().unwrap_or_else(PoisonError::into_inner).insert(job.number, reason);
            }
            progress.step();
            true
        });
        Ok(lost.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn after_interrupt(&self) -> &'static str {
        "run again to go on"
    }
}

impl Local {
    /// Runs a job; the reason when it left no result.
    fn one(&self, job: &Job, progress: &Progress) -> Option<String> {
        let (program, arguments) = job.words.split_first()?;
        let mut tool = Tool::new(program.as_str()).args(arguments);
        if let Some(limit) = self.limit {
            tool = tool.timeout(limit);
        }
        let last = |text: &str| text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or_default().trim().to_owned();
        // A message may have several lines: the last lines of a tool's output.
        let message = |text: &str| match text.lines().skip_while(|l| !l.starts_with("error: ")).collect::<Vec<_>>()[..]
        {
            [] => last(text),
            ref lines => lines.join("\n")["error: ".len()..].trim().to_owned(),
        };
        let (text, lost) = match tool.run() {
            Ok(output) if output.success() => return None,
            // Exit code 1: a stage failed, and its result is in the store.
            Ok(output) if output.code == Some(1) => (last(&output.stdout), false),
            Ok(output) => (message(&output.stderr), true),
            Err(ProcessError::Died { death, .. }) => (format!("the job {death}"), true),
            Err(ProcessError::Timeout { limit, .. }) => (format!("stopped after {} s", limit.as_secs()), true),
            Err(other) => (Failure::from(other).to_string(), true),
        };
        progress.note(&format!("failed: {}: {text}", job.label));
        lost.then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_jobs_without_result() {
        let script = ["exit 0", "echo 'synth failed: x'; exit 1", "echo why >&2; exit 2", "kill -9 $$", "sleep 20"];
        let job = |(number, script): (usize, &&str)| Job {
            number,
            label: format!("job {number}"),
            words: ["sh", "-c", script].map(str::to_owned).to_vec(),
        };
        let jobs: Vec<_> = script.iter().enumerate().map(job).collect();
        let engine = Local { jobs: NonZeroUsize::new(2).unwrap(), limit: Some(Duration::from_secs(2)) };
        let lost = engine.run(&jobs, &Progress::new(jobs.len(), "test")).unwrap();
        let lost: Vec<_> = lost.iter().map(|(number, why)| (*number, why.as_str())).collect();
        let [(2, "why"), (3, killed), (4, "stopped after 2 s")] = lost[..] else { panic!("{lost:?}") };
        assert!(killed.starts_with("the job was killed by signal 9 (SIGKILL)"), "{killed}");
    }
}
