//! What is compared, and how.

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use sim::SourceFile;

/// One of the two.
#[derive(Clone, Debug)]
pub struct Side {
    /// How messages and waveforms call it.
    pub name: &'static str,
    /// Verilog.
    pub files: Vec<SourceFile>,
    /// Top module; none: the one that no other places.
    pub top: Option<String>,
    /// Modules whose instances are left out. Nets that they drive become inputs that both designs share; nets that they
    /// read become outputs.
    pub boxes: Vec<String>,
}

/// How to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// Reset, low while it resets: held in the first cycle, if both have an input of this name.
    pub reset: Option<String>,
    /// Length of the runs in which a difference is looked for.
    pub cycles: u32,
    /// Time for each of the attempts.
    pub limit: Duration,
    /// Look only at registers of the same name; leave the answer open where that does not decide.
    pub registers_only: bool,
    /// Where the waveform of a difference goes.
    pub trace: Option<PathBuf>,
}

/// Why two designs are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// The same values in registers of the same name lead to the same outputs and next values.
    Registers,
    /// The same, with registers that one design keeps inverted, or as a constant: designs that agree once agree for
    /// ever.
    Related,
    /// From reset, with registers and memories that have none at zero.
    Sequential,
}
