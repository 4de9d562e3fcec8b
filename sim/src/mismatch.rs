//! The report of a failed comparison: all data to understand and repeat it.

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;

/// Hardware and golden model differ, or the hardware broke a rule. Its text is the whole report.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    /// Block under test.
    pub block: String,
    /// Its parameters, as a JSON object.
    pub parameters: Value,
    /// Seed of the run.
    pub seed: u64,
    /// Rising edges before the failure; the waveform shows the cycle at 10 times this number.
    pub cycle: u64,
    /// The difference.
    pub difference: Difference,
    /// A command that repeats the run.
    pub command: String,
    /// Waveform of the failing run, if one could be written.
    pub waveform: Option<PathBuf>,
    /// Why there is no waveform, or why it may not show this failure.
    pub waveform_note: Option<String>,
}

/// The failure of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Difference {
    /// A port has another value than the golden model.
    Value {
        /// Port name.
        port: String,
        /// The golden model's value.
        expected: String,
        /// The hardware's value.
        got: String,
        /// The beat or vector.
        place: String,
    },
    /// The rules of ready and valid were broken, or a beat came that is not expected.
    Protocol {
        /// Port that shows it.
        port: String,
        /// What happened.
        problem: String,
    },
    /// No transfer passes any more.
    Deadlock {
        /// Cycles without any transfer; or cycles of the whole run, if their limit ended it.
        cycles: u64,
        /// State of each stream.
        streams: Vec<String>,
    },
    /// The design stopped itself: `$stop` or a failed assertion.
    Stopped {
        /// What it printed.
        log: String,
    },
}

impl std::error::Error for Mismatch {}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "hardware and golden model differ")?;
        writeln!(f, "  block:      {}", self.block)?;
        writeln!(f, "  parameters: {}", self.parameters)?;
        writeln!(f, "  seed:       {}", self.seed)?;
        writeln!(f, "  cycle:      {}", self.cycle)?;
        match &self.difference {
            Difference::Value { port, expected, got, place } => {
                writeln!(f, "  port:       {port}{}{place}", if place.is_empty() { "" } else { ", " })?;
                writeln!(f, "  expected:   {expected}")?;
                writeln!(f, "  got:        {got}")?;
            }
            Difference::Protocol { port, problem } => {
                writeln!(f, "  port:       {port}")?;
                writeln!(f, "  problem:    {problem}")?;
            }
            Difference::Deadlock { cycles, streams } => {
                writeln!(f, "  problem:    not finished after {cycles} cycles without progress")?;
                streams.iter().try_for_each(|stream| writeln!(f, "              {stream}"))?;
            }
            Difference::Stopped { log } => {
                writeln!(f, "  problem:    the design stopped itself")?;
                log.lines().try_for_each(|line| writeln!(f, "              {line}"))?;
            }
        }
        writeln!(f, "  repeat:     {}", self.command)?;
        match &self.waveform {
            Some(path) => write!(f, "  waveform:   {}", path.display())?,
            None => write!(f, "  waveform:   none")?,
        }
        self.waveform_note.as_ref().map_or(Ok(()), |note| write!(f, " ({note})"))
    }
}
