//! How a design is synthesised.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Options of a synthesis.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Map to the cells of this library, by name or files; add up their area and estimate the delay. None: do not map.
    pub liberty: Vec<PathBuf>,
    /// Keep the modules apart and list each once.
    pub hierarchical: bool,
    /// What becomes of memories.
    pub memories: Memories,
    /// Number of modules that are synthesised at a time when modules are kept apart; one by default.
    pub jobs: Option<NonZeroUsize>,
    /// Prove that the netlist in cells of the library does the same as the source. The value is the time for each
    /// question.
    pub prove: Option<Duration>,
    /// Static timing of the netlist with this clock period in nanoseconds. It is proved first.
    pub period: Option<f64>,
}

/// Time for each question about a netlist, where nothing else is said.
pub const PROOF_LIMIT: Duration = Duration::from_secs(300);

/// What becomes of memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Memories {
    /// Flip-flops, as in an array of registers.
    #[default]
    FlipFlops,
    /// Bits only: a module that has a memory is left out, with its register of the word that was read, as if it were a macro. A
    /// memory in the top itself is flip-flops.
    Bits,
}
