//! Reads the statistics that Yosys and ABC print.

use std::collections::BTreeMap;

use hdl::emit::Manifest;
use serde_json::Value;

use super::report::{Aig, Counts, Graph};
use crate::error::{Failure, Result};
use crate::flows::workspace::{Workspace, last_lines};

pub(super) fn counts(cells: &Value, memory: Option<&Value>, manifest: &Manifest) -> Counts {
    let cells = cells_of(cells, manifest);
    let flip_flops = cells.iter().filter(|(name, _)| is_flip_flop(name)).map(|(_, n)| n).sum();
    let all: u64 = cells.values().sum();
    Counts { gates: all - flip_flops, flip_flops, memory_bits: bits(memory), cells }
}

/// Bits of memories of a module in Yosys' statistics.
pub(super) fn bits(module: Option<&Value>) -> u64 {
    module.and_then(|m| m["num_memory_bits"].as_u64()).unwrap_or(0)
}

/// Cells by type, without instances of other modules: their logic is counted there.
pub(super) fn cells_of(statistics: &Value, manifest: &Manifest) -> BTreeMap<String, u64> {
    let cell =
        |(name, number): (&String, &Value)| (name.trim_start_matches('\\').to_owned(), number.as_u64().unwrap_or(0));
    let is_module = |name: &String| manifest.modules.iter().any(|m| m.name == *name && !m.black_box);
    let cells = statistics["num_cells_by_type"].as_object().into_iter().flatten().map(cell);
    cells.filter(|(name, _)| !is_module(name)).collect()
}

/// Yosys' own flip-flops and latches.
pub(super) fn is_flip_flop(cell: &str) -> bool {
    cell.starts_with("$_") && ["DFF", "FF_", "DLATCH", "SR_"].iter().any(|kind| cell.contains(kind))
}

pub(super) fn graph(work: &Workspace) -> Result<Aig> {
    let commands = "read_aiger design.aig; strash; print_stats; dc2; dc2; dc2; print_stats";
    let output = work.tool("yosys-abc").args(["-c", commands]).run()?;
    let found: Vec<_> = output.stdout.lines().filter_map(stats_line).collect();
    match found[..] {
        [strash, dc2] => Ok(Aig { strash, dc2 }),
        _ => Err(Failure::NoAnswer(format!("cannot understand the output of ABC:\n{}", last_lines(&output.log(), 10)))),
    }
}

/// `x : i/o = 19/ 49  lat = 49  and = 1043  lev = 49`
pub(super) fn stats_line(line: &str) -> Option<Graph> {
    let number = |key: &str| line.split_once(key)?.1.split_whitespace().next()?.parse().ok();
    Some(Graph { and_nodes: number(" and =")?, levels: number(" lev =")? })
}
