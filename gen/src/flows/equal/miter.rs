//! Both designs in one module, with the same inputs: as Yosys reads them, and as an and-inverter graph.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sim::aig::{Aig, Literal};

use super::options::{Options, Side};
use crate::error::{Failure, Result};
use crate::flows::workspace::Workspace;
use crate::flows::yosys;

/// A port of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Port {
    name: String,
    input: bool,
    width: usize,
}

/// Both in one graph.
pub(super) struct Both {
    pub graph: Aig,
    /// For each register of one design, by latch: the net of its name in the other design.
    pub pairs: [Vec<(u32, Literal)>; 2],
}

/// Low in the first cycle.
const STARTED: &str = "senbazuru_started";
/// Names of the instances.
pub(super) const INSTANCES: [&str; 2] = ["left", "right"];

/// Reads both, flattened, and compares their ports; `Err` names the difference.
pub(super) fn ports(
    sides: [&Side; 2],
    limit: Duration,
    work: &Workspace,
) -> Result<std::result::Result<Vec<Port>, String>> {
    let mut found = Vec::new();
    for (side, instance) in sides.into_iter().zip(INSTANCES) {
        let own = Workspace::new()?;
        let mut script: String = side.files.iter().map(|f| format!("read_verilog {}\n", f.name)).collect();
        for name in &side.boxes {
            let _ = writeln!(script, "blackbox {name}");
        }
        let top = side.top.as_ref().map_or("-auto-top".to_owned(), |top| format!("-top {top}"));
        let _ = writeln!(script, "hierarchy -check {top}\nproc\nflatten\nopt_clean");
        for name in &side.boxes {
            let _ = writeln!(script, "expose -evert t:{name}");
        }
        let _ = writeln!(script, "rename -top senbazuru_{instance}\nwrite_rtlil read.il\nwrite_json ports.json");
        let _ = writeln!(script, "{GATES}write_rtlil gates.il");
        yosys::run_limited(&own, &script, &side.files, side.top.as_deref().unwrap_or(side.name), limit)?;
        for kind in ["read", "gates"] {
            work.write(&format!("{instance}_{kind}.il"), &own.read(&format!("{kind}.il"))?)?;
        }
        found.push(ports_of(&own.read("ports.json")?, instance)?);
    }
    let [left, right] = [&found[0], &found[1]];
    let text =
        |port: &Port| format!("{} {} of {} bits", if port.input { "input" } else { "output" }, port.name, port.width);
    let only = |here: &[Port], there: &[Port], side: &Side| -> Vec<String> {
        here.iter().filter(|p| !there.contains(p)).map(|p| format!("{} has the {}", side.name, text(p))).collect()
    };
    let differences = [only(left, right, sides[0]), only(right, left, sides[1])].concat();
    Ok(if differences.is_empty() { Ok(found.swap_remove(0)) } else { Err(differences.join(", ")) })
}

