//! `synth`: sizes from Yosys.

use std::path::{Path, PathBuf};

use serde_json::json;

use super::Targets;
use crate::error::Result;
use crate::flows::lint::Sources;
use crate::flows::synth::{Counts, Mapped, Memories, Options, Report, synthesise};
use crate::params::show;
use crate::present::progress::Progress;
use crate::present::report;
use crate::present::table::Table;
use crate::registry::Params;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    targets: Targets,
    /// Cell library for area and delay: osu018, osu035, osu050, a Liberty file, or none
    #[arg(long, value_name = "LIBRARY", default_value = "osu018")]
    liberty: PathBuf,
    /// Keep the modules apart: one line each, the total is the sum over all instances
    #[arg(long)]
    hierarchical: bool,
    /// Map memories to flip-flops, or leave modules that have one out and count their bits
    #[arg(long, value_enum, default_value_t)]
    memories: Memories,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> Result<()> {
    let targets = args.targets.resolve()?;
    let liberty = (args.liberty != Path::new("none")).then(|| args.liberty.clone());
    let jobs = std::thread::available_parallelism().ok();
    let options = Options { liberty, hierarchical: args.hierarchical, memories: args.memories, jobs };
    let progress = Progress::new(targets.len(), "synthesising");
    let mut done = Vec::new();
    for (entry, params) in targets {
        let design = entry.elaborate(&params)?;
        progress.message(format!("synthesising {}", design.top_name()));
        let report = synthesise(&Sources::from(&design), &design.manifest(), &options)?;
        done.push((entry.about().name, params, report));
        progress.step();
    }
    drop(progress);
    if args.json {
        let line = |(block, params, report): &(&str, Params, Report)| json!({ "block": block, "parameters": params, "result": report });
        return report::json(&done.iter().map(line).collect::<Vec<_>>());
    }
    let pages: Vec<_> = done.iter().map(|(block, params, report)| text(block, params, report)).collect();
    report::print(&pages.join("\n"))
}

fn text(block: &str, params: &Params, report: &Report) -> String {
    let mut page = format!("{block}: {}\n\n", show(params));
    let shares = report.modules.iter().any(|m| m.share.is_some());
    let headings = ["module", "instances", "gates", "flip-flops", "memory bits", "area", "delay (ps)"];
    let headings = headings.into_iter().chain(shares.then_some("share")).map(str::to_owned).collect();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut row = |name: &str, instances: String, c: &Counts, mapped: Option<&Mapped>, share: Option<f64>| {
        let [gates, flops, bits] = [c.gates, c.flip_flops, c.memory_bits].map(|n| n.to_string());
        let area = mapped.map(|m| format!("{:.0}", m.area)).unwrap_or_default();
        let delay = mapped.and_then(|m| m.delay_ps).map(|d| format!("{d:.0}")).unwrap_or_default();
        let share = shares.then(|| share.map(|s| format!("{s:.3}")).unwrap_or_default());
        rows.push([name.into(), instances, gates, flops, bits, area, delay].into_iter().chain(share).collect());
    };
    for m in &report.modules {
        row(&m.name, m.instances.to_string(), &m.own, m.mapped.as_ref(), m.share);
    }
    if report.modules.len() > 1 {
        row("total", String::new(), &report.total, report.mapped.as_ref(), None);
    }
    page += &report::table(&Table::of(headings, rows));
    if let Some(library) = &report.library {
        page += &format!("area and delay in cells of {library}, without wires\n");
    }
    if let Some(aig) = &report.aig {
        let mut table = Table::new(["and-inverter graph", "AND nodes", "levels"]);
        for (name, graph) in [("strash", aig.strash), ("dc2, 3 times", aig.dc2)] {
            table.row([name.into(), graph.and_nodes.to_string(), graph.levels.to_string()]);
        }
        page += &format!("\n{}", report::table(&table));
    }
    let mut cells = Table::new(["cell", "number"]);
    for (name, number) in &report.total.cells {
        cells.row([name.clone(), number.to_string()]);
    }
    page + "\n" + &report::table(&cells)
}
