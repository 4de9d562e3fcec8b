//! `lint`: the gate, on one block or all, with given, default or all registered parameters.

use serde::Serialize;

use super::target::Targets;
use crate::catalogue::{Catalogue, Params};
use crate::error::{Failure, Result};
use crate::flows::lint::{Check, Sources, lint};
use crate::params::show_changes;
use crate::present::progress::Progress;
use crate::present::report;
use crate::present::table::Table;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    targets: Targets,
    /// Check all parameter sets that the block is registered with
    #[arg(long, conflicts_with_all = ["set", "config"])]
    configurations: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Linted {
    block: &'static str,
    parameters: Params,
    #[serde(skip)]
    changes: String,
    top: String,
    checks: Vec<Check>,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let mut work = Vec::new();
    for (entry, params) in args.targets.resolve(catalogue)? {
        let sets = if args.configurations { entry.configurations() } else { vec![params] };
        for params in sets {
            let sources = Sources::from(&entry.elaborate(&params)?);
            let changes = show_changes(&entry.defaults(), &params);
            work.push((entry.about().name, params, changes, sources));
        }
    }
    let progress = Progress::new(work.len(), "checking");
    let mut done = Vec::new();
    for (block, parameters, changes, sources) in work {
        progress.message(&sources.top);
        let checks = lint(&sources)?;
        done.push(Linted { block, parameters, changes, top: sources.top, checks });
        progress.step();
    }
    drop(progress);
    let failed = done.iter().flat_map(|l| &l.checks).any(|c| !c.messages.is_empty());
    if args.json {
        report::json(&done)?;
    } else {
        report::print(&text(&done))?;
    }
    if failed { Err(Failure::Reported) } else { Ok(()) }
}

fn text(done: &[Linted]) -> String {
    let mut table = Table::new(["module", "result", "parameters"]);
    let mut messages = String::new();
    for l in done {
        let count: usize = l.checks.iter().map(|c| c.messages.len()).sum();
        let tools: Vec<_> = l.checks.iter().map(|c| c.tool).collect();
        let result = if count == 0 {
            format!("clean: {}", tools.join(", "))
        } else {
            format!("{count} message{}", if count == 1 { "" } else { "s" })
        };
        table.row([l.top.clone(), result, l.changes.clone()]);
        for check in l.checks.iter().filter(|c| !c.messages.is_empty()) {
            messages += &format!("\n{}, {}:\n{}\n", l.top, check.tool, check.messages.join("\n"));
        }
    }
    report::table(&table) + &messages
}
