//! Proofs for all time by property-directed reachability (IC3), with the `pdr` command of Yosys' ABC.
//!
//! It looks for an inductive invariant that implies the assertions by itself, where k-induction would need it spelled out.
//! Flip-flops without reset start with any value: `write_aiger -zinit` gives each of them a free input.

use std::time::Duration;

use sim::process::ProcessError;

use crate::error::{Failure, Result};
use crate::flows::lint::Sources;
use crate::flows::workspace::{Workspace, last_lines};
use crate::flows::yosys;

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// All assertions hold in every reachable state.
    Proved,
    /// Some assertion does not.
    Refuted,
    /// No answer in time.
    Unknown,
}

/// Asks for all assertions of a design at once.
///
/// # Errors
/// A missing tool, or a design that Yosys or ABC rejects.
pub fn prove_all(sources: &Sources, limit: Duration) -> Result<Answer> {
    let work = Workspace::new()?;
    let (mut script, files) = sources.with_properties();
    script += "memory_map\n";
    // ABC takes every output for a property: only the assertions may stay.
    script += "chformal -cover -remove\ndelete -port o:*\n";
    script += "async2sync\ndffunmap\nsetundef -anyseq\nopt -full -noff\ntechmap\nopt -fast -noff\n";
    script += "dfflegalize -cell $_DFF_P_ 01\nabc -fast -g AND\nclean\naigmap\n";
    script += "write_aiger -zinit model.aig\n";
    yosys::run_in(&work, &script, files, &sources.top)?;
    let commands = format!("read_aiger model.aig; fold; orpos; scorr; dc2; pdr -T {}", limit.as_secs());
    let tool = work.tool("yosys-abc").args(["-c", &commands]).timeout(limit + Duration::from_secs(60));
    let log = match tool.run() {
        Err(ProcessError::Timeout { .. }) => return Ok(Answer::Unknown),
        other => other?.log(),
    };
    if log.contains("Property proved.") || log.contains("Networks are equivalent") {
        Ok(Answer::Proved)
    } else if log.contains("was asserted in frame") {
        Ok(Answer::Refuted)
    } else if log.contains("Property UNDECIDED") || log.contains("Reached timeout") || log.contains("timeout") {
        Ok(Answer::Unknown)
    } else {
        let tail = last_lines(&log, 5);
        Err(Failure::NoAnswer(format!("yosys-abc gave no answer for {}:\n{tail}", sources.top)))
    }
}
