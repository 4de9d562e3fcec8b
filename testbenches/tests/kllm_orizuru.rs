//! Orizuru in all its configurations, on made vectors and on the activations of the real model.

use hdl::blocks::kllm::{Orizuru, OrizuruUnit};
use hdl::lang::CatalogBlock;
use sim::{Design, RunOptions};
use testbenches::kllm::orizuru::{OrizuruBench, bench};
use testbenches::kllm::{orizuru_unit, vectors::real_rows};

#[test]
fn unit_configurations() {
    for block in std::iter::once(OrizuruUnit::default()).chain(OrizuruUnit::configurations()) {
        let options = RunOptions { vectors: 60, ..RunOptions::default() };
        testbenches::run(&block, orizuru_unit::bench, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn configurations() {
    for block in Orizuru::configurations() {
        let options = RunOptions { vectors: 60, ..RunOptions::default() };
        testbenches::run(&block, bench, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn real_activations() {
    // The input of the down projection: 1536 wide, with the strongest outliers of the model.
    let block = Orizuru { n: 1536, k_max: 8, k_min: 8, count_comparisons: true, ..Orizuru::default() };
    let design = Design::from(&hdl::lang::elaborate(&block).unwrap_or_else(|e| panic!("{e}")));
    for file in ["l02_down_in.npy", "l28_down_in.npy"] {
        let rows: Vec<_> = real_rows(file).unwrap_or_else(|e| panic!("{e}")).into_iter().take(16).collect();
        let options = RunOptions { vectors: rows.len() as u64, ..RunOptions::default() };
        let bench = OrizuruBench::new(&block, rows).unwrap_or_else(|e| panic!("{e}"));
        sim::run(&bench, &design, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}
