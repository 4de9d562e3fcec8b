//! `fpga`: a block on an FPGA.

use serde_json::json;

use super::target::Targets;
use crate::catalogue::Catalogue;
use crate::error::Result;
use crate::flows::fpga::{Device, Options, Ports, build};
use crate::flows::lint::Sources;
use crate::params::show;
use crate::present::progress::Progress;
use crate::present::report;
use crate::present::table::Table;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    targets: Targets,
    /// Device
    #[arg(long, value_enum, default_value_t)]
    device: Device,
    /// Frequency that nextpnr is asked for, in MHz
    #[arg(long, value_name = "MHZ", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1000))]
    freq: u32,
    /// Seed of the placement
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Place the block without registers at its ports: paths from and to ports do not count
    #[arg(long)]
    out_of_context: bool,
    /// Map each module once, then put them together: quicker for an accelerator, and a little larger
    #[arg(long)]
    hierarchical: bool,
    /// Count parts only: no placement, no clock
    #[arg(long, conflicts_with_all = ["out_of_context", "freq", "seed"])]
    parts: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, catalogue: &Catalogue) -> Result<()> {
    let options = Options {
        device: args.device,
        freq: args.freq.into(),
        seed: args.seed,
        out_of_context: args.out_of_context,
        hierarchical: args.hierarchical,
        place: !args.parts,
    };
    let targets = args.targets.resolve(catalogue)?;
    let progress = Progress::new(targets.len(), "building");
    let mut done = Vec::new();
    for (entry, params) in targets {
        let design = entry.elaborate(&params)?;
        progress.message(design.top_name());
        let found = build(&Sources::from(&design), &Ports::from(&design.manifest()), &options)?;
        done.push((entry.about().name, params, found));
        progress.step();
    }
    drop(progress);
    if args.json {
        let line = done.iter().map(|(block, params, found)| {
            json!({ "block": block, "parameters": params, "device": args.device, "result": found })
        });
        return report::json(&line.collect::<Vec<_>>());
    }
    let mut table = Table::new(["block", "LUTs", "flip-flops", "DSPs", "block RAMs", "MHz", "parameters"]);
    for (block, params, found) in &done {
        let [luts, flip_flops, dsps, rams] =
            [found.luts, found.flip_flops, found.dsps, found.block_rams].map(|n| n.to_string());
        let mhz = found.mhz.map_or_else(|| "-".to_owned(), |mhz| format!("{mhz:.0}"));
        table.row([(*block).to_owned(), luts, flip_flops, dsps, rams, mhz, show(params)]);
    }
    report::print(&format!("{}on {}\n", report::table(&table), args.device.name()))
}
