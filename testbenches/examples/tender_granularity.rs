//! The table of docs/blocks/tender-quantization.md: error of the real model's projections under Tender's groups, and under one
//! scale for a tensor, a row, or a column of activations.
//!
//! `cargo run --release -p testbenches --example tender_granularity`

use std::process::ExitCode;

use testbenches::tender::granularity::{GROUPS, table};

fn main() -> ExitCode {
    let table = match table() {
        Ok(table) => table,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(1);
        }
    };
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
    }
    ExitCode::SUCCESS
}
