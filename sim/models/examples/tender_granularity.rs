//! The table of docs/blocks/tender-quantization.md: error of the real model's projections under Tender's groups, and under one
//! scale for a tensor, a row, or a column of activations.
//!
//! `cargo run --release -p senbazuru-models --example tender_granularity`; `--facts FILE` writes the ratios to Tender with most groups as JSON.

use anyhow::Result;
use models::tender::granularity::{GROUPS, Line, table};
use sim::facts::Facts;

fn main() -> Result<()> {
    let (mut facts, _) = Facts::from_args()?;
    let table = table()?;
    for bits in [4, 8] {
        println!("INT{bits} activations, exact weights; relative squared error of the product\n");
        let groups = GROUPS.map(|g| format!("G = {g}")).join(" | ");
        println!("| layer, projection | tensor | row | column | column + bias | {groups} | groups used |");
        println!("| --- | {} | ---: |", ["---:"; 4 + GROUPS.len()].join(" | "));
        for line in table.iter().filter(|line| line.bits == bits) {
            let all: Vec<_> = line.baselines.iter().chain(&line.tender).map(|e| format!("{e:.1e}")).collect();
            println!("| {} | {} | {} |", line.name, all.join(" | "), line.used);
        }
        println!();
        for (i, scales) in ["tensor", "row", "column"].into_iter().enumerate() {
            let of = |line: &Line| line.baselines[i] / line.tender[GROUPS.len() - 1];
            let ratios = table.iter().filter(|line| line.bits == bits).map(of);
            facts.add(&format!("int{bits} least {scales} over Tender"), ratios.clone().fold(f64::MAX, f64::min));
            facts.add(&format!("int{bits} most {scales} over Tender"), ratios.fold(0.0, f64::max));
        }
    }
    Ok(facts.write()?)
}
