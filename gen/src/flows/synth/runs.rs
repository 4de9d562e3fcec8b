//! Runs of Yosys: a design as a whole, or module by module.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use hdl::emit::Manifest;
use serde_json::Value;
use sim::SourceFile;

use super::options::{Memories, Options};
use super::report::{Aig, Mapped};
use super::statistics::{bits, cells_of, graph};
use crate::error::{Failure, Result};
use crate::flows::liberty::Library;
use crate::flows::lint::{ModuleSources, Sources, distinct_modules};
use crate::flows::workspace::Workspace;
use crate::flows::yosys::{self, NO_MAPPING};
use crate::parallel::while_true;

/// The figures of Yosys and ABC, by module.
#[derive(Default)]
pub(super) struct Found {
    /// Statistics while memories are memories.
    pub memories: BTreeMap<String, Value>,
    /// Statistics of generic cells.
    pub cells: BTreeMap<String, Value>,
    /// In cells of the library.
    pub library: LibraryResults,
    /// The graph of a flattened design.
    pub aig: Option<Aig>,
}

/// The whole design at once, flattened.
pub(super) fn whole(sources: &Sources, options: &Options, library: Option<&Library>) -> Result<Found> {
    let work = workspace(library)?;
    let mut script: String = sources.files.iter().map(|f| format!("read_verilog {}\n", f.name)).collect();
    script += &begin(&sources.top);
    let count = "opt_clean\ntee -q -o memories.json stat -json\n";
    match options.memories {
        // Memories are still memories here.
        Memories::FlipFlops => script += &format!("flatten\n{count}"),
        Memories::Bits => {
            let others = format!("select -set memories t:$mem* %m {} %d\nblackbox @memories", sources.top);
            script += &format!("{count}memory_collect\n{others}\nflatten\n");
        }
    }
    script += &format!("synth -flatten -top {}\n{GENERIC}", sources.top);
    // A net that a black box drives is an input of the graph, and a net that it reads is an output.
    script += "design -save generic\nexpose -evert c:* t:$* %d\n";
    script += "dffunmap -ce-only\ntechmap -map resets.v\nasync2sync\ndffunmap\n";
    script += "aigmap\nopt_clean\nwrite_aiger design.aig\ndesign -load generic\n";
    let mut found = run(&work, script, &sources.files, &sources.top, library)?;
    found.aig = Some(graph(&work)?);
    Ok(found)
}

/// Each module by itself, as many at a time as the options say; the modules inside it are empty. Yosys repeats its
/// passes on all modules as long as any of them gets smaller, so one run for all takes several times as long.
pub(super) fn apart(
    sources: &Sources,
    manifest: &Manifest,
    options: &Options,
    library: Option<&Library>,
) -> Result<Found> {
    let mut modules = distinct_modules(std::slice::from_ref(sources))?;
    // Of a black box there is nothing to say.
    modules.retain(|module| manifest.modules.iter().any(|m| m.name == module.name() && !m.black_box));
    let found = Mutex::new(Vec::new());
    while_true(options.jobs.unwrap_or(NonZeroUsize::MIN), &modules, |module| {
        let result = one(module, &sources.top, options, library);
        let good = result.is_ok();
        found.lock().unwrap_or_else(PoisonError::into_inner).push(result);
        good
    });
    let mut all = Found::default();
    for one in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
        let one = one?;
        all.memories.extend(one.memories);
        all.cells.extend(one.cells);
        all.library.cells.extend(one.library.cells);
        all.library.areas.extend(one.library.areas);
        all.library.delays.extend(one.library.delays);
    }
    Ok(all)
}

/// A module. One with a memory that is not to be mapped has statistics of its memory only.
fn one(module: &ModuleSources, top: &str, options: &Options, library: Option<&Library>) -> Result<Found> {
    let (files, name) = (module.files(), module.name());
    let mut script: String = files[1..].iter().map(|f| format!("read_verilog -lib {}\n", f.name)).collect();
    script += &format!("read_verilog {}\n", files[0].name);
    script += &begin(name);
    script += "opt_clean\ntee -q -o memories.json stat -json\n";
    if options.memories == Memories::Bits && name != top {
        let work = workspace(None)?;
        yosys::run_in(&work, &script, &files, name)?;
        let mut memories = statistics(&work, "memories.json")?;
        memories.retain(|module, _| module == name);
        if bits(memories.get(name)) > 0 {
            return Ok(Found { memories, ..Found::default() });
        }
    }
    script += &format!("synth -top {name}\n{GENERIC}");
    let mut found = run(&workspace(library)?, script, &files, name, library)?;
    for of in [&mut found.memories, &mut found.cells, &mut found.library.cells] {
        of.retain(|module, _| module == name);
    }
    Ok(found)
}