/// Ports of a module in Yosys' JSON, sorted by name.
fn ports_of(json: &str, instance: &str) -> Result<Vec<Port>> {
    let unread = |what: String| Failure::NoAnswer(format!("cannot understand what Yosys wrote of a design: {what}"));
    let value: Value = serde_json::from_str(json).map_err(|e| unread(e.to_string()))?;
    let ports = value["modules"][format!("senbazuru_{instance}")]["ports"].as_object();
    let ports = ports.ok_or_else(|| unread("no ports".into()))?;
    let mut found = Vec::new();
    for (name, port) in ports {
        let input = match port["direction"].as_str() {
            Some("input") => true,
            Some("output") => false,
            _ => return Err(Failure::Usage(format!("the port {name} is neither an input nor an output"))),
        };
        let width = port["bits"].as_array().map_or(0, Vec::len);
        found.push(Port { name: name.clone(), input, width });
    }
    found.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

/// The graph of both, side by side.
pub(super) fn build(sides: [&Side; 2], ports: &[Port], options: &Options, work: &Workspace) -> Result<Both> {
    work.write("miter.v", &verilog(ports, options.reset.as_deref()))?;
    let names = sides.map(|side| side.name).join(" and ");
    yosys::run_limited(work, SCRIPT, &[], &names, 3 * options.limit)?;
    one_clock(&work.read("gates.json")?, &names)?;
    let path = work.path("both.aig");
    let bytes = fs::read(&path).map_err(|e| Failure::NoAnswer(format!("cannot read {}: {e}", path.display())))?;
    let graph = Aig::read(&bytes)?;
    let pairs = pairs(&graph, &work.read("both.vmap")?);
    Ok(Both { graph, pairs })
}

/// Makes gates of one design. Word-level synthesis comes first. Without it, a netlist and its source would have
/// different gates for the same product, and no prover would see that they are equal. For the same reason, each design
/// is taken by itself. `-noff` keeps registers for the questions, even if they hold a constant or equal another
/// register.
const GATES: &str = "opt -noff
wreduce
peepopt
opt_clean
alumacc
share
opt -noff
opt_clean
memory_collect
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
";

const SCRIPT: &str = "read_rtlil left_gates.il
read_rtlil right_gates.il
read_verilog -formal miter.v
hierarchy -top senbazuru_miter
proc
flatten
opt_clean
techmap
opt -fast -noff
dfflegalize -cell $_DFF_P_ 0
clean
write_json gates.json
aigmap
clean
write_aiger -zinit -map both.map both.aig
write_aiger -zinit -vmap both.vmap same.aig
";

/// The same inputs for both, and a property for each output.
fn verilog(ports: &[Port], reset: Option<&str>) -> String {
    let inputs = ports.iter().filter(|p| p.input);
    let header: Vec<_> = inputs.map(|p| format!("  input wire [{}:0] \\{} ", p.width - 1, p.name)).collect();
    let reset = reset.filter(|name| ports.iter().any(|p| p.input && p.width == 1 && p.name == *name));
    let mut text = format!("module senbazuru_miter (\n{}\n);\n", header.join(",\n"));
    let connect = |p: &Port, instance: &str| match (p.input, reset == Some(p.name.as_str())) {
        (true, true) => format!(".\\{} (senbazuru_reset)", p.name),
        (true, false) => format!(".\\{0} (\\{0} )", p.name),
        (false, _) => format!(".\\{0} (\\{instance}_{0} )", p.name),
    };
    if let Some(reset) = reset {
        let _ = writeln!(text, "  wire {STARTED} = !$initstate;\n  wire senbazuru_reset = \\{reset} & {STARTED};");
    }
    for port in ports.iter().filter(|p| !p.input) {
        let _ = writeln!(text, "  wire [{}:0] \\left_{1} , \\right_{1} ;", port.width - 1, port.name);
    }
    for instance in INSTANCES {
        let pins: Vec<_> = ports.iter().map(|p| connect(p, instance)).collect();
        let _ = writeln!(text, "  senbazuru_{instance} {instance} ({});", pins.join(", "));
    }
    for port in ports.iter().filter(|p| !p.input) {
        let _ = writeln!(text, "  always @* assert (\\left_{0} == \\right_{0} );", port.name);
    }
    text + "endmodule\n"
}

/// The state of both must change at one edge of one input, for a step of the graph to be a cycle.
fn one_clock(json: &str, names: &str) -> Result<()> {
    let value: Value = serde_json::from_str(json)
        .map_err(|e| Failure::NoAnswer(format!("cannot understand what Yosys wrote of {names}: {e}")))?;
    let module = &value["modules"]["senbazuru_miter"];
    let cells = module["cells"].as_object().into_iter().flat_map(|cells| cells.values());
    let mut clocks: Vec<&Value> = cells.filter(|c| c["type"] == "$_DFF_P_").map(|c| &c["connections"]["C"]).collect();
    clocks.dedup();
    let ports = || module["ports"].as_object().into_iter().flat_map(|ports| ports.values());
    let is_input = |clock: &Value| ports().any(|p| p["direction"] == "input" && p["bits"] == *clock);
    if clocks.windows(2).all(|two| two[0] == two[1]) && clocks.iter().all(|clock| is_input(clock)) {
        return Ok(());
    }
    Err(Failure::Usage(format!(
        "{names}: their registers have several clocks, or one that is gated or inverted; only designs with one clock, at \
         its rising edge, can be compared"
    )))
}

/// `latch 32 0 left.sum_q`: number of the latch, bit, name. `wire 68 0 right.sum_q`: literal, bit, name.
fn pairs(graph: &Aig, map: &str) -> [Vec<(u32, Literal)>; 2] {
    let mut started = None;
    let mut named: [BTreeMap<(&str, u32), Literal>; 2] = Default::default();
    for line in map.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [kind, number, bit, name] = words[..] else { continue };
        let (Ok(number), Ok(bit)) = (number.parse::<u32>(), bit.parse::<u32>()) else { continue };
        let literal = match kind {
            "latch" => graph.latch(number),
            "invlatch" => graph.latch(number) ^ 1,
            "wire" => number,
            _ => continue,
        };
        if name == STARTED {
            started = graph.latch_of(literal);
        }
        for (instance, names) in INSTANCES.iter().zip(&mut named) {
            if let Some(name) = name.strip_prefix(instance).and_then(|rest| rest.strip_prefix('.')) {
                names.insert((name, bit), literal);
            }
        }
    }
    [(0, 1), (1, 0)].map(|(here, there): (usize, usize)| {
        let mut pairs: BTreeMap<u32, Literal> = BTreeMap::new();
        for (name, &literal) in &named[here] {
            let state = |literal| graph.state_behind(literal, started);
            let Some(own) = state(literal).filter(|own| *own > 1) else { continue };
            let Some(other) = named[there].get(name).and_then(|&literal| state(literal)) else { continue };
            if let Some(latch) = graph.latch_of(own).filter(|_| own / 2 != other / 2) {
                pairs.entry(latch).or_insert(other ^ (own & 1));
            }
        }
        // No chains: the second register of a pair is not the first of another pair.
        let firsts: Vec<u32> = pairs.keys().copied().collect();
        let is_first = |literal| graph.latch_of(literal).is_some_and(|latch| firsts.binary_search(&latch).is_ok());
        pairs.into_iter().filter(|(_, literal)| !is_first(*literal)).collect()
    })
}

