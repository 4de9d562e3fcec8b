//! Synthesis with Yosys: cells, flip-flops, AND nodes and levels, area.
//!
//! The figures of two designs compare only under one script, so there is one for all blocks:
//! - cells: `synth -flatten` to Yosys' gate library, `stat`;
//! - AND nodes and levels: then `dffunmap; aigmap; write_aiger`, and in ABC `strash`, and `dc2` three times. Levels are
//!   counted between registers and ports. An asynchronous reset is part of the flip-flop and counts nothing; enables and
//!   synchronous resets are logic in front of it and count;
//! - area: `dfflibmap; abc -liberty; stat -liberty` instead, in the unit of the library.
//!
//! Memories are mapped to flip-flops; their bits are counted separately as well. Black boxes count as cells of their own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use hdl::emit::Manifest;
use serde::Serialize;
use serde_json::Value;
use sim::process::Tool;

use crate::error::{Failure, Result};
use crate::lint::Sources;
use crate::yosys;

/// What is to be done.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Map to the cells of this library and add up their area.
    pub liberty: Option<PathBuf>,
    /// Keep the modules apart and list each once.
    pub hierarchical: bool,
}

/// What synthesis found.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Top module.
    pub top: String,
    /// One line a module when they were kept apart, otherwise the whole design; the top is last.
    pub modules: Vec<ModuleReport>,
    /// The whole design: each module times its instances.
    pub total: Counts,
    /// The whole design as an and-inverter graph; absent when modules were kept apart or a library was given.
    pub aig: Option<Aig>,
}

/// One module.
#[derive(Clone, Debug, Serialize)]
pub struct ModuleReport {
    /// Verilog name.
    pub name: String,
    /// Times it is placed in the whole design.
    pub instances: u64,
    /// Its own logic, without that of the modules inside it.
    pub own: Counts,
}

/// Numbers of cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Cells of all types but flip-flops.
    pub gates: u64,
    /// Flip-flops, those of memories included.
    pub flip_flops: u64,
    /// Bits of memories.
    pub memory_bits: u64,
    /// Area, when a library was given.
    pub area: Option<f64>,
    /// Cells by type.
    pub cells: BTreeMap<String, u64>,
}

/// Size and depth of the and-inverter graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Aig {
    /// After structural hashing.
    pub strash: Graph,
    /// After `dc2` three times.
    pub dc2: Graph,
}

/// One graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Graph {
    /// Two-input AND nodes.
    pub and_nodes: u64,
    /// Nodes on the longest path.
    pub levels: u64,
}

/// Synthesises a design.
///
/// # Errors
/// A missing tool, an unreadable library, a design or library that Yosys rejects.
pub fn synthesise(sources: &Sources, manifest: &Manifest, options: &Options) -> Result<Report> {
    let liberty = options.liberty.as_deref().map(readable).transpose()?;
    let folder = tempfile::tempdir().map_err(|e| Failure::Check(format!("temporary folder: {e}")))?;
    let work = folder.path();
    let resets = work.join("resets.v");
    fs::write(&resets, reset_map()).map_err(|e| Failure::file("write", &resets, &e))?;
    let script = script(sources, options.hierarchical, liberty.as_deref(), work);
    yosys::run(&script, &sources.files, &sources.top)?;
    let memories = statistics(&work.join("memories.json"))?;
    let cells = statistics(&work.join("cells.json"))?;
    let areas = if liberty.is_some() { areas(&read(&work.join("area.txt"))?) } else { BTreeMap::new() };
    let mut modules = Vec::new();
    let mut total = Counts { area: liberty.is_some().then_some(0.0), ..Counts::default() };
    // In a flattened design only the top is left.
    for module in manifest.modules.iter().filter(|m| cells.contains_key(&m.name)) {
        let area = liberty.is_some().then(|| areas.get(&module.name).copied().unwrap_or(0.0));
        let own = counts(&cells[&module.name], memories.get(&module.name), area, manifest);
        let instances = if options.hierarchical { module.instances } else { 1 };
        total.add(&own, instances);
        modules.push(ModuleReport { name: module.name.clone(), instances, own });
    }
    if modules.is_empty() {
        return Err(Failure::Check(format!("Yosys reports no module of {}", sources.top)));
    }
    let aig = if options.hierarchical || liberty.is_some() { None } else { Some(graph(&work.join("design.aig"))?) };
    Ok(Report { top: sources.top.clone(), modules, total, aig })
}

fn readable(liberty: &Path) -> Result<PathBuf> {
    fs::File::open(liberty).map_err(|e| Failure::file("read", liberty, &e))?;
    fs::canonicalize(liberty).map_err(|e| Failure::file("read", liberty, &e))
}