fn begin(top: &str) -> String {
    format!("hierarchy -check -top {top}\nproc\n")
}

const GENERIC: &str = "tee -q -o cells.json stat -json\n";

fn workspace(library: Option<&Library>) -> Result<Workspace> {
    let work = Workspace::new()?;
    work.write("resets.v", &reset_map())?;
    if let Some(library) = library {
        constrain(library, &work)?;
    }
    Ok(work)
}

/// Runs a script that leaves statistics, then maps to the library.
fn run(
    work: &Workspace,
    mut script: String,
    files: &[SourceFile],
    top: &str,
    library: Option<&Library>,
) -> Result<Found> {
    if library.is_some() {
        // Yosys 0.23 leaves the area out of the JSON.
        script += &format!(
            "{MAPPING}\ntee -q -o area.txt stat -liberty library.lib\ntee -q -o mapped.json stat -json\n\
                 write_verilog -noattr -noexpr -nohex mapped.v\n"
        );
    }
    let log = yosys::run_in(work, &script, files, top).map_err(|e| blame_library(e, library))?;
    Ok(Found {
        memories: statistics(work, "memories.json")?,
        cells: statistics(work, "cells.json")?,
        library: library.map(|_| LibraryResults::read(work, &log)).transpose()?.unwrap_or_default(),
        aig: None,
    })
}

/// Writes the library, and the constraints that tell ABC the driver and the load of a design.
pub(super) fn constrain(library: &Library, work: &Workspace) -> Result<()> {
    library.put(work)?;
    let driver = library.driver.iter().map(|cell| format!("set_driving_cell {cell}\n")).collect::<String>();
    work.write("constraints", &(driver + &format!("set_load {:.3}\n", library.load)))
}

/// From generic gates to cells of a library. Yosys would put the name of the folder before a relative name for ABC, and
/// neither of them can quote a quote.
pub(super) const MAPPING: &str = "dfflibmap -liberty library.lib
abc -liberty /proc/self/cwd/library.lib -constr /proc/self/cwd/constraints
opt_clean";

/// The figures of Yosys and ABC for the design in cells of a library.
#[derive(Default)]
pub(super) struct LibraryResults {
    cells: BTreeMap<String, Value>,
    areas: BTreeMap<String, f64>,
    delays: BTreeMap<String, f64>,
    /// In Verilog.
    pub netlist: Option<String>,
}

impl LibraryResults {
    fn read(work: &Workspace, log: &str) -> Result<Self> {
        let cells = statistics(work, "mapped.json")?;
        Ok(Self {
            cells,
            areas: areas(&work.read("area.txt")?),
            delays: delays(log),
            netlist: Some(work.read("mapped.v")?),
        })
    }

    /// A module.
    pub fn module(&self, name: &str, library: &Library, manifest: &Manifest) -> Mapped {
        let cells = self.cells.get(name).map(|m| cells_of(m, manifest)).unwrap_or_default();
        let sequential = cells.iter().filter(|(cell, _)| library.sequential.contains(*cell)).map(|(_, n)| n).sum();
        let area = self.areas.get(name).copied().unwrap_or(0.0);
        Mapped { area, cells, sequential, delay_ps: self.delays.get(name).copied() }
    }
}

/// A library that Yosys cannot use is no fault of the design.
pub(super) fn blame_library(error: Failure, library: Option<&Library>) -> Failure {
    let Some(library) = library else { return error };
    let path = library.place();
    match error {
        Failure::Check(text) if text.contains("cannot be legalized") => Failure::Usage(format!(
            "the library {path} has no flip-flop{} which can stand for one that the design needs{}:\n{text}",
            if library.sequential.is_empty() { " at all, so none" } else { "" },
            if library.sequential.is_empty() {
                "; flip-flops in a file of their own go with one more --liberty"
            } else {
                ""
            }
        )),
        Failure::NoAnswer(text) if text.contains(NO_MAPPING) => Failure::Usage(format!(
            "the installed ABC cannot map to the library {path}: does it have an inverter, a NAND or NOR, and their timing?\n{text}"
        )),
        Failure::Check(text) if text.to_lowercase().contains("liberty") || text.contains(".lib") => {
            Failure::Usage(format!(
                "the installed Yosys cannot use the library {path}; a newer one may:\n{text}{}",
                line_of(library, &text).unwrap_or_default()
            ))
        }
        error => error,
    }
}

