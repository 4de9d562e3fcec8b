//! The gate that all Verilog passes: three tools, not one message.

use std::collections::{BTreeMap, BTreeSet};

use hdl::lang::Design;
use serde::Serialize;
use sim::SourceFile;
use sim::lint::{Report, formal_options, iverilog_check, verilator_lint};

use crate::error::{Failure, Result};
use crate::flows::yosys;

/// The messages of one tool about a design.
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
    /// A netlist of these files in Yosys' format, which is proved instead of the files. Tests break a design in that
    /// way.
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

    /// Yosys commands that read the design with its properties and make one module of it, and the files that they read.
    /// Outputs that the top leaves free in proofs are not driven.
    pub(crate) fn with_properties(&self) -> (String, &[SourceFile]) {
        let read = |f: &SourceFile| format!("read_verilog{} {}\n", formal_options(&f.name, &self.top), f.name);
        let verilog = || self.files.iter().map(read).collect();
        let (mut script, files): (String, &[SourceFile]) = match &self.netlist {
            Some(netlist) => (format!("read_rtlil {}\n", netlist.name), std::slice::from_ref(netlist)),
            None => (verilog(), &self.files),
        };
        let top = &self.top;
        if self.files.iter().any(|file| file.name == format!("{top}.v") && file.text.contains("(* free_in_proofs *)")) {
            script += &format!("hierarchy -check -top {top}\ncutpoint {top}/a:free_in_proofs\n");
        }
        script += &format!("prep -flatten -top {top}\n");
        (script, files)
    }
}

/// Runs all tools, two at a time: `verilator --lint-only -Wall`, `iverilog -g2005 -Wall`, and Yosys, module by module
/// (elaboration, coarse synthesis, `check -assert`, no latch). The `FORMAL` sections, which are SystemVerilog,
/// pass Verilator and
/// Yosys, unless a port of the design is wider than 256 bits: they are made for proofs at small parameters.
///
/// # Errors
/// A missing tool.
pub fn lint(sources: &Sources) -> Result<Vec<Check>> {
    std::thread::scope(|scope| {
        let others = scope.spawn(|| lint_without_yosys(sources));
        let yosys = distinct_modules(std::slice::from_ref(sources)).and_then(|modules| {
            let mut checks: Vec<Check> = Vec::new();
            for module in &modules {
                for check in yosys_lint(module)? {
                    match checks.iter_mut().find(|known| known.tool == check.tool) {
                        Some(known) => known.messages.extend(check.messages),
                        None => checks.push(check),
                    }
                }
            }
            Ok(checks)
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

/// The checks of [`lint`] besides Yosys.
///
/// # Errors
/// As [`lint`].
pub fn lint_without_yosys(sources: &Sources) -> Result<Vec<Check>> {
    let verilator = |formal| {
        let tool = if formal { "verilator FORMAL" } else { "verilator" };
        let mut files = sources.files.clone();
        if formal {
            // Macros hold for the files that follow on the command line.
            files.insert(
                0,
                SourceFile { name: "formal.vh".into(), text: "`define FORMAL\n`define FORMAL_ALONE\n".into() },
            );
        }
        checked(tool, verilator_lint(&files, &sources.top))
    };
    let mut checks = vec![verilator(false)?, checked("iverilog", iverilog_check(&sources.files, &sources.top))?];
    if sources.lints_formal() {
        checks.push(verilator(true)?);
    }
    Ok(checks)
}

/// A module with the modules that it instantiates, which are checked by themselves.
#[derive(Clone, Debug)]
pub struct ModuleSources {
    /// The module.
    pub file: SourceFile,
    children: Vec<SourceFile>,
    formal: bool,
}

impl ModuleSources {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.file.name.trim_end_matches(".v")
    }

    /// The module, then the modules that it instantiates.
    #[must_use]
    pub fn files(&self) -> Vec<SourceFile> {
        [std::slice::from_ref(&self.file), &self.children].concat()
    }
}

/// The modules of some designs, each once.
///
/// # Errors
/// Two modules of one name that differ.
pub fn distinct_modules(designs: &[Sources]) -> Result<Vec<ModuleSources>> {
    let mut modules: BTreeMap<&str, ModuleSources> = BTreeMap::new();
    for design in designs {
        let names: BTreeMap<&str, &SourceFile> =
            design.files.iter().map(|f| (f.name.trim_end_matches(".v"), f)).collect();
        for file in &design.files {
            let formal = design.lints_formal() && file.text.contains("`ifdef FORMAL");
            match modules.get_mut(file.name.as_str()) {
                Some(known) if known.file.text == file.text => known.formal |= formal,
                Some(_) => return Err(Failure::Check(format!("two modules that differ are called {}", file.name))),
                None => {
                    // The line of an instance begins with its module.
                    let first_words = file.text.lines().filter_map(|line| line.split_whitespace().next());
                    let instantiated: BTreeSet<&str> = first_words.collect();
                    let children =
                        instantiated.iter().filter_map(|name| names.get(name)).map(|f| (*f).clone()).collect();
                    modules.insert(&file.name, ModuleSources { file: file.clone(), children, formal });
                }
            }
        }
    }
    Ok(modules.into_values().collect())
}

/// The Yosys check of [`lint`], for a module alone: its instances are empty. A module that many designs have is checked
/// once.
///
/// # Errors
/// As [`lint`].
pub fn yosys_lint(module: &ModuleSources) -> Result<Vec<Check>> {
    let files = module.files();
    let gate = |formal| yosys_gate(&files, formal);
    let plain = gate(false)?;
    if module.formal { Ok(vec![plain, gate(true)?]) } else { Ok(vec![plain]) }
}

/// The first of `files`, with empty modules of the others.
fn yosys_gate(files: &[SourceFile], formal: bool) -> Result<Check> {
    let (tool, define) = if formal { ("yosys FORMAL", "-formal -DFORMAL -DFORMAL_ALONE ") } else { ("yosys", "") };
    let (whole, empty) = (&files[0].name, &files[1..]);
    // Ahead of it: Yosys 0.23 stops at a signed port of a module that it does not know yet.
    let mut script: String = empty.iter().map(|f| format!("read_verilog -lib {}\n", f.name)).collect();
    script += &format!("read_verilog {define}{whole}\n");
    script += "hierarchy -check\nproc\nopt\ncheck -assert\n";
    if !formal {
        // Synthesis up to generic cells finds faults that elaboration alone does not find.
        script += "synth -run coarse:fine\ncheck -assert\n";
    }
    script += "select -assert-none t:$dlatch t:$adlatch t:$dlatchsr t:$sr\n";
    let messages = match yosys::run(&script, files, whole) {
        Ok(log) => {
            log.lines().filter(|l| l.starts_with("Warning") || l.contains(": Warning:")).map(Into::into).collect()
        }
        Err(Failure::Check(text)) => vec![text],
        Err(other) => return Err(other),
    };
    Ok(Check { tool, messages })
}
