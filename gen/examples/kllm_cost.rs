//! Cost of the blocks of KLLM's index-based MatMul, and their shares of a lane beside the paper's Table I, as Markdown.
//!
//! ```sh
//! cargo run --release -p gen --example kllm_cost -- osu018
//! ```
//!
//! The library (a name or a Liberty file) gives areas; qflow-tech-osu018 is the Debian package of this one. It takes some
//! minutes. `--facts FILE` writes the areas as JSON.

use std::path::{Path, PathBuf};

use hdl::blocks::common::FloatFormat;
use hdl::blocks::kllm::{
    BinStyle, ClusteringUnit, ConcatUnit, Fp16Mac, IndexDistributionCounter, Orizuru, Search, WeightedSum,
};
use hdl::lang::{Block, elaborate};
use senbazuru::error::{Failure, Result};
use senbazuru::lint::Sources;
use senbazuru::synth::{Options, Report, synthesise};
use testbenches::facts::Facts;

/// Square micrometres are not comparable between 180 and 28 nm; shares are.
struct Cost {
    name: String,
    gates: u64,
    flip_flops: u64,
    and_nodes: String,
    area: f64,
}

fn synth<B: Block>(block: &B, options: &Options) -> Result<Report> {
    let design = elaborate(block).map_err(|e| Failure::Check(e.to_string()))?;
    synthesise(&Sources::from(&design), &design.manifest(), options)
}

fn cost<B: Block>(name: &str, block: &B, liberty: &Path) -> Result<Cost> {
    eprintln!("{name} ...");
    let plain = synth(block, &Options::default())?;
    let mapped = synth(block, &Options { liberty: Some(liberty.to_owned()), hierarchical: false })?;
    let graph = plain.aig.map_or_else(String::new, |a| format!("{} / {}", a.dc2.and_nodes, a.dc2.levels));
    Ok(Cost {
        name: name.into(),
        gates: plain.total.gates,
        flip_flops: plain.total.flip_flops,
        and_nodes: graph,
        area: mapped.mapped.as_ref().map_or(0.0, |m| m.area),
    })
}

fn main() -> Result<()> {
    let (mut facts, arguments) = Facts::from_args()?;
    let Some(liberty) = arguments.first().map(PathBuf::from) else {
        return Err(Failure::Usage("give a cell library: osu018 or the path of a Liberty file".into()));
    };
    let counter = IndexDistributionCounter::default();
    let full = BinStyle::FullWidth;
    let mac = Fp16Mac::default();
    let clustering = ClusteringUnit::default();
    let rows = [
        cost("`concat_unit`", &ConcatUnit::default(), &liberty)?,
        cost("`index_distribution_counter`, overflow log (default)", &counter, &liberty)?,
        cost("the same, full width", &IndexDistributionCounter { bins: full, ..counter.clone() }, &liberty)?,
        cost(
            "overflow log, without ping-pong",
            &IndexDistributionCounter { ping_pong: false, ..counter.clone() },
            &liberty,
        )?,
        cost(
            "full width, without ping-pong",
            &IndexDistributionCounter { ping_pong: false, bins: full, ..counter },
            &liberty,
        )?,
        cost("`fp16_mac`, fused (default)", &mac, &liberty)?,
        cost("two roundings", &Fp16Mac { fused: false, ..mac.clone() }, &liberty)?,
        cost("fp32 sum", &Fp16Mac { accumulate: FloatFormat::Fp32, ..mac }, &liberty)?,
        cost("`weighted_sum`", &WeightedSum::default(), &liberty)?,
        cost("`clustering_unit`, 16 lanes, binary (default)", &clustering, &liberty)?,
        cost("parallel", &ClusteringUnit { search: Search::Parallel, ..clustering }, &liberty)?,
    ];
    println!("| block | gates | flip-flops | AND nodes / levels | area, um2 |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    for row in &rows {
        println!("| {} | {} | {} | {} | {:.0} |", row.name, row.gates, row.flip_flops, row.and_nodes, row.area);
    }
    eprintln!("orizuru ...");
    let options = Options { liberty: Some(liberty), hierarchical: true };
    let orizuru = synth(&Orizuru::default(), &options)?.mapped.map_or(0.0, |m| m.area);

    // Table I of the paper, mm2: a lane has 4,096 concat units, 32 counters and 32 MACs; Orizuru is there once.
    let [concat, counter, mac] = [(4096.0, 0), (32.0, 1), (32.0, 5)].map(|(n, i): (f64, usize)| n * rows[i].area);
    let ours = concat + counter + mac;
    let names = ["concat units", "counters", "MACs", "Orizuru"];
    for (name, area) in names.into_iter().zip([concat, counter, mac, orizuru]) {
        facts.add(&format!("area {name}"), area);
    }
    facts.add("area concat unit", rows[0].area);
    facts.add("area counter", rows[1].area);
    facts.add("area counter full width", rows[2].area);
    facts.add("area counter full width single", rows[4].area);
    facts.add("area clustering", rows[9].area);
    let paper = [8.68e-2, 2.71e-1, 9.05e-2];
    let theirs: f64 = paper.iter().sum();
    println!("\n| part | ours, um2 | of concat + counters + MACs | paper, mm2 | of the same |");
    println!("| --- | ---: | ---: | ---: | ---: |");
    let parts = ["4,096 concat units", "32 counters", "32 MACs"];
    for ((name, area), paper) in parts.into_iter().zip([concat, counter, mac]).zip(paper) {
        println!(
            "| {name} | {area:.3e} | {:.1} % | {paper:.3e} | {:.1} % |",
            100.0 * area / ours,
            100.0 * paper / theirs
        );
    }
    println!(
        "| Orizuru, 4,096 inputs, per lane (1/16) | {:.3e} | {:.1} % | {:.3e} | {:.1} % |",
        orizuru / 16.0,
        100.0 * orizuru / 16.0 / ours,
        0.739 / 16.0,
        100.0 * 0.739 / 16.0 / theirs
    );
    Ok(facts.write()?)
}
