//! Can a mutant be noticed at all?
//!
//! The design and the mutants become one netlist: both side by side with the same inputs, in reset in the first cycle, and
//! a property that says that they do the same. For each mutant that is open the added input becomes a constant, and ABC
//! looks for a run in which they differ, and for a proof that there is none.
//!
//! "The same" is what the contract of a block can mean: outputs are equal, except that the fields of a stream are compared
//! only while its valid is high; inputs obey the assumptions of the formal section; registers and memories without a reset
//! start with the same values (zero) in both.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::Mutants;
use super::report::Outcome;
use super::run::SELECT;
use crate::lint::{folder_of, read_script, yosys_in};
use crate::process::{ProcessError, Tool};
use crate::runner::WatchedStream;
use crate::{Dir, Error, Port, Result};

/// How hard to try to decide about a mutant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Length of the runs in which a difference is looked for.
    pub cycles: u32,
    /// Conflicts that the solver may meet in one question.
    pub conflicts: u32,
    /// Time for each of two attempts. It is there for what the other limits do not see; what they do see is the same on
    /// all machines.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { cycles: 40, conflicts: 10_000, time: Duration::from_secs(60) }
    }
}

/// Decides about the mutants with these indices, in this order.
pub(super) fn decide(
    mutants: &Mutants,
    streams: &[WatchedStream],
    indices: &[usize],
    limits: &Limits,
) -> Result<Vec<Outcome>> {
    let folder = folder_of(&mutants.design.files)?;
    side_by_side(mutants, streams, indices, folder.path())?;
    indices.iter().map(|index| decide_one(*index, folder.path(), limits)).collect()
}

fn decide_one(index: usize, folder: &Path, limits: &Limits) -> Result<Outcome> {
    let Limits { cycles, conflicts, time } = limits;
    // Most registers of the two designs are equal, which `lcorr` finds at once; then a short search finds what is easy to
    // find. `scorr` looks for all equal signals, and `pdr` for an invariant. `iprove` takes what has no state left. The
    // commands pass by what is decided, and complain of what is not for them, without harm.
    let first = format!(
        "read_aiger {index}.aig; fold; orpos; lcorr; write_aiger reduced.aig; bmc3 -F 20 -C 500; iprove -C 5000"
    );
    let second = format!(
        "read_aiger reduced.aig; scorr; bmc3 -F {cycles} -C {conflicts}; dc2; pdr -C {conflicts}; iprove -C {conflicts}"
    );
    let mut log = String::new();
    for commands in [&first, &second] {
        let tool = Tool::new("yosys-abc").args(["-c", commands]).dir(folder).timeout(*time);
        log = match tool.run() {
            Ok(output) => output.log(),
            Err(ProcessError::Timeout { .. }) => return Ok(Outcome::NoAnswer(format!("none in {} s", time.as_secs()))),
            Err(error @ ProcessError::Died { .. }) => return Ok(Outcome::NoAnswer(error.to_string())),
            Err(other) => return Err(other.into()),
        };
        if let Some(answer) = log.lines().find_map(answer) {
            return Ok(answer);
        }
    }
    Ok(match log.contains("UNDECIDED") {
        true => Outcome::Survived { differs_in: None },
        false => Outcome::NoAnswer(format!("yosys-abc: {}", log.lines().last().unwrap_or_default())),
    })
}

/// An answer in a line of ABC's log: `Output 0 of miter "reduced" was asserted in frame 7.`
fn answer(line: &str) -> Option<Outcome> {
    if let Some((_, rest)) = line.split_once("was asserted in frame ") {
        let frame = rest.split(|c: char| !c.is_ascii_digit()).next().and_then(|digits| digits.parse().ok());
        return Some(Outcome::Survived { differs_in: frame });
    }
    let word = line.split_whitespace().next()?;
    match word {
        "SATISFIABLE" => Some(Outcome::Survived { differs_in: Some(0) }),
        "UNSATISFIABLE" => Some(Outcome::Equivalent),
        _ => line.starts_with("Property proved.").then_some(Outcome::Equivalent),
    }
}

