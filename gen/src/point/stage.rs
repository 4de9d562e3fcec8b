//! The stages of a point.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A stage of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Verilog: its size, its latency
    Gen,
    /// The three checkers
    Lint,
    /// Co-simulation with the golden model
    Sim,
    /// Synthesis
    Synth,
    /// Cycles of a part of a language model, or of the block's own work, by the block's recurrence
    Cycles,
    /// Lookup tables and clock on an FPGA
    Fpga,
    /// Placed and routed in cells of a library
    Layout,
    /// Energy of the testbench's run in cells of a library
    Energy,
    /// The properties of the block, bounded
    Prove,
}

impl Stage {
    /// All stages, in the order in which they run.
    pub const ALL: [Self; 9] = [
        Self::Gen,
        Self::Lint,
        Self::Sim,
        Self::Cycles,
        Self::Synth,
        Self::Fpga,
        Self::Layout,
        Self::Energy,
        Self::Prove,
    ];

    /// Name, as users write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Gen => "gen",
            Self::Lint => "lint",
            Self::Sim => "sim",
            Self::Synth => "synth",
            Self::Cycles => "cycles",
            Self::Fpga => "fpga",
            Self::Layout => "layout",
            Self::Energy => "energy",
            Self::Prove => "prove",
        }
    }

    /// The tools whose versions matter to the result.
    pub(super) fn tools(self) -> &'static [&'static str] {
        match self {
            Self::Gen | Self::Cycles => &[],
            Self::Lint => &["verilator", "iverilog", "yosys"],
            // The tools of the engine: see `Point::engine_tools`.
            Self::Sim => &[],
            // The place-and-route tool depends on the device, and the timer on an option.
            Self::Synth | Self::Fpga => &["yosys"],
            Self::Layout => &["yosys", "yosys-abc", "graywolf", "qrouter", "magic", "netgen-lvs", "sta"],
            Self::Energy => &["yosys", "verilator", "g++"],
            Self::Prove => &["yosys", "z3"],
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