/// Simulates the run in `run.aiw` on both as they were read: the outputs that differ at its end. The waveform goes to `trace`.
pub(super) fn replay(work: &Workspace, ports: &[Port], sides: [&Side; 2], trace: Option<&Path>) -> Result<Vec<String>> {
    let clock = work.read("gates.json").ok().and_then(|json| clock(&json));
    let clock = clock.map(|name| format!(" -clock {name}")).unwrap_or_default();
    let names = sides.map(|side| side.name).join(" and ");
    let script = format!(
        "read_rtlil left_read.il\nread_rtlil right_read.il\nread_verilog -formal miter.v\n\
         prep -flatten -top senbazuru_miter\nsim -zinit -r run.aiw -map both.map -vcd run.vcd{clock} senbazuru_miter\n"
    );
    let log = yosys::run_in(work, &script, &[], &names)?;
    // `Warning: Assert senbazuru_miter.$assert$miter.v:16$40 (miter.v:16.11-16.24) failed.`
    let text = work.read("miter.v")?;
    let failed = |line: &str| -> Option<String> {
        let place = line.split_once("Warning: Assert ")?.1.rsplit_once(" (miter.v:")?.1;
        let number: usize = place.split('.').next()?.parse().ok()?;
        let line = text.lines().nth(number.checked_sub(1)?)?;
        ports.iter().map(|p| &p.name).find(|name| line.contains(&format!("\\left_{name} =="))).cloned()
    };
    let mut outputs: Vec<String> = log.lines().filter_map(failed).collect();
    outputs.sort();
    outputs.dedup();
    if outputs.is_empty() {
        return Err(Failure::NoAnswer(format!("{names}: ABC found a difference that Yosys' simulator does not see")));
    }
    if let Some(to) = trace {
        let write = || {
            to.parent().map_or(Ok(()), fs::create_dir_all)?;
            fs::copy(work.path("run.vcd"), to)
        };
        write().map_err(|e| Failure::file("write", to, &e))?;
    }
    Ok(outputs)
}

/// The input at the clock pin of the registers.
fn clock(json: &str) -> Option<String> {
    let value: Value = serde_json::from_str(json).ok()?;
    let module = &value["modules"]["senbazuru_miter"];
    let flip_flop = module["cells"].as_object()?.values().find(|c| c["type"] == "$_DFF_P_")?;
    let ports = module["ports"].as_object()?;
    ports.iter().find(|(_, p)| p["bits"] == flip_flop["connections"]["C"]).map(|(name, _)| name.clone())
}
