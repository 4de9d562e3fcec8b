//! Synthesis with Yosys: cells, flip-flops, AND nodes and levels, area.
//!
//! The figures of two designs compare only under one script, so there is one for all blocks:
//! - cells: `synth -flatten` to Yosys' gate library, `stat`;
//! - AND nodes and levels: then `dffunmap; aigmap; write_aiger`, and in ABC `strash`, and `dc2` three times. Levels are
//!   counted between registers and ports. An asynchronous reset is part of the flip-flop and counts nothing; enables and
//!   synchronous resets are logic in front of it and count;
//! - area and delay: `dfflibmap; abc -liberty; stat -liberty` on the same gates, in the unit of the library. The delay
//!   is ABC's estimate of the longest path between registers and ports, after buffering and sizing. It sums pin-to-pin
//!   delays. Every output has a load of 10 fF, and the library's weakest buffer drives the inputs. Wires, set-up and
//!   clock-to-output times are not included.
//!
//! Memories are mapped to flip-flops, and their bits are counted apart. An option leaves out modules with a memory and
//! counts only their bits. Black boxes count as cells of their own.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use hdl::emit::{Manifest, ManifestModule};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Failure, Result};
use crate::flows::equal::How;
use crate::flows::liberty;
use crate::flows::lint::Sources;
use crate::flows::timing::{self, Timing};
use crate::flows::workspace::{Workspace, last_lines};

mod checked;
mod netlist;
mod runs;

pub use checked::prove as prove_netlist;
pub use netlist::{netlist, netlist_by_modules};

/// Options of a synthesis.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Map to the cells of this library, by name or files; add up their area and estimate the delay. None: do not map.
    pub liberty: Vec<PathBuf>,
    /// Keep the modules apart and list each once.
    pub hierarchical: bool,
    /// What becomes of memories.
    pub memories: Memories,
    /// Number of modules that are synthesised at a time when modules are kept apart; one by default.
    pub jobs: Option<NonZeroUsize>,
    /// Prove that the netlist in cells of the library does the same as the source. The value is the time for each
    /// question.
    pub prove: Option<Duration>,
    /// Static timing of the netlist with this clock period in nanoseconds. It is proved first.
    pub period: Option<f64>,
}

/// Time for each question about a netlist, where nothing else is said.
pub const PROOF_LIMIT: Duration = Duration::from_secs(300);

/// What becomes of memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Memories {
    /// Flip-flops, as in an array of registers.
    #[default]
    FlipFlops,
    /// Bits only: a module that has a memory is left out, with its register of the word that was read, as if it were a macro. A
    /// memory in the top itself is flip-flops.
    Bits,
}

/// The results of a synthesis.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Top module.
    pub top: String,
    /// One line a module when they were kept apart, otherwise the whole design; the top is last.
    pub modules: Vec<ModuleReport>,
    /// The whole design: each module times its instances.
    pub total: Counts,
    /// The whole design as an and-inverter graph; absent when modules were kept apart.
    pub aig: Option<Aig>,
    /// Name of the library in its file, when one was given.
    pub library: Option<String>,
    /// The whole design in cells of the library. Modules that were kept apart: the longest path inside of any of them.
    pub mapped: Option<Mapped>,
    /// How the netlist was proved to do the same as the source; none if nobody asked for a proof.
    pub proved: Option<How>,
    /// Static timing, where it was asked for.
    pub timing: Option<Timing>,
    /// The netlist of a flattened design, in Verilog.
    #[serde(skip)]
    pub netlist: Option<String>,
}

/// One module.
#[derive(Clone, Debug, Serialize)]
pub struct ModuleReport {
    /// Verilog name.
    pub name: String,
    /// Times it is placed in the whole design.
    pub instances: u64,
    /// Its own logic, without the modules inside it.
    pub own: Counts,
    /// Its own logic in cells of the library, when one was given.
    pub mapped: Option<Mapped>,
    /// All its instances with the modules inside them, as a share of the area of the whole; where modules were kept apart.
    pub share: Option<f64>,
}

/// Numbers of Yosys' generic cells.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Cells of all types but flip-flops.
    pub gates: u64,
    /// Flip-flops, including the ones of memories.
    pub flip_flops: u64,
    /// Bits of memories.
    pub memory_bits: u64,
    /// Cells by type.
    pub cells: BTreeMap<String, u64>,
}

