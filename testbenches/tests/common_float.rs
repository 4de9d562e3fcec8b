//! The floating-point units in all their configurations.

use hdl::lang::CatalogBlock;
use sim::RunOptions;
use testbenches::MakeBench;
use testbenches::common::float;

fn all<B: CatalogBlock>(bench: MakeBench<B>, vectors: u64) {
    for report in testbenches::run_all(bench, &RunOptions { vectors, ..RunOptions::default() }).unwrap() {
        assert!(report.compared >= 2 * vectors, "{report:?}");
    }
}

#[test]
fn add_in_all_configurations() {
    all(float::add::bench, 200_000);
}

#[test]
fn mul_in_all_configurations() {
    all(float::mul::bench, 200_000);
}

#[test]
fn fma_in_all_configurations() {
    all(float::fma::bench, 500_000);
}

#[test]
fn from_int_in_all_configurations() {
    all(float::from_int::bench, 50_000);
}

#[test]
fn compare_in_all_configurations() {
    all(float::compare::bench, 200_000);
}

#[test]
fn convert_in_all_configurations() {
    all(float::convert::bench, 200_000);
}
