//! How to run a bench.

use std::path::PathBuf;

use crate::{BuildOptions, Trace};

/// How to run a [`Bench`](super::Bench).
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Fixes stimuli, pauses and the state before reset.
    pub seed: u64,
    /// Number of test vectors that the bench should use.
    pub vectors: u64,
    /// Write a waveform of this run, failing or not.
    pub trace: Trace,
    /// Collect coverage.
    pub coverage: bool,
    /// Cycles without any transfer after which streams count as deadlocked.
    pub patience: u64,
    /// Cycles after which a run with streams ends as failed.
    pub max_cycles: u64,
    /// Folder for waveforms; `None` is `target/waves` of the workspace.
    pub waves: Option<PathBuf>,
    /// Command that repeats the run; composed from block, parameters, seed and vectors when `None`.
    pub command: Option<String>,
    /// How models are compiled. The fields `trace` and `coverage` above replace `trace` and `coverage` of this value.
    pub build: BuildOptions,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            seed: 1,
            vectors: 1000,
            trace: Trace::Off,
            coverage: false,
            patience: 10_000,
            max_cycles: 100_000_000,
            waves: None,
            command: None,
            build: BuildOptions::default(),
        }
    }
}