/// Logic in the cells of a library.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Mapped {
    /// Area in the unit of the library.
    pub area: f64,
    /// Cells by type.
    pub cells: BTreeMap<String, u64>,
    /// How many of the cells keep a state.
    pub sequential: u64,
    /// Longest combinational path in picoseconds; none where there is no logic.
    pub delay_ps: Option<f64>,
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
    let liberty = (!options.liberty.is_empty()).then(|| liberty::open(&options.liberty)).transpose()?;
    let by = liberty.as_ref();
    let checked = options.prove.is_some() || options.period.is_some();
    if checked && (options.hierarchical || by.is_none() || options.memories == Memories::Bits) {
        return Err(Failure::Usage(
            "a netlist that is proved or timed is one of a flattened design in cells of a library, with its memories: \
             leave out --hierarchical, --memories bits and --liberty none"
                .into(),
        ));
    }
    if let Some(module) = manifest.modules.iter().find(|m| m.black_box && checked) {
        return Err(Failure::Usage(format!("{} is a black box, so nothing is known of its netlist", module.name)));
    }
    let found = if options.hierarchical {
        runs::apart(sources, manifest, options, by)?
    } else {
        runs::whole(sources, options, by)?
    };
    let (memories, cells) = (&found.memories, &found.cells);
    let mut modules = Vec::new();
    let mut total = Counts::default();
    let mut mapped = liberty.as_ref().map(|_| Mapped::default());
    let kept_as_bits = |m: &ManifestModule| {
        options.memories == Memories::Bits && m.name != sources.top && bits(memories.get(&m.name)) > 0
    };
    // In a flattened design only the top is left, and the memories that are not mapped.
    for module in manifest.modules.iter().filter(|m| cells.contains_key(&m.name) || kept_as_bits(m)) {
        let own = match cells.get(&module.name).filter(|_| !kept_as_bits(module)) {
            Some(cells) => counts(cells, memories.get(&module.name), manifest),
            None => Counts { memory_bits: bits(memories.get(&module.name)), ..Counts::default() },
        };
        let instances = if options.hierarchical || kept_as_bits(module) { module.instances } else { 1 };
        total.add(&own, instances);
        let part = liberty.as_ref().map(|l| found.library.module(&module.name, l, manifest));
        if let (Some(whole), Some(part)) = (&mut mapped, &part) {
            whole.add(part, instances);
        }
        modules.push(ModuleReport { name: module.name.clone(), instances, own, mapped: part, share: None });
    }
    let expected = |m: &&ManifestModule| !m.black_box && (options.hierarchical || m.name == manifest.top);
    let missing = |m: &&ManifestModule| !modules.iter().any(|known| known.name == m.name);
    if let Some(module) = manifest.modules.iter().filter(expected).find(missing) {
        return Err(Failure::NoAnswer(format!(
            "Yosys reports nothing of the module {} of {}",
            module.name, sources.top
        )));
    }
    if options.hierarchical {
        shares(&mut modules, manifest);
    }
    let netlist = found.library.netlist;
    let (mut proved, mut found_timing) = (None, None);
    if let (true, Some(library), Some(netlist)) = (checked, &liberty, &netlist) {
        let (clock, reset) = (manifest.clock.as_deref(), manifest.reset.as_deref());
        proved = Some(checked::prove(sources, reset, netlist, library, options.prove.unwrap_or(PROOF_LIMIT))?);
        if let Some(period) = options.period {
            let question = timing::Question { netlist, top: &sources.top, clock, reset, period };
            found_timing = Some(timing::timing(&question, library)?);
        }
    }
    let (top, library) = (sources.top.clone(), liberty.map(|l| l.name));
    Ok(Report { top, modules, total, aig: found.aig, library, mapped, proved, timing: found_timing, netlist })
}