/// Writes an and-inverter graph of the design and the mutant for each of the indices: `<index>.aig`.
fn side_by_side(mutants: &Mutants, streams: &[WatchedStream], indices: &[usize], folder: &Path) -> Result<()> {
    let design = &mutants.design;
    for (name, text) in [("mutated.il", &mutants.netlist), ("senbazuru_miter.v", &miter(mutants, streams))] {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(Error::io(&path))?;
    }
    let top = &design.top;
    let mut script = format!(
        "{}
prep -flatten -top {top}
chformal -assert -remove
chformal -cover -remove
rename {top} senbazuru_right
design -stash right
read_rtlil mutated.il
prep -flatten -top {top}
rename {top} senbazuru_mutated
design -stash mutated
design -copy-from right -as senbazuru_right senbazuru_right
design -copy-from mutated -as senbazuru_mutated senbazuru_mutated
read_verilog -formal senbazuru_miter.v
prep -flatten -top senbazuru_miter
memory_map
async2sync
dffunmap
setundef -undriven -zero
setundef -init -zero
opt -full -noff
techmap
opt -fast -noff
setundef -zero
dfflegalize -cell $_DFF_P_ 0
clean
delete -input w:{SELECT}
design -save both
",
        read_script(design, " -formal -DFORMAL")
    );
    let width = mutants.select_width();
    for index in indices {
        let constant = format!("connect -set {SELECT} {width}'d{}", index + 1);
        let _ =
            writeln!(script, "design -load both\n{constant}\nopt_expr\nclean\naigmap\nwrite_aiger -zinit {index}.aig");
    }
    yosys_in(folder, &script)?;
    Ok(())
}

/// Verilog that places both and compares them.
fn miter(mutants: &Mutants, streams: &[WatchedStream]) -> String {
    let design = &mutants.design;
    let ports = || mutants.model.ports().iter().filter(|p| p.name != SELECT);
    let range = |port: &Port| format!("[{}:0]", port.width - 1);
    let mut header = format!("input wire [{}:0] {SELECT}", mutants.select_width() - 1);
    let (mut nets, mut right, mut same) = (String::new(), String::new(), Vec::new());
    for port in ports() {
        let name = &port.name;
        if port.dir == Dir::Input {
            let _ = write!(header, ",\n  input wire {} {name}", range(port));
            let value = if design.reset.as_ref() == Some(name) { "senbazuru_reset" } else { name.as_str() };
            let _ = write!(right, ".{name}({value}), ");
            continue;
        }
        let _ = writeln!(nets, "  wire {0} right_{name}, mutated_{name};", range(port));
        let equal = format!("(right_{name} == mutated_{name})");
        let stream = streams.iter().find(|s| s.fields.contains(name));
        same.push(stream.map_or(equal.clone(), |s| format!("(!right_{} | {equal})", s.valid)));
    }
    let outputs = |which: &str| -> String {
        let names = ports().filter(|p| p.dir == Dir::Output).map(|p| format!(".{0}({which}_{0})", p.name));
        names.collect::<Vec<_>>().join(", ")
    };
    // Reset in the first cycle, and later whenever the inputs want it. Outputs during reset mean nothing.
    let mut reset = String::new();
    if let (Some(clock), Some(name)) = (&design.clock, &design.reset) {
        let _ = writeln!(reset, "  reg started = 1'b0;\n  always @(posedge {clock}) started <= 1'b1;");
        let _ = writeln!(reset, "  wire senbazuru_reset = {name} & started;");
        same = vec![format!("(!senbazuru_reset | ({}))", same.join(" & "))];
    }
    format!(
        "module senbazuru_miter (\n  {header}\n);\n{reset}{nets}  senbazuru_right u_right ({right}{});\n  \
         senbazuru_mutated u_mutated (.{SELECT}({SELECT}), {right}{});\n  always @* assert ({});\nendmodule\n",
        outputs("right"),
        outputs("mutated"),
        same.join(" & ")
    )
}