/// The line that Yosys names, and the cause where it is known: expressions without quotes, as in gf180mcu's files
/// (`clear : !RN ;`).
fn line_of(library: &Library, error: &str) -> Option<String> {
    let number: usize = error.split_once("on line ")?.1.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
    let line = library.text.lines().nth(number.checked_sub(1)?)?.trim();
    let bare = |value: &str| !value.starts_with('"') && value.contains(['!', '&', '|', '^', '(', '*', '+', '\'']);
    let hint = match line.split_once(':').map(|(name, value)| (name.trim(), value.trim().trim_end_matches([';', ' '])))
    {
        Some((name, value)) if bare(value) => {
            format!("\nit reads an expression in quotes only: {name} : \"{value}\";")
        }
        _ => String::new(),
    };
    Some(format!("\nthe line is: {line}{hint}"))
}

/// Maps flip-flops with an asynchronous reset to plain ones: `$_DFF_PN0_` to `$_DFF_P_` and so on. (`async2sync` would
/// put gates before and after each of them.)
fn reset_map() -> String {
    let mut map = String::new();
    for edge in ["P", "N"] {
        for reset in ["P0", "P1", "N0", "N1"] {
            map += &format!("module \\$_DFF_{edge}{reset}_ (input D, C, R, output Q);\n");
            map += &format!("  \\$_DFF_{edge}_ plain (.D(D), .C(C), .Q(Q));\nendmodule\n");
        }
    }
    map
}

/// Area by module, without the modules inside: `Chip area for module '\name': 24557.000000`.
fn areas(statistics: &str) -> BTreeMap<String, f64> {
    let line = |line: &str| {
        let (name, area) = line.trim().strip_prefix("Chip area for module '\\")?.split_once("': ")?;
        Some((name.to_owned(), area.parse().ok()?))
    };
    statistics.lines().filter_map(line).collect()
}

/// Longest path by module, from ABC's log: the last one, because Yosys runs ABC without the library before.
fn delays(log: &str) -> BTreeMap<String, f64> {
    let mut delays = BTreeMap::new();
    let mut module = "";
    for line in log.lines() {
        if let Some((_, name)) = line.split_once("Extracting gate netlist of module `\\") {
            module = name.split_once('\'').map_or(name, |(name, _)| name);
        } else if let Some((_, delay)) = line.split_once("Delay =")
            && line.starts_with("ABC:")
            && let Some(delay) = delay.split_whitespace().next().and_then(|d| d.parse().ok())
        {
            delays.insert(module.to_owned(), delay);
        }
    }
    delays
}

/// The modules of `stat -json` by name.
fn statistics(work: &Workspace, name: &str) -> Result<BTreeMap<String, Value>> {
    let text = work.read(name)?;
    // Yosys prints the invocation and the JSON object one after the other.
    let start = text.find('{').unwrap_or(0);
    // Yosys 0.23 draws the hierarchy, where it is deeper than two levels, right into the JSON.
    let is_json = |line: &&str| line.trim_start().starts_with(['"', '{', '}']);
    let text: String = text[start..].lines().filter(is_json).collect();
    let value: Value = serde_json::from_str(&text)
        .map_err(|e| Failure::NoAnswer(format!("cannot understand the statistics of Yosys: {e}")))?;
    let modules = value.get("modules").and_then(Value::as_object).cloned().unwrap_or_default();
    Ok(modules.into_iter().map(|(name, value)| (name.trim_start_matches('\\').to_owned(), value)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn area_lines() {
        let text = "   Chip area for module '\\pe': 24557.500000\n   Chip area for top module '\\mesh': 9.0\n";
        assert_eq!(areas(text), BTreeMap::from([("pe".to_owned(), 24557.5)]));
    }

    #[test]
    fn delay_lines() {
        let log = "4.1. Extracting gate netlist of module `\\t' to `<abc-temp-dir>/input.blif'..\n\
            ABC: WireLoad = \"none\"  Gates =    334 ( 11.1 %)   Area =    11662.00 ( 95.2 %)   Delay =  3000.84 ps  (  7.2 %)\n";
        assert_eq!(delays(log), BTreeMap::from([("t".to_owned(), 3000.84)]));
    }
}
