//! On a cluster: the jobs as Slurm job arrays. Program, store and folders must be on a file system that all nodes share.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sim::process::Tool;

use super::{Engine, Job, Lost};
use crate::error::{Failure, Result};
use crate::output::replace;
use crate::present::progress::Progress;
use crate::shell;

/// Runs jobs on the Slurm cluster that this machine is part of.
#[derive(Clone, Debug)]
pub struct Slurm {
    /// Folder for the list of commands and the logs.
    pub folder: PathBuf,
    /// Options for `sbatch`, for example `--partition=long`.
    pub options: Vec<String>,
    /// Wait for the arrays of an earlier, interrupted run first.
    pub resume: bool,
    /// Time between two looks at the queue.
    pub poll: Duration,
}

/// The submitted arrays, which an interrupted run leaves for the next run.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Submitted {
    /// Job number of Slurm, and the points by task number.
    arrays: BTreeMap<String, Vec<usize>>,
}

impl Slurm {
    /// Arrays of an earlier run of this sweep that are still in the queue.
    ///
    /// # Errors
    /// Slurm is not installed or does not answer.
    pub fn unfinished(&self) -> Result<Vec<String>> {
        let mut active = Vec::new();
        for id in self.submitted().arrays.into_keys() {
            if self.tasks_left(&id)? > 0 {
                active.push(id);
            }
        }
        Ok(active)
    }

    /// Waits until the arrays of an earlier run have ended.
    ///
    /// # Errors
    /// As [`unfinished`](Self::unfinished), and arrays that nobody asked to wait for.
    pub fn settle(&self) -> Result<()> {
        let active = self.unfinished()?;
        if active.is_empty() {
            return Ok(());
        }
        if !self.resume {
            let list = active.join(" ");
            return Err(Failure::Usage(format!(
                "an earlier run of this sweep is still in the queue (job {list}): `--resume` waits for it, `scancel {list}` ends it"
            )));
        }
        self.wait(&active, None)
    }

    fn record(&self) -> PathBuf {
        self.folder.join("submitted.json")
    }

    fn submitted(&self) -> Submitted {
        fs::read(self.record()).ok().and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default()
    }

    /// Tasks of an array that wait or run. A job that Slurm has forgotten has ended.
    fn tasks_left(&self, id: &str) -> Result<usize> {
        let output = Tool::new("squeue").args(["--noheader", "--array", "--format=%i", "--jobs", id]).run()?;
        if output.success() {
            return Ok(output.stdout.lines().filter(|l| !l.trim().is_empty()).count());
        }
        if output.stderr.contains("Invalid job id") {
            return Ok(0);
        }
        Err(Failure::NoAnswer(format!("squeue does not answer: {}", output.log())))
    }

    fn wait(&self, arrays: &[String], progress: Option<(&Progress, usize)>) -> Result<()> {
        let mut done = 0;
        loop {
            let mut left = 0;
            for id in arrays {
                left += self.tasks_left(id)?;
            }
            if let Some((progress, total)) = progress {
                for _ in done..total.saturating_sub(left) {
                    progress.step();
                }
                done = done.max(total.saturating_sub(left));
            }
            if left == 0 {
                return Ok(());
            }
            std::thread::sleep(self.poll);
        }
    }

    /// Largest array that this cluster takes.
    fn largest_array(&self) -> Result<usize> {
        let output = Tool::new("scontrol").args(["show", "config"]).run()?;
        if !output.success() {
            return Err(Failure::NoAnswer(format!("Slurm does not answer: {}", output.log())));
        }
        let size =
            output.stdout.lines().find_map(|l| l.strip_prefix("MaxArraySize")?.split_once('=')?.1.trim().parse().ok());
        // The setting is the first number that is too large.
        Ok(size.unwrap_or(1001_usize).saturating_sub(1).max(1))
    }

    fn submit(&self, part: usize, jobs: &[Job]) -> Result<String> {
        let list = self.folder.join(format!("commands-{part}"));
        let commands: String = jobs.iter().map(|j| shell::line(&j.words) + "\n").collect();
        replace(&list, commands.as_bytes())?;
        let script = self.folder.join(format!("array-{part}.sh"));
        let list = fs::canonicalize(&list).map_err(|e| Failure::file("read", &list, &e))?;
        replace(&script, script_text(&list).as_bytes())?;
        let folder = fs::canonicalize(&self.folder).map_err(|e| Failure::file("read", &self.folder, &e))?;
        let output = Tool::new("sbatch")
            .args(["--parsable", "--job-name=senbazuru"])
            .arg(format!("--array=0-{}", jobs.len() - 1))
            .arg(format!("--output={}/log-{part}-%a.txt", folder.display()))
            .args(&self.options)
            .arg(&script)
            .run()?;
        if !output.success() {
            return Err(Failure::NoAnswer(format!("sbatch refuses the job array: {}", output.log())));
        }
        let id = output.stdout.trim().split(';').next().unwrap_or_default().to_owned();
        if id.is_empty() {
            return Err(Failure::NoAnswer(format!("cannot understand the answer of sbatch: {}", output.log())));
        }
        Ok(id)
    }
}

/// A task runs the line of the list that has its number.
fn script_text(list: &Path) -> String {
    let list = list.display().to_string().replace('\'', "'\\''");
    format!(
        "#!/bin/sh\nset -eu\ncommand=$(sed -n \"$((SLURM_ARRAY_TASK_ID + 1))p\" '{list}')\neval \"exec $command\"\n"
    )
}

impl Engine for Slurm {
    fn run(&self, jobs: &[Job], progress: &Progress) -> Result<Lost> {
        let size = self.largest_array()?;
        let mut submitted = Submitted::default();
        for (part, jobs) in jobs.chunks(size).enumerate() {
            let id = self.submit(part, jobs)?;
            progress.note(&format!("submitted {} points as Slurm job {id}", jobs.len()));
            submitted.arrays.insert(id, jobs.iter().map(|j| j.number).collect());
            // Written at once: whatever happens now, the next run knows of the array.
            let text = serde_json::to_vec_pretty(&submitted).map_err(|e| Failure::Check(e.to_string()))?;
            replace(&self.record(), &text)?;
        }
        let arrays: Vec<_> = submitted.arrays.keys().cloned().collect();
        self.wait(&arrays, Some((progress, jobs.len())))?;
        Ok(self.last_words(jobs, size))
    }

    fn after_interrupt(&self) -> &'static str {
        "the jobs in the queue go on: run again with --resume to wait for them"
    }
}

impl Slurm {
    /// The last line of each log, for the points that turn out to have no result.
    fn last_words(&self, jobs: &[Job], size: usize) -> Lost {
        let mut lost = Lost::new();
        for (part, jobs) in jobs.chunks(size).enumerate() {
            for (task, job) in jobs.iter().enumerate() {
                let path = self.folder.join(format!("log-{part}-{task}.txt"));
                let text = fs::read_to_string(&path).unwrap_or_default();
                let line = text.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("no output");
                lost.insert(job.number, format!("{} ({})", line.trim(), path.display()));
            }
        }
        lost
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_runs_its_line() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("it's a list");
        fs::write(&list, "echo first\necho 'second  word'\n").unwrap();
        let script = folder.path().join("array.sh");
        fs::write(&script, script_text(&list)).unwrap();
        let output = Tool::new("sh").arg(&script).env("SLURM_ARRAY_TASK_ID", "1").run().unwrap();
        assert_eq!((output.code, output.stdout.as_str()), (Some(0), "second  word\n"));
    }
}
