//! `doctor`: what is installed, and what does not work without the rest.

use std::path::Path;

use serde::Serialize;
use sim::process::package_of;

use crate::error::{Failure, Result};
use crate::flows::fpga::Device;
use crate::flows::{liberty, tools};
use crate::present::report;
use crate::present::table::Table;

/// Programs, and the commands that need them. `sweep` and `point` need what their stages do.
const TOOLS: [(&str, &str); 9] = [
    ("verilator", "lint, sim, run, energy"),
    ("g++", "sim, run, energy"),
    ("ar", "sim, run, energy"),
    ("iverilog", "lint"),
    ("yosys", "lint, synth, energy, fpga, prove, diff"),
    ("yosys-abc", "synth, energy, prove, diff"),
    ("yosys-smtbmc", "prove"),
    ("z3", "prove"),
    ("sta", "synth --period"),
];

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A tool or a file.
#[derive(Debug, Serialize)]
struct Line {
    name: &'static str,
    /// Its version, or where it is; none if it is missing.
    found: Option<String>,
    /// What has it: a Debian package, or what fetches it.
    package: String,
    needed_by: &'static str,
    /// Commands have other ways without it.
    optional: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let mut lines = TOOLS.iter().map(|&(name, needed_by)| tool(name, needed_by)).collect::<Result<Vec<_>>>()?;
    lines.extend(liberty::NAMED.map(|name| {
        file(name, &liberty::place(name), (&format!("qflow-tech-{name}"), "synth, energy --liberty of this name"))
    }));
    for device in [Device::Ecp5, Device::Ice40] {
        let found = device.program().ok().map(tools::ask).transpose()?;
        let name = device.programs()[device.programs().len() - 1];
        let needed_by = if device == Device::Ecp5 { "fpga --device ecp5-85k" } else { "fpga --device ice40-hx8k" };
        lines.push(Line { name, found, package: package_of(name).to_owned(), needed_by, optional: true });
    }
    lines.push(file("weights", &models::smollm2::path(), ("scripts/setup full", "run")));
    if args.json {
        report::json(&lines)?;
    } else {
        report::print(&text(&lines))?;
    }
    // What is missing has been said.
    let missing = lines.iter().find(|line| line.found.is_none() && !line.optional);
    missing.map_or(Ok(()), |line| Err(Failure::Tool(sim::process::ToolMissing::new(line.name))))
}

fn tool(name: &'static str, needed_by: &'static str) -> Result<Line> {
    let found = match tools::ask(name) {
        Ok(version) => Some(version),
        Err(Failure::Tool(_)) => None,
        Err(other) => return Err(other),
    };
    Ok(Line { name, found, package: package_of(name).to_owned(), needed_by, optional: false })
}

fn file(name: &'static str, path: &Path, (package, needed_by): (&str, &'static str)) -> Line {
    let found = path.is_file().then(|| path.display().to_string());
    Line { name, found, package: package.to_owned(), needed_by, optional: true }
}

fn text(lines: &[Line]) -> String {
    let mut table = Table::new(["what", "found", "needed by"]);
    for line in lines {
        let found = line.found.clone().unwrap_or_else(|| format!("missing: {}", line.package));
        table.row([line.name.into(), found, line.needed_by.into()]);
    }
    let advice = if lines.iter().all(|line| line.found.is_some()) {
        ""
    } else {
        "\nscripts/setup installs the programs and osu018 on Debian 12; all other commands work without what is missing.\n"
    };
    report::table(&table) + advice
}
