//! The floating-point units: all configurations, millions of operations, real weights, and broken ones.

use hdl::blocks::common::{
    FloatAdd, FloatCompare, FloatConvert, FloatFma, FloatFormat, FloatFromInt, FloatMul, Subnormals,
};
use hdl::lang::CatalogBlock;
use sim::RunOptions;
use testbenches::MakeBench;
use testbenches::common::float::{add, compare, convert, fma, from_int, mul};

fn all<B: CatalogBlock>(bench: MakeBench<B>, vectors: u64) {
    for report in testbenches::run_all(bench, &RunOptions { vectors, ..RunOptions::default() }).unwrap() {
        assert!(report.compared >= 2 * vectors, "{report:?}");
    }
}

fn many<B: CatalogBlock>(bench: MakeBench<B>, block: &B, vectors: u64) {
    let report = testbenches::run(block, bench, &RunOptions { vectors, ..RunOptions::default() }).unwrap();
    assert!(report.compared >= 2 * vectors, "{report:?}");
}

#[test]
fn add_in_all_configurations() {
    all(add::bench, 200_000);
}

/// All pairs of corner values, both operations, and more than two million random pairs.
#[test]
fn add_millions() {
    let block = FloatAdd { subtract: true, flags: true, ..FloatAdd::default() };
    many(add::bench, &block, 2_200_000);
}

#[test]
fn mul_in_all_configurations() {
    all(mul::bench, 200_000);
}

#[test]
fn mul_millions() {
    many(mul::bench, &FloatMul { flags: true, ..FloatMul::default() }, 2_200_000);
}

#[test]
fn fma_in_all_configurations() {
    // More than twice all triples of 6-bit floats.
    all(fma::bench, 600_000);
}

/// Corner triples and more than five million random ones.
#[test]
fn fma_millions() {
    many(fma::bench, &FloatFma { flags: true, ..FloatFma::default() }, 5_600_000);
}

#[test]
fn from_int_in_all_configurations() {
    // More than twice all integers of 17 bits.
    all(from_int::bench, 300_000);
}

#[test]
fn compare_in_all_configurations() {
    all(compare::bench, 200_000);
}

#[test]
fn convert_in_all_configurations() {
    // More than twice all values of 16 bits.
    all(convert::bench, 150_000);
}
