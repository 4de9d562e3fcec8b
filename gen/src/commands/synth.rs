//! `synth`: sizes from Yosys.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;

use super::target::Targets;
use crate::catalogue::{Catalogue, Params};
use crate::error::{Failure, Result};
use crate::flows::equal::How;
use crate::flows::lint::Sources;
use crate::flows::synth::{Counts, Mapped, Memories, Options, PROOF_LIMIT, Report, synthesise};
use crate::output::replace;
use crate::params::show;
use crate::point;
use crate::present::progress::Progress;
use crate::present::report;
use crate::present::table::Table;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    targets: Targets,
    /// Cell library for area and delay: osu018, osu035, osu050, a Liberty file, several that make one, or none; a profile (sky130hd, or a TOML file) goes with files
    #[arg(long, value_name = "LIBRARY", default_value = "osu018")]
    liberty: Vec<PathBuf>,
    /// Keep the modules apart: one line each, the total is the sum over all instances
    #[arg(long)]
    hierarchical: bool,
    /// Map memories to flip-flops, or leave modules that have one out and count their bits
    #[arg(long, value_enum, default_value_t)]
    memories: Memories,
    /// Write the netlist in cells of the library to this file, proved to do what the source does
    #[arg(long, value_name = "FILE")]
    netlist: Option<PathBuf>,
    /// Static timing of the netlist by OpenSTA, for a clock of so many ns; the netlist is proved first
    #[arg(long, value_name = "NS", value_parser = point::period)]
    period: Option<f64>,
    /// Seconds for each question of that proof
    #[arg(long, value_name = "SECONDS", default_value_t = PROOF_LIMIT.as_secs(), value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let targets = args.targets.resolve(catalogue)?;
    let liberty = point::Options { liberty: args.liberty.clone(), ..Default::default() }.checked(&[])?.liberty;
    let jobs = std::thread::available_parallelism().ok();
    let checked = args.netlist.is_some() || args.period.is_some();
    let prove = checked.then(|| Duration::from_secs(args.timeout));
    let (hierarchical, memories, period) = (args.hierarchical, args.memories, args.period);
    let options = Options { liberty, hierarchical, memories, jobs, prove, period };
    if args.netlist.is_some() && targets.len() > 1 {
        return Err(Failure::Usage("--netlist goes with one block: name one".into()));
    }
    let progress = Progress::new(targets.len(), "synthesising");
    let mut done = Vec::new();
    for (entry, params) in targets {
        let design = entry.elaborate(&params)?;
        progress.message(format!("synthesising {}", design.top_name()));
        let report = synthesise(&Sources::from(&design), &design.manifest(), &options)?;
        if let (Some(path), Some(netlist)) = (&args.netlist, &report.netlist) {
            replace(path, netlist.as_bytes())?;
        }
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

fn in_words(how: How) -> &'static str {
    match how {
        How::Registers => "the same values in its registers lead to the same outputs and values",
        How::Related => {
            "so do the same values in its registers, some of which it keeps inverted or knows to be constant"
        }
        How::Sequential => "from reset, with registers and memories that have none at zero",
    }
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
    if let Some(how) = report.proved {
        page += &format!("the netlist does what the source does: {}\n", in_words(how));
    }
    if let Some(t) = report.timing {
        page += &format!(
            "clock period {:.3} ns at least; slack {:.3} ns at {} ns (OpenSTA, without wires)\n",
            t.least_period_ns, t.slack_ns, t.period_ns
        );
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
