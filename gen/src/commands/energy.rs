//! `energy`: joules of a testbench's run.

use std::path::{Path, PathBuf};

use serde_json::json;
use sim::RunOptions;

use super::target::Target;
use crate::catalogue::{Catalogue, Params};
use crate::error::{Failure, Result};
use crate::flows::energy::{Report, measure};
use crate::flows::liberty::NAMED;
use crate::params::show;
use crate::present::numbers::{significant, watts};
use crate::present::progress::Progress;
use crate::present::report;
use crate::present::table::Table;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    target: Target,
    /// Cell library: osu018, osu035, osu050, a Liberty file, or several that make one
    #[arg(long, value_name = "LIBRARY", default_value = "osu018")]
    liberty: Vec<PathBuf>,
    /// Number of test vectors
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    vectors: u64,
    /// Seed of all random numbers
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    if args.liberty.iter().any(|library| library == Path::new("none")) {
        let known = NAMED.join(", ");
        return Err(Failure::Usage(format!("--liberty none: energy needs a cell library, a Liberty file or {known}")));
    }
    let (entry, params) = args.target.resolve(catalogue)?;
    let design = sim::Design::from(&entry.elaborate(&params)?);
    let bench = entry.bench(&params)?;
    let options = RunOptions { seed: args.seed, vectors: args.vectors, ..RunOptions::default() };
    let progress = Progress::new(1, format!("simulating the netlist of {}", design.top));
    let found = measure(&design, &*bench, &args.liberty, &options)?;
    drop(progress);
    if args.json {
        return report::json(&json!({ "block": entry.about().name, "parameters": params, "result": found }));
    }
    report::print(&text(entry.about().name, &params, &found))
}

fn text(block: &str, params: &Params, report: &Report) -> String {
    // A bench of wires alone has no clock.
    let (unit, times) =
        if report.cycles == 0 { ("pJ a vector", report.vectors) } else { ("pJ a cycle", report.cycles) };
    let mut table = Table::new(["part", unit, "share"]);
    let e = &report.energy;
    let total = e.total();
    let picojoules = |joules: f64| significant(joules * 1e12 / times as f64, 4);
    let leakage = report.leakage.map_or("leakage not in the library".to_owned(), |w| format!("leakage {}", watts(w)));
    for (name, joules) in
        [("clock", e.clock), ("flip-flops", e.flip_flops), ("logic", e.logic), ("inputs", e.inputs), ("total", total)]
    {
        table.row([name.into(), picojoules(joules), format!("{:.1} %", 100.0 * joules / total)]);
    }
    format!(
        "{block}: {}\n\n{}\n{} cells of {} at {} V, {} cycles with {} test vectors: the netlist agrees with the golden model\n\
         {} pJ a vector, {:.1} % of it inside of cells; {leakage}\n\
         without wires, clock tree and glitches\n",
        show(params),
        report::table(&table),
        report.cells,
        report.library,
        report.volts,
        report.cycles,
        report.vectors,
        significant(total * 1e12 / report.vectors as f64, 4),
        100.0 * e.internal / total,
    )
}
