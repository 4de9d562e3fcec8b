//! The Verilog and the commands that put a design and its mutants side by side.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Mutation;
use super::list::Source;
use super::select::{SELECT, commands};
use crate::lint::{Reading, folder_of, output, read_closed, yosys_in};
use crate::runner::Contract;
use crate::{Design, Dir, Port, Result, SourceFile};

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
    /// Modules inside that are closed.
    pub closed: Closed,
}

/// Modules that are closed: any values leave them, the same in the design and in the mutant, and whatever enters them
/// counts. So if a mutant makes no difference then, it makes none with the modules as they are.
#[derive(Clone, Debug, Default)]
pub(super) struct Closed {
    /// Their names.
    pub modules: BTreeSet<String>,
    /// The ports of their instances, as ports of the design around them: an output is an input of the instance.
    pub ports: Vec<Port>,
}

impl Closed {
    /// Finds the ports of the instances.
    pub fn new(design: &Design, modules: BTreeSet<String>) -> Result<Self> {
        const FOUND: &str = "ports.txt";
        let folder = folder_of(&design.files)?;
        let (top, read) = (&design.top, read_closed(design, Reading::SystemVerilog, &modules));
        let script = format!("{read}\nprep -flatten -top {top}\n{}tee -q -o {FOUND} portlist {top}\n", evert(top));
        yosys_in(folder.path(), &script)?;
        let found = output(&folder, FOUND)?;
        let is_new = |port: &Port| design.ports.iter().all(|old| old.name != port.name);
        Ok(Self { modules, ports: found.lines().filter_map(port).filter(is_new).collect() })
    }
}

/// `output [7:0] u_adder.a_i`
fn port(line: &str) -> Option<Port> {
    let mut words = line.split_whitespace();
    let dir = match words.next()? {
        "input" => Dir::Input,
        "output" => Dir::Output,
        _ => return None,
    };
    let high: u32 = words.next()?.strip_prefix('[')?.split(':').next()?.parse().ok()?;
    Some(Port { name: words.next()?.to_owned(), dir, width: high + 1, signed: false })
}

/// Closed modules leave the design: what enters and leaves them are ports.
fn evert(top: &str) -> String {
    format!("expose -evert {top}/c:*\n")
}

/// A name as Verilog has it. Names of ports of closed modules have points and brackets.
fn id(name: &str) -> Cow<'_, str> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if is_plain { Cow::Borrowed(name) } else { Cow::Owned(format!("\\{name} ")) }
}

/// The Yosys commands for that.
pub(super) fn script(subject: &Subject, mutations: &[&Mutation]) -> String {
    let top = &subject.design.top;
    let mutated = match subject.source {
        Source::Netlist(_) => format!("read_rtlil netlist.il\n{}", commands(mutations.iter().copied())),
        Source::Ir(_) => {
            let keep = |module| format!("setattr -mod -set keep 1 {module}\n");
            let kept: String = subject.closed.modules.iter().map(keep).collect();
            format!("read_verilog -lib {CLOSED}\n{kept}read_verilog {MUTATED}\n")
        }
    };
    // Only the whole design may assume anything, and only with the modules that it assumes it of.
    let closed = &subject.closed.modules;
    let formal = subject.is_whole && closed.is_empty();
    let reading = if formal { Reading::Formal } else { Reading::SystemVerilog };
    let evert = if closed.is_empty() { String::new() } else { evert(top) };
    format!(
        "{}
prep -flatten -top {top}
chformal -assert -remove
chformal -cover -remove
{evert}rename {top} senbazuru_right
design -stash right
{mutated}prep -flatten -top {top}
{evert}rename {top} senbazuru_mutated
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
        read_closed(subject.design, reading, closed)
    )
}

/// The file of the mutated modules.
pub(super) const MUTATED: &str = "mutated.v";

/// The file of the modules that are closed.
pub(super) const CLOSED: &str = "closed.v";

/// Low in the first cycle.
pub(super) const STARTED: &str = "senbazuru_started";

/// Verilog that places both and compares them.
pub(super) fn miter(subject: &Subject, select_width: u32) -> String {
    let Subject { design, contract, closed, .. } = subject;
    let own = || subject.ports.iter().filter(|p| p.name != SELECT);
    let range = |port: &Port| format!("[{}:0]", port.width - 1);
    let of = |which: &str, port: &Port| id(&format!("{which}_{}", port.name)).into_owned();
    let mut header = format!("input wire [{}:0] {SELECT}", select_width - 1);
    let (mut nets, mut right, mut same, mut enters) = (String::new(), String::new(), Vec::new(), Vec::new());
    for (port, is_own) in own().map(|p| (p, true)).chain(closed.ports.iter().map(|p| (p, false))) {
        let name = id(&port.name);
        if port.dir == Dir::Input {
            let _ = write!(header, ",\n  input wire {} {name}", range(port));
            let value = if design.reset.as_ref() == Some(&port.name) { "senbazuru_reset" } else { &*name };
            let _ = write!(right, ".{name}({value}), ");
            continue;
        }
        let (ours, mutated) = (of("right", port), of("mutated", port));
        let _ = writeln!(nets, "  wire {} {ours}, {mutated};", range(port));
        if !is_own {
            enters.push(format!("({ours} == {mutated})"));
            continue;
        }
        let stream = contract.streams.iter().find(|s| s.fields.contains(&port.name));
        let lanes = stream.and_then(|s| own().find(|p| p.name == s.valid)).map_or(1, |valid| valid.width);
        let width = port.width / lanes;
        for lane in 0..lanes {
            let part = match lanes {
                1 => String::new(),
                _ => format!("[{}:{}]", (lane + 1) * width - 1, lane * width),
            };
            let equal = format!("({ours}{part} == {mutated}{part})");
            same.push(stream.map_or(equal.clone(), |s| format!("(!right_{}[{lane}] | {equal})", s.valid)));
        }
    }
    let outputs = |which: &str| -> String {
        let all = own().chain(&closed.ports).filter(|p| p.dir == Dir::Output);
        let names = all.map(|p| format!(".{}({})", id(&p.name), of(which, p)));
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
    same.extend(enters);
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
