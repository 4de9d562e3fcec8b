//! Cost of the blocks of KLLM's index-based MatMul, as Markdown; `docs/papers.md` has their shares beside the paper's.
//!
//! ```sh
//! cargo run --release -p senbazuru --example kllm_cost -- osu018
//! ```
//!
//! The library (a name or a Liberty file) gives areas. It takes some minutes.

use std::path::Path;

use hdl::blocks::common::FloatFormat;
use hdl::blocks::kllm::{BinStyle, ClusteringUnit, ConcatUnit, Fp16Mac, IndexDistributionCounter, Search, WeightedSum};
use hdl::lang::{Block, elaborate};
use senbazuru::error::{Failure, Result};
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Options, synthesise};

fn row<B: Block>(name: &str, block: &B, library: &Path) -> Result<()> {
    let design = elaborate(block).map_err(|e| Failure::Check(e.to_string()))?;
    let options = Options { liberty: vec![library.to_owned()], ..Options::default() };
    let report = synthesise(&Sources::from(&design), &design.manifest(), &options)?;
    let total = &report.total;
    let graph = report.aig.map_or_else(String::new, |a| format!("{} / {}", a.dc2.and_nodes, a.dc2.levels));
    let area = report.mapped.as_ref().map_or(0.0, |m| m.area);
    println!("| {name} | {} | {} | {graph} | {area:.0} |", total.gates, total.flip_flops);
    Ok(())
}

fn main() -> Result<()> {
    let Some(library) = std::env::args_os().nth(1) else {
        return Err(Failure::Usage("give a cell library: osu018 or the path of a Liberty file".into()));
    };
    let library = Path::new(&library);
    let counter = IndexDistributionCounter::default();
    let single = IndexDistributionCounter { ping_pong: false, ..counter.clone() };
    let bins = BinStyle::FullWidth;
    let mac = Fp16Mac::default();
    let clustering = ClusteringUnit::default();
    println!("| block | gates | flip-flops | AND nodes / levels | area, um2 |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    row("`concat_unit`", &ConcatUnit::default(), library)?;
    row("`index_distribution_counter`, overflow log (default)", &counter, library)?;
    row("the same, full width", &IndexDistributionCounter { bins, ..counter }, library)?;
    row("overflow log, without ping-pong", &single, library)?;
    row("full width, without ping-pong", &IndexDistributionCounter { bins, ..single }, library)?;
    row("`fp16_mac`, fused (default)", &mac, library)?;
    row("two roundings", &Fp16Mac { fused: false, ..mac.clone() }, library)?;
    row("fp32 sum", &Fp16Mac { accumulate: FloatFormat::Fp32, ..mac }, library)?;
    row("`weighted_sum`", &WeightedSum::default(), library)?;
    row("`clustering_unit`, 16 lanes, binary (default)", &clustering, library)?;
    row("parallel", &ClusteringUnit { search: Search::Parallel, ..clustering }, library)
}
