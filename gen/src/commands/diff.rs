//! `diff`: do two versions of some designs do the same?

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use crate::error::{Failure, Result};
use crate::flows::diff::{Comparison, Options, Outcome, read};
use crate::flows::equal::{How, Verdict};
use crate::present::progress::Progress;
use crate::present::report;
use crate::present::table::Table;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Folder with the older version: Verilog that `gen` wrote, or one design without a manifest
    old: PathBuf,
    /// Folder with the newer version
    new: PathBuf,
    /// File of the blocks whose behaviour may change: a name and the reason on each line. Any other block that changes
    /// is a failure, and so is a block of the file that did not change
    #[arg(long, value_name = "FILE")]
    changed: Option<PathBuf>,
    /// Cycles in which to look for a difference
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    cycles: u32,
    /// Seconds for each question about a design
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Folder for waveforms of differences
    #[arg(short, long, value_name = "DIR", default_value = "target/waves")]
    output: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let (old, new) = (read(&args.old)?, read(&args.new)?);
    let allowed = args.changed.as_deref().map(allowed).transpose()?.unwrap_or_default();
    let limit = Duration::from_secs(args.timeout);
    let mut comparison = Comparison::new(Options { cycles: args.cycles, limit, traces: args.output.clone() });
    let mut done = BTreeMap::new();
    // A folder of one design is that design, whatever its name was.
    if let ([before], [after]) = (&old.values().collect::<Vec<_>>()[..], &new.values().collect::<Vec<_>>()[..]) {
        done.insert(after.name.as_str(), comparison.design(before, after)?);
    } else {
        let names: BTreeSet<&str> = old.keys().chain(new.keys()).map(String::as_str).collect();
        let progress = Progress::new(names.len(), "comparing");
        for name in names {
            progress.message(name);
            let outcome = match (old.get(name), new.get(name)) {
                (Some(before), Some(after)) => comparison.design(before, after)?,
                (Some(_), None) => Outcome::Removed,
                _ => Outcome::Added,
            };
            done.insert(name, outcome);
            progress.step();
        }
    }
    let wrong = wrong(&done, &allowed);
    if args.json {
        report::json(&json!({ "designs": done, "wrong": wrong }))?;
    } else {
        report::print(&(text(&done) + &wrong.iter().map(|line| format!("{line}\n")).collect::<String>()))?;
    }
    let open: Vec<_> = done.iter().filter(|(name, o)| o.is_open() && !allowed.contains_key(**name)).collect();
    match (wrong.len(), open.len()) {
        (0, 0) => Ok(()),
        (0, _) => {
            let names: Vec<_> = open.iter().map(|(name, _)| **name).collect();
            Err(Failure::NoAnswer(format!(
                "not known whether these do the same: {}; --timeout or --cycles may help",
                names.join(", ")
            )))
        }
        _ => Err(Failure::Reported),
    }
}

/// Unexpected results, in sentences.
fn wrong(done: &BTreeMap<&str, Outcome>, allowed: &BTreeMap<String, String>) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, outcome) in done {
        match (allowed.get(*name), outcome.is_same()) {
            (None, false) if !outcome.is_open() => lines.push(format!("{name} does not do what it did")),
            (Some(_), true) => lines.push(format!("{name} does what it did, but is listed as changed")),
            _ => {}
        }
    }
    let unknown = allowed.keys().filter(|name| !done.contains_key(name.as_str()));
    lines.extend(unknown.map(|name| format!("{name} is listed as changed, but there is no such block")));
    lines
}

/// Blocks with reasons.
fn allowed(path: &Path) -> Result<BTreeMap<String, String>> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::file("read", path, &e))?;
    let mut found = BTreeMap::new();
    for (number, line) in text.lines().map(str::trim).enumerate().filter(|(_, l)| !l.is_empty() && !l.starts_with('#'))
    {
        let Some((name, reason)) = line.split_once(char::is_whitespace) else {
            let place = format!("{}:{}", path.display(), number + 1);
            return Err(Failure::Usage(format!(
                "{place}: `{line}` has no reason; a line is a block and why it changed"
            )));
        };
        found.insert(name.to_owned(), reason.trim().to_owned());
    }
    Ok(found)
}

fn text(done: &BTreeMap<&str, Outcome>) -> String {
    let mut table = Table::new(["design", "result"]);
    let identical = done.values().filter(|o| **o == Outcome::Identical).count();
    for (name, outcome) in done.iter().filter(|(_, o)| **o != Outcome::Identical) {
        table.row([(*name).to_owned(), sentence(outcome)]);
    }
    let head = if identical < done.len() { report::table(&table) } else { String::new() };
    format!("{head}{identical} of {} designs are the same text\n", done.len())
}

fn sentence(outcome: &Outcome) -> String {
    let (verdict, changed) = match outcome {
        Outcome::Identical => return "the same text".into(),
        Outcome::Removed => return "REMOVED".into(),
        Outcome::Added => return "new".into(),
        Outcome::Compared { verdict, changed } => (verdict, changed),
    };
    let text = match verdict {
        Verdict::Equal { how: How::Registers } => {
            "equal: the same values in registers of the same name lead to the same outputs and values".into()
        }
        Verdict::Equal { how: How::Related } => {
            "equal, once the registers agree, some of them inverted or constant in one version".into()
        }
        Verdict::Equal { how: How::Sequential } => {
            "equal from reset, with registers and memories that have none at zero".into()
        }
        Verdict::Ports { what } => format!("OTHER PORTS: {what}"),
        Verdict::Differ { cycle, outputs, trace } => {
            let trace = trace.as_ref().map(|t| format!(": {}", t.display())).unwrap_or_default();
            format!("DIFFERS in cycle {cycle} at {}{trace}", outputs.join(", "))
        }
        Verdict::Open { why } => format!("NOT KNOWN: {why}"),
    };
    match changed.len() {
        0 => text,
        1..=3 => format!("{text}; changed: {}", changed.join(", ")),
        n => format!("{text}; changed: {n} modules"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changed_is_listed_and_nothing_else() {
        let differ = Outcome::Compared {
            verdict: Verdict::Differ { cycle: 3, outputs: vec!["sum_o".into()], trace: None },
            changed: vec!["a".into()],
        };
        let equal = Outcome::Compared { verdict: Verdict::Equal { how: How::Registers }, changed: vec![] };
        let done = BTreeMap::from([("adder", differ), ("buffer", equal), ("counter", Outcome::Removed)]);
        let allow = |names: &[&str]| names.iter().map(|&n| (n.to_owned(), "why".to_owned())).collect();
        assert!(wrong(&done, &allow(&["adder", "counter"])).is_empty());
        assert_eq!(wrong(&done, &allow(&["adder"])), ["counter does not do what it did"]);
        let all = allow(&["adder", "buffer", "counter", "divider"]);
        assert_eq!(
            wrong(&done, &all),
            [
                "buffer does what it did, but is listed as changed",
                "divider is listed as changed, but there is no such block"
            ]
        );
    }
}
