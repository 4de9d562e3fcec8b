//! The Verilog and the commands that put a design and its mutants side by side.

use std::fmt::Write as _;

use super::Mutation;
use super::list::Source;
use super::run::{SELECT, commands};
use crate::lint::{Reading, read_script};
use crate::runner::Contract;
use crate::{Design, Dir, Port, SourceFile};

/// The design, or a module of one, that is put next to its mutants.
pub(super) struct Subject<'a> {
    pub design: &'a Design,
    pub ports: &'a [Port],
    pub source: &'a Source,
    /// The known rules of its ports; for a module none.
    pub contract: &'a Contract,
    /// A whole design: its inputs obey the assumptions of the formal sections, and its outputs mean nothing during
    /// reset. For a module this does not hold: modules around it may store its outputs during reset.
    pub is_whole: bool,
}

/// The Yosys commands for that.
pub(super) fn script(subject: &Subject, mutations: &[&Mutation]) -> String {
    let top = &subject.design.top;
    let mutated = match subject.source {
        Source::Netlist(_) => format!("read_rtlil netlist.il\n{}", commands(mutations.iter().copied())),
        Source::Ir(_) => "read_verilog mutated.v\n".to_owned(),
    };
    format!(
        "{}
prep -flatten -top {top}
chformal -assert -remove
chformal -cover -remove
rename {top} senbazuru_right
design -stash right
{mutated}prep -flatten -top {top}
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
aigmap
clean
write_aiger -zinit -vmap both.map both.aig
",
        read_script(subject.design, if subject.is_whole { Reading::Formal } else { Reading::SystemVerilog })
    )
}

/// Low in the first cycle.
pub(super) const STARTED: &str = "senbazuru_started";

/// Verilog that places both and compares them.
pub(super) fn miter(subject: &Subject, select_width: u32) -> String {
    let Subject { design, contract, .. } = subject;
    let ports = || subject.ports.iter().filter(|p| p.name != SELECT);
    let range = |port: &Port| format!("[{}:0]", port.width - 1);
    let mut header = format!("input wire [{}:0] {SELECT}", select_width - 1);
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
        let stream = contract.streams.iter().find(|s| s.fields.contains(name));
        let lanes = stream.and_then(|s| ports().find(|p| p.name == s.valid)).map_or(1, |valid| valid.width);
        let width = port.width / lanes;
        for lane in 0..lanes {
            let part = match lanes {
                1 => String::new(),
                _ => format!("[{}:{}]", (lane + 1) * width - 1, lane * width),
            };
            let equal = format!("(right_{name}{part} == mutated_{name}{part})");
            same.push(stream.map_or(equal.clone(), |s| format!("(!right_{}[{lane}] | {equal})", s.valid)));
        }
    }
    let outputs = |which: &str| -> String {
        let names = ports().filter(|p| p.dir == Dir::Output).map(|p| format!(".{0}({which}_{0})", p.name));
        names.collect::<Vec<_>>().join(", ")
    };
    // Reset in the first cycle, and later whenever the inputs want it.
    let mut reset = String::new();
    if let (Some(clock), Some(name)) = (&design.clock, &design.reset) {
        let _ = writeln!(reset, "  reg {STARTED} = 1'b0;\n  always @(posedge {clock}) {STARTED} <= 1'b1;");
        let _ = writeln!(reset, "  wire senbazuru_reset = {name} & {STARTED};");
        if subject.is_whole {
            same = vec![format!("(!senbazuru_reset | ({}))", same.join(" & "))];
        }
    }
    let given: String = contract.given.iter().map(|rule| format!("  always @* assume ({rule});\n")).collect();
    format!(
        "module senbazuru_miter (\n  {header}\n);\n{reset}{nets}  senbazuru_right u_right ({right}{});\n  \
         senbazuru_mutated u_mutated (.{SELECT}({SELECT}), {right}{});\n{given}  always @* assert ({});\nendmodule\n",
        outputs("right"),
        outputs("mutated"),
        same.join(" & ")
    )
}

/// The files of a design, with assumptions that hold in the cycle that they are about. Yosys makes a register of an
/// assumption at a clock edge, so it would hold one cycle late.
pub(super) fn at_once(files: &[SourceFile]) -> Vec<SourceFile> {
    const EDGE: &str = "always @(posedge clk_i) ";
    let text = |text: &str| {
        let mut parts = text.split(EDGE);
        let mut new = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let statement = part.split(';').next().unwrap_or_default();
            let assumes = statement.split_whitespace().any(|word| word == "assume");
            new += if assumes { "always @* " } else { EDGE };
            new += part;
        }
        new
    };
    files.iter().map(|file| SourceFile { name: file.name.clone(), text: text(&file.text) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumptions_hold_at_once_and_nothing_else_changes() {
        let verilog = "always @(posedge clk_i) if (rst_ni) small:\n  assume (a_i < 3);\n\
            always @(posedge clk_i) if (rst_ni) right: assert (a);\nalways @(posedge clk_i) a <= b;\n";
        let files = [SourceFile { name: "a.v".into(), text: verilog.into() }];
        let expected = verilog.replacen("@(posedge clk_i)", "@*", 1);
        assert_eq!(at_once(&files)[0].text, expected);
    }
}