fn script(sources: &Sources, hierarchical: bool, liberty: Option<&Path>, work: &Path) -> String {
    let flatten = if hierarchical { "" } else { " -flatten" };
    let top = &sources.top;
    let work = work.display();
    let mut lines: Vec<String> = sources.files.iter().map(|f| format!("read_verilog {}", f.name)).collect();
    lines.push(format!("hierarchy -check -top {top}\nproc"));
    if !hierarchical {
        lines.push("flatten".into());
    }
    // Memories are still memories here.
    lines.push(format!("opt_clean\ntee -q -o {work}/memories.json stat -json"));
    lines.push(format!("synth{flatten} -top {top}"));
    if let Some(liberty) = liberty {
        let liberty = liberty.display();
        lines.push(format!("dfflibmap -liberty \"{liberty}\"\nabc -liberty \"{liberty}\"\nopt_clean"));
        // Yosys 0.23 leaves the area out of the JSON.
        lines.push(format!("tee -q -o {work}/area.txt stat -liberty \"{liberty}\""));
    }
    lines.push(format!("tee -q -o {work}/cells.json stat -json"));
    if liberty.is_none() && !hierarchical {
        // What a black box drives is an input of the graph, and what it reads an output.
        lines.push("expose -evert c:* t:$* %d".into());
        lines.push(format!("dffunmap -ce-only\ntechmap -map {work}/resets.v\nasync2sync\ndffunmap"));
        lines.push(format!("aigmap\nopt_clean\nwrite_aiger {work}/design.aig"));
    }
    lines.join("\n") + "\n"
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

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|e| Failure::file("read", path, &e))
}

/// Area by module, without the modules inside: `Chip area for module '\name': 24557.000000`.
fn areas(statistics: &str) -> BTreeMap<String, f64> {
    let line = |line: &str| {
        let (name, area) = line.trim().strip_prefix("Chip area for module '\\")?.split_once("': ")?;
        Some((name.to_owned(), area.parse().ok()?))
    };
    statistics.lines().filter_map(line).collect()
}

/// The modules of `stat -json` by name.
fn statistics(path: &Path) -> Result<BTreeMap<String, Value>> {
    let text = read(path)?;
    // Yosys prints the invocation and the JSON object one after the other.
    let start = text.find('{').unwrap_or(0);
    let value: Value = serde_json::from_str(&text[start..])
        .map_err(|e| Failure::Check(format!("cannot understand the statistics of Yosys: {e}")))?;
    let modules = value.get("modules").and_then(Value::as_object).cloned().unwrap_or_default();
    Ok(modules.into_iter().map(|(name, value)| (name.trim_start_matches('\\').to_owned(), value)).collect())
}

fn counts(cells: &Value, memory: Option<&Value>, area: Option<f64>, manifest: &Manifest) -> Counts {
    let mut counts = Counts {
        memory_bits: memory.and_then(|m| m["num_memory_bits"].as_u64()).unwrap_or(0),
        area,
        ..Counts::default()
    };
    for (name, number) in cells["num_cells_by_type"].as_object().into_iter().flatten() {
        let number = number.as_u64().unwrap_or(0);
        let name = name.trim_start_matches('\\');
        // Instances of other modules are counted there.
        if manifest.modules.iter().any(|m| m.name == name && !m.black_box) {
            continue;
        }
        *if is_flip_flop(name) { &mut counts.flip_flops } else { &mut counts.gates } += number;
        counts.cells.insert(name.to_owned(), number);
    }
    counts
}

/// Yosys' own flip-flops, and what libraries call theirs.
fn is_flip_flop(cell: &str) -> bool {
    let name = cell.to_ascii_lowercase();
    name.contains("dff") || name.contains("_df") || name.contains("_sdf") || name.contains("_edf")
}

impl Counts {
    fn add(&mut self, other: &Self, times: u64) {
        self.gates += times * other.gates;
        self.flip_flops += times * other.flip_flops;
        self.memory_bits += times * other.memory_bits;
        if let (Some(sum), Some(area)) = (&mut self.area, other.area) {
            *sum += times as f64 * area;
        }
        for (name, number) in &other.cells {
            *self.cells.entry(name.clone()).or_default() += times * number;
        }
    }
}

fn graph(aiger: &Path) -> Result<Aig> {
    let commands = format!("read_aiger {}; strash; print_stats; dc2; dc2; dc2; print_stats", aiger.display());
    let output = Tool::new("yosys-abc").args(["-c", &commands]).run()?;
    let found: Vec<_> = output.stdout.lines().filter_map(stats_line).collect();
    match found[..] {
        [strash, dc2] => Ok(Aig { strash, dc2 }),
        _ => Err(Failure::Check(format!("cannot understand the output of ABC:\n{}", output.log()))),
    }
}

/// `x : i/o = 19/ 49  lat = 49  and = 1043  lev = 49`
fn stats_line(line: &str) -> Option<Graph> {
    let number = |key: &str| line.split_once(key)?.1.split_whitespace().next()?.parse().ok();
    Some(Graph { and_nodes: number(" and =")?, levels: number(" lev =")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flip_flops_of_libraries_are_known() {
        for name in ["$_DFF_P_", "$_SDFFE_PN0P_", "DFFSR", "DFFPOSX1", "sky130_fd_sc_hd__dfrtp_1", "DFF_X1"] {
            assert!(is_flip_flop(name), "{name}");
        }
        for name in ["$_ANDNOT_", "NAND2X1", "sky130_fd_sc_hd__mux2_1", "AOI21X1"] {
            assert!(!is_flip_flop(name), "{name}");
        }
    }

    #[test]
    fn area_lines() {
        let text = "   Chip area for module '\\pe': 24557.500000\n   Chip area for top module '\\mesh': 9.0\n";
        assert_eq!(areas(text), BTreeMap::from([("pe".to_owned(), 24557.5)]));
    }

    #[test]
    fn abc_line() {
        let line = "\u{1b}[1;37mx  :\u{1b}[0m i/o =   19/   49  lat =   49  and =   1043  lev = 49";
        assert_eq!(stats_line(line), Some(Graph { and_nodes: 1043, levels: 49 }));
        assert_eq!(stats_line("ABC command line"), None);
    }
}
