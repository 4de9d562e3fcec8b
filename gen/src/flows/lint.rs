//! The gate that all Verilog passes: three tools, not one message.

use hdl::lang::Design;
use serde::Serialize;
use sim::SourceFile;
use sim::lint::{Report, iverilog_check, verilator_lint};

use crate::error::{Failure, Result};
use crate::flows::yosys;

/// What one tool said of a design.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Tool and mode.
    pub tool: &'static str,
    /// Messages; none when the design is clean.
    pub messages: Vec<String>,
}

/// Everything a tool needs of a design. Unlike the design itself it can be sent to another thread.
#[derive(Clone, Debug)]
pub struct Sources {
    /// Top module.
    pub top: String,
    /// Verilog, children before parents.
    pub files: Vec<SourceFile>,
    /// Bits of the widest port of the top.
    pub widest_port: u32,
    /// A netlist of these files in Yosys' format, which is proved instead of them: tests break a design in that way.
    pub netlist: Option<SourceFile>,
}

/// Widest port with which `FORMAL` sections are linted. They are proved at small parameters, and Yosys 0.23 takes hours
/// to read properties for each of thousands of elements.
const WIDEST_FORMAL: u32 = 256;

impl From<&Design> for Sources {
    fn from(design: &Design) -> Self {
        let files = design.verilog().into_iter().map(|f| SourceFile { name: f.name, text: f.text }).collect();
        let widest_port = design.manifest().ports.iter().map(|p| p.width).max().unwrap_or(0);
        Self { top: design.top_name().to_owned(), files, widest_port, netlist: None }
    }
}

impl Sources {
    /// Whether there are checks for the prover.
    #[must_use]
    pub fn has_formal(&self) -> bool {
        self.files.iter().any(|f| f.text.contains("`ifdef FORMAL"))
    }

    /// Whether its properties are linted.
    fn lints_formal(&self) -> bool {
        self.has_formal() && self.widest_port <= WIDEST_FORMAL
    }

    /// Yosys commands that read the design with its properties, and the files that they read.
    pub(crate) fn with_properties(&self) -> (String, &[SourceFile]) {
        let verilog = || self.files.iter().map(|f| format!("read_verilog -formal -DFORMAL {}\n", f.name)).collect();
        match &self.netlist {
            Some(netlist) => (format!("read_rtlil {}\n", netlist.name), std::slice::from_ref(netlist)),
            None => (verilog(), &self.files),
        }
    }
}

/// Runs all tools, two at a time: `verilator --lint-only -Wall`, `iverilog -g2005 -Wall`, and Yosys (elaboration,
/// coarse synthesis, `check -assert`, no latch). The `FORMAL` sections, which are SystemVerilog, pass Verilator and
/// Yosys, unless a port of the design is wider than 256 bits: they are made for proofs at small parameters.
///
/// # Errors
/// A missing tool.
pub fn lint(sources: &Sources) -> Result<Vec<Check>> {
    std::thread::scope(|scope| {
        let others = scope.spawn(|| lint_without_yosys(sources));
        let gate = |formal| yosys_gate(&sources.files, 1, Some(&sources.top), formal);
        let yosys = gate(false).and_then(|plain| {
            let checks = vec![plain];
            if sources.lints_formal() { Ok([checks, vec![gate(true)?]].concat()) } else { Ok(checks) }
        });
        let others: Result<Vec<Check>> =
            others.join().unwrap_or_else(|_| Err(Failure::NoAnswer("a lint thread panicked".into())));
        let mut checks = others?;
        checks.extend(yosys?);
        Ok(checks)
    })
}

fn checked(tool: &'static str, report: sim::Result<Report>) -> Result<Check> {
    let messages = report?.messages.into_iter().map(|m| m.text).collect();
    Ok(Check { tool, messages })
}

/// What [`lint`] runs besides Yosys.
///
/// # Errors
/// As [`lint`].
pub fn lint_without_yosys(sources: &Sources) -> Result<Vec<Check>> {
    let verilator = |formal| {
        let tool = if formal { "verilator FORMAL" } else { "verilator" };
        let mut files = sources.files.clone();
        if formal {
            // Macros hold for the files that follow on the command line.
            files.insert(0, SourceFile { name: "formal.vh".into(), text: "`define FORMAL\n".into() });
        }
        checked(tool, verilator_lint(&files, &sources.top))
    };
    let mut checks = vec![verilator(false)?, checked("iverilog", iverilog_check(&sources.files, &sources.top))?];
    if sources.lints_formal() {
        checks.push(verilator(true)?);
    }
    Ok(checks)
}

/// What [`lint`] runs of Yosys, for several designs at once: a module that several of them have is looked at once.
///
/// # Errors
/// As [`lint`]; and two modules of one name that differ.
pub fn yosys_lint(designs: &[Sources]) -> Result<Vec<Check>> {
    let gate = |formal: bool| -> Result<Option<Check>> {
        let mut files: Vec<SourceFile> = Vec::new();
        for file in designs.iter().filter(|d| !formal || d.lints_formal()).flat_map(|d| &d.files) {
            match files.iter().find(|f| f.name == file.name) {
                None => files.push(file.clone()),
                Some(f) if f.text == file.text => {}
                Some(f) => return Err(Failure::Check(format!("two modules that differ are called {}", f.name))),
            }
        }
        if files.is_empty() { Ok(None) } else { yosys_gate(&files, designs.len(), None, formal).map(Some) }
    };
    Ok([gate(false)?, gate(true)?].into_iter().flatten().collect())
}

/// All modules below `top`, or all there are.
fn yosys_gate(files: &[SourceFile], designs: usize, top: Option<&str>, formal: bool) -> Result<Check> {
    let (tool, define) = if formal { ("yosys FORMAL", "-formal -DFORMAL ") } else { ("yosys", "") };
    let mut script: String = files.iter().map(|f| format!("read_verilog {define}{}\n", f.name)).collect();
    let root = top.map_or(String::new(), |top| format!(" -top {top}"));
    script += &format!("hierarchy -check{root}\nproc\nopt\ncheck -assert\n");
    if !formal {
        // Synthesis up to generic cells finds what elaboration alone does not.
        script += "synth -run coarse:fine\ncheck -assert\n";
    }
    script += "select -assert-none t:$dlatch t:$adlatch t:$dlatchsr t:$sr\n";
    let name = top.map_or(format!("one of {designs} designs"), Into::into);
    let messages = match yosys::run(&script, files, &name) {
        Ok(log) => {
            log.lines().filter(|l| l.starts_with("Warning") || l.contains(": Warning:")).map(Into::into).collect()
        }
        Err(Failure::Check(text)) => vec![text],
        Err(other) => return Err(other),
    };
    Ok(Check { tool, messages })
}
