//! The questions to ABC about the graph of both designs.

use std::fs;
use std::time::Duration;

use sim::aig::{Aig, Literal};
use sim::process::ProcessError;

use super::miter::Both;
use super::options::{How, Options};
use crate::error::{Failure, Result};
use crate::flows::workspace::{Workspace, last_lines};

/// Of runs from reset.
pub(super) enum Answer {
    Equal,
    /// In this cycle; the run is in `run.aiw`.
    Differ(u32),
    Open(String),
}

/// Whether the same state always leads to the same outputs and the same next state.
pub(super) fn registers(both: &Both, options: &Options, work: &Workspace) -> Result<Option<How>> {
    for pairs in &both.pairs {
        let same = both.graph.related(pairs).with_open_properties();
        if same.is_proved() || is_zero(&same, options.limit, work)? {
            let plain = |literal: &Literal| *literal > 1 && literal & 1 == 0;
            let plain = pairs.iter().all(|(_, literal)| plain(literal));
            return Ok(Some(if plain { How::Registers } else { How::Related }));
        }
    }
    Ok(None)
}

/// Whether all outputs of a graph without a state are 0.
fn is_zero(graph: &Aig, limit: Duration, work: &Workspace) -> Result<bool> {
    write(work, "ask.aig", &graph.write_outputs())?;
    match abc(work, "read_aiger ask.aig; orpos; &get; &cec -m", limit)? {
        None => Ok(false),
        Some(log) if log.contains("Networks are equivalent") => Ok(true),
        Some(log) if ["NOT EQUIVALENT", "UNDECIDED"].iter().any(|word| log.contains(word)) => Ok(false),
        Some(log) => Err(no_answer(&log)),
    }
}

/// Questions about a run of both designs, the quick one first. The first looks for a short run in which they differ.
/// The second merges equal registers and signals, and searches the rest for a difference, then for an invariant.
const QUESTIONS: [&str; 2] = [
    "read_aiger both.aig; fold; orpos; strash; scleanup; lcorr; &get; &scorr; &put; dc2; write_aiger reduced.aig; \
     bmc3 -F 20 -C 10000; iprove -C 10000",
    "read_aiger reduced.aig; scorr -C 1000; bmc3 -F {F} -C 100000; dc2; pdr -T {T}; iprove -C 100000",
];

/// Whether both do the same from reset.
pub(super) fn runs(both: &Both, options: &Options, work: &Workspace) -> Result<Answer> {
    write(work, "both.aig", &both.graph.write())?;
    for question in QUESTIONS {
        let seconds = options.limit.as_secs().max(1).to_string();
        let commands = question.replace("{F}", &options.cycles.to_string()).replace("{T}", &seconds);
        let Some(log) = abc(work, &commands, 3 * options.limit)? else {
            return Ok(Answer::Open(format!("no answer in {} s", 3 * options.limit.as_secs())));
        };
        if log.contains("was asserted in frame") || log.lines().any(|line| line.starts_with("SATISFIABLE")) {
            return difference(options, work);
        }
        let proved = ["Property proved.", "Networks are equivalent"].iter().any(|words| log.contains(words));
        if proved || log.lines().any(|line| line.starts_with("UNSATISFIABLE")) {
            return Ok(Answer::Equal);
        }
        if !["UNDECIDED", "No output asserted", "Reached", "timeout"].iter().any(|words| log.contains(words)) {
            return Err(no_answer(&log));
        }
    }
    let cycles = options.cycles;
    Ok(Answer::Open(format!("no difference in {cycles} cycles, and no proof that there is none")))
}

/// The run itself, on the whole graph, whose inputs have names.
fn difference(options: &Options, work: &Workspace) -> Result<Answer> {
    let frames = options.cycles.max(20);
    let commands = format!("read_aiger both.aig; fold; orpos; bmc3 -F {frames}; write_cex -a run.aiw");
    let Some(log) = abc(work, &commands, 3 * options.limit)? else {
        return Ok(Answer::Open("they differ, but no run was found in time that shows it".into()));
    };
    let frame = |line: &str| -> Option<u32> {
        let (_, rest) = line.split_once("was asserted in frame ")?;
        rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    log.lines().find_map(frame).map(Answer::Differ).ok_or_else(|| no_answer(&log))
}

/// The log; none when time ran out.
fn abc(work: &Workspace, commands: &str, limit: Duration) -> Result<Option<String>> {
    match work.tool("yosys-abc").args(["-c", commands]).timeout(limit).run() {
        Err(ProcessError::Timeout { .. }) => Ok(None),
        other => Ok(Some(other?.log())),
    }
}

fn no_answer(log: &str) -> Failure {
    Failure::NoAnswer(format!("yosys-abc gave no answer:\n{}", last_lines(log, 5)))
}

fn write(work: &Workspace, name: &str, bytes: &[u8]) -> Result<()> {
    let path = work.path(name);
    fs::write(&path, bytes).map_err(|e| Failure::NoAnswer(format!("cannot write {}: {e}", path.display())))
}
