//! `layout`: a block placed and routed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;

use super::target::Targets;
use crate::catalogue::Catalogue;
use crate::error::{Failure, Result};
use crate::flows::layout::{Layout, Options, PICTURE, Report, build};
use crate::flows::lint::Sources;
use crate::params::show;
use crate::point;
use crate::present::progress::Progress;
use crate::present::report;
use crate::present::table::Table;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    targets: Targets,
    #[command(flatten)]
    how: point::LayoutOptions,
    /// Seconds for each question of the proof that the netlist does what the source does
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..))]
    proof_timeout: u64,
    /// Seconds for each of placing, routing, drawing and comparing
    #[arg(long, value_name = "SECONDS", default_value_t = 7200, value_parser = clap::value_parser!(u64).range(1..))]
    timeout: u64,
    /// Write picture, GDS, DEF, SPEF, netlists and figures to this folder; only for one block
    #[arg(long, short, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A folder of a layout.
const KIND: sim::folders::Kind =
    sim::folders::Kind { name: "a layout", is_one: |folder| folder.join(PICTURE).is_file() };

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let targets = args.targets.resolve(catalogue)?;
    let options = Options {
        proof: Duration::from_secs(args.proof_timeout),
        limit: Duration::from_secs(args.timeout),
        ..args.how.flow()
    };
    if let Some(folder) = &args.output {
        if targets.len() > 1 {
            return Err(Failure::Usage("--output goes with one block: name one".into()));
        }
        sim::folders::check(folder, KIND).map_err(|e| Failure::file("write", folder, &e))?;
    }
    let progress = Progress::new(targets.len(), "laying out");
    let mut done = Vec::new();
    for (entry, params) in targets {
        let design = entry.elaborate(&params)?;
        progress.message(design.top_name());
        let layout = build(&Sources::from(&design), &design.manifest(), &options)?;
        if let Some(folder) = &args.output {
            write(folder, &layout)?;
        }
        done.push((entry.about().name, params, layout.report));
        progress.step();
    }
    drop(progress);
    if args.json {
        let line = done
            .iter()
            .map(|(block, params, report)| json!({ "block": block, "parameters": params, "result": report }));
        report::json(&line.collect::<Vec<_>>())?;
    } else {
        let pages: Vec<_> = done.iter().map(|(b, p, r)| format!("{b}: {}\n\n{}", show(p), text(r, &options))).collect();
        report::print(&pages.join("\n"))?;
    }
    // The report has said it.
    if done.iter().any(|(_, _, report)| report.faults().is_some()) { Err(Failure::Reported) } else { Ok(()) }
}

fn write(folder: &Path, layout: &Layout) -> Result<()> {
    let files: Vec<(&str, &[u8])> = layout.files.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    sim::folders::write(folder, KIND, &files).map(drop).map_err(|e| Failure::file("write", folder, &e))
}

fn text(found: &Report, options: &Options) -> String {
    let mhz = |period: Option<f64>| period.map_or_else(|| "-".to_owned(), |ns| format!("{:.0}", Report::mhz(ns)));
    let mut table = Table::new(["figure", "value", "unit"]);
    let size = |(w, h): (f64, f64), area: f64| format!("{w:.0} x {h:.0} = {area:.0}");
    for (name, value, unit) in [
        ("cells", found.cells.to_string(), ""),
        ("  of them in trees of clock and reset", found.tree_buffers.to_string(), ""),
        ("area of the cells", format!("{:.0}", found.cell_area_um2), "um2"),
        ("core", size(found.core_um, found.core_area_um2), "um2"),
        ("die", size(found.die_um, found.die_area_um2), "um2"),
        ("utilisation of the core", format!("{:.3}", found.utilisation), ""),
        ("wires", format!("{:.2}", found.wire_um / 1000.0), "mm"),
        ("vias", found.vias.to_string(), ""),
        ("nets, all routed", found.nets.to_string(), ""),
        ("capacitance of the wires", format!("{:.2}", found.wire_pf), "pF"),
        ("clock, all paths, without wires", mhz(Some(found.without_wires.least_period_ns)), "MHz"),
        ("clock, all paths, with wires", mhz(Some(found.with_wires.least_period_ns)), "MHz"),
        ("clock, register to register, without wires", mhz(found.without_wires.register_period_ns), "MHz"),
        ("clock, register to register, with wires and tree", mhz(found.with_wires.register_period_ns), "MHz"),
        ("places that break a design rule", found.drc_violations.to_string(), ""),
    ] {
        table.row([name.to_owned(), value, unit.to_owned()]);
    }
    let mut page = report::table(&table);
    for (rule, number) in &found.drc_rules {
        page += &format!("{number} x {rule}\n");
    }
    let same = if found.lvs_equal {
        "the netlist in the layout is the one that was placed"
    } else {
        "netgen finds another netlist in the layout than the one that was placed"
    };
    page += &format!("{same}, and that one was proved to do what the source does\n");
    if !found.drawn_cells {
        page += &format!(
            "{} has no drawn cells: the GDS has their outlines, pins and wires, and no rule inside of them was checked\n",
            options.technology.display()
        );
    }
    page
}