/// Area of each module with all modules inside it, times its instances, as a share of the top's area.
fn shares(modules: &mut [ModuleReport], manifest: &Manifest) {
    let mut areas: BTreeMap<&str, f64> = BTreeMap::new();
    // Children come before their parents.
    for module in &manifest.modules {
        let own =
            modules.iter().find(|m| m.name == module.name).and_then(|m| m.mapped.as_ref()).map_or(0.0, |m| m.area);
        let inside: f64 =
            module.children.iter().map(|(child, n)| *n as f64 * areas.get(child.as_str()).unwrap_or(&0.0)).sum();
        areas.insert(&module.name, own + inside);
    }
    let whole = areas.get(manifest.top.as_str()).copied().unwrap_or(0.0);
    for module in modules.iter_mut().filter(|m| m.mapped.is_some() && whole > 0.0) {
        module.share = Some(module.instances as f64 * areas[module.name.as_str()] / whole);
    }
}

impl Mapped {
    fn add(&mut self, other: &Self, times: u64) {
        self.area += times as f64 * other.area;
        self.sequential += times * other.sequential;
        self.delay_ps = [self.delay_ps, other.delay_ps].into_iter().flatten().reduce(f64::max);
        for (name, number) in &other.cells {
            *self.cells.entry(name.clone()).or_default() += times * number;
        }
    }
}

fn counts(cells: &Value, memory: Option<&Value>, manifest: &Manifest) -> Counts {
    let cells = cells_of(cells, manifest);
    let flip_flops = cells.iter().filter(|(name, _)| is_flip_flop(name)).map(|(_, n)| n).sum();
    let all: u64 = cells.values().sum();
    Counts { gates: all - flip_flops, flip_flops, memory_bits: bits(memory), cells }
}

/// Bits of memories of a module in Yosys' statistics.
fn bits(module: Option<&Value>) -> u64 {
    module.and_then(|m| m["num_memory_bits"].as_u64()).unwrap_or(0)
}

/// Cells by type, without instances of other modules: their logic is counted there.
fn cells_of(statistics: &Value, manifest: &Manifest) -> BTreeMap<String, u64> {
    let cell =
        |(name, number): (&String, &Value)| (name.trim_start_matches('\\').to_owned(), number.as_u64().unwrap_or(0));
    let is_module = |name: &String| manifest.modules.iter().any(|m| m.name == *name && !m.black_box);
    let cells = statistics["num_cells_by_type"].as_object().into_iter().flatten().map(cell);
    cells.filter(|(name, _)| !is_module(name)).collect()
}

/// Yosys' own flip-flops and latches.
fn is_flip_flop(cell: &str) -> bool {
    cell.starts_with("$_") && ["DFF", "FF_", "DLATCH", "SR_"].iter().any(|kind| cell.contains(kind))
}

impl Counts {
    fn add(&mut self, other: &Self, times: u64) {
        self.gates += times * other.gates;
        self.flip_flops += times * other.flip_flops;
        self.memory_bits += times * other.memory_bits;
        for (name, number) in &other.cells {
            *self.cells.entry(name.clone()).or_default() += times * number;
        }
    }
}

fn graph(work: &Workspace) -> Result<Aig> {
    let commands = "read_aiger design.aig; strash; print_stats; dc2; dc2; dc2; print_stats";
    let output = work.tool("yosys-abc").args(["-c", commands]).run()?;
    let found: Vec<_> = output.stdout.lines().filter_map(stats_line).collect();
    match found[..] {
        [strash, dc2] => Ok(Aig { strash, dc2 }),
        _ => Err(Failure::NoAnswer(format!("cannot understand the output of ABC:\n{}", last_lines(&output.log(), 10)))),
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
    fn flip_flops_are_known() {
        for name in ["$_DFF_P_", "$_SDFFE_PN0P_", "$_ALDFF_PN_", "$_DLATCH_P_"] {
            assert!(is_flip_flop(name), "{name}");
        }
        for name in ["$_ANDNOT_", "ODFFICULT", "$_MUX_"] {
            assert!(!is_flip_flop(name), "{name}");
        }
    }

    #[test]
    fn abc_line() {
        let line = "\u{1b}[1;37mx  :\u{1b}[0m i/o =   19/   49  lat =   49  and =   1043  lev = 49";
        assert_eq!(stats_line(line), Some(Graph { and_nodes: 1043, levels: 49 }));
        assert_eq!(stats_line("ABC command line"), None);
    }
}
