//! Area and energy of the parts whose shares the papers print, at the papers' sizes, for the comparison in
//! `docs/papers.md`.
//!
//! ```sh
//! cargo run --release -p senbazuru --example paper_costs -- osu018
//! ```
//!
//! The library (a name or a Liberty file) gives areas in its unit, which is square micrometres in osu018. Energies are
//! per cycle of the block's own testbench. `--facts FILE` writes the numbers as JSON. It takes some minutes.

use std::path::{Path, PathBuf};

use senbazuru::Catalogue;
use senbazuru::error::{Failure, Result};
use senbazuru::flows::energy::measure;
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Options, synthesise};
use serde_json::{Value, json};
use sim::RunOptions;
use sim::facts::Facts;

/// A block with its parameters.
struct Part {
    name: &'static str,
    block: &'static str,
    set: Value,
    /// Test vectors of the energy measurement; none where it would take too long.
    vectors: Option<u64>,
}

fn part(name: &'static str, block: &'static str, set: Value, vectors: Option<u64>) -> Part {
    Part { name, block, set, vectors }
}

fn parts() -> Vec<Part> {
    // Titanus: 16 lanes, tokens of one tile and two levels. So the block has little memory, which the paper counts
    // apart.
    let dequantization = json!({ "lanes": 16, "tiles": 1, "levels": 2 });
    let evictor = |bits: u32| json!({ "rows": 32, "score_width": bits, "amount_width": bits + 1, "passes": 4 });
    let mesh = |n: u32| json!({ "rows": n, "columns": n, "operand_width": 8, "accumulator_width": 32 });
    vec![
        part("tender skew", "skew_lines", json!({ "lanes": 64, "width": 5 }), Some(100)),
        part("kelle array", "mac_mesh", mesh(32), None),
        part("kelle array 2x2", "mac_mesh", mesh(2), Some(100)),
        part("evictor 4 bits", "systolic_evictor", evictor(4), Some(100)),
        part("evictor 8 bits", "systolic_evictor", evictor(8), Some(100)),
        part("concat unit", "concat_unit", json!({}), Some(1000)),
        part(
            "counter, one bank",
            "index_distribution_counter",
            json!({ "bins": "full_width", "ping_pong": false }),
            None,
        ),
        part("mac", "fp16_mac", json!({}), Some(500)),
        part("clustering", "clustering_unit", json!({}), None),
        part("orizuru", "orizuru", json!({}), None),
        part("dequantization", "dequantization_unit", dequantization, None),
    ]
}

fn cost(part: &Part, liberty: &Path, facts: &mut Facts) -> Result<()> {
    eprintln!("{} ...", part.name);
    let entry = Catalogue::standard().find(part.block).cloned()?;
    let mut params = entry.defaults();
    params.extend(part.set.as_object().cloned().unwrap_or_default());
    let design = entry.elaborate(&params)?;
    let manifest = design.manifest();
    let options = Options { liberty: vec![liberty.to_owned()], hierarchical: true, ..Options::default() };
    let report = synthesise(&Sources::from(&design), &manifest, &options)?;
    let area = report.mapped.as_ref().map_or(0.0, |m| m.area);
    facts.add(&format!("area {}", part.name), area);
    for (what, cycles) in &manifest.timing.columns() {
        facts.add(&format!("cycles {} {what}", part.name), *cycles as f64);
    }
    let mut energy = "-".to_owned();
    if let Some(vectors) = part.vectors {
        let run = RunOptions { vectors, ..RunOptions::default() };
        let found = measure(&sim::Design::from(&design), &*entry.bench(&params)?, &[liberty.to_owned()], &run)?;
        let picojoules = found.energy.total() * 1e12 / found.cycles as f64;
        facts.add(&format!("energy {}", part.name), picojoules);
        energy = format!("{picojoules:.1}");
    }
    println!("| {} | `{}` | {} | {area:.0} | {energy} |", part.name, part.block, report.total.flip_flops);
    Ok(())
}

fn main() -> Result<()> {
    let (mut facts, arguments) = Facts::from_args()?;
    let Some(liberty) = arguments.first().map(PathBuf::from) else {
        return Err(Failure::Usage("give a cell library: osu018 or the path of a Liberty file".into()));
    };
    println!("| part | block | flip-flops | area | pJ a cycle |\n| --- | --- | ---: | ---: | ---: |");
    for part in parts() {
        cost(&part, &liberty, &mut facts)?;
    }
    Ok(facts.write()?)
}
