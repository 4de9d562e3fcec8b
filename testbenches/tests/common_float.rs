//! The floating-point units: all configurations, millions of operations, real weights, and broken ones.

use hdl::blocks::common::{
    FloatAdd, FloatCompare, FloatConvert, FloatFma, FloatFormat, FloatFromInt, FloatMul, Subnormals,
};
use hdl::lang::CatalogBlock;
use sim::{Design, RunOptions};
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
    // More than all triples of 6-bit floats.
    all(fma::bench, 400_000);
}

/// Corner triples and more than five million random ones.
#[test]
fn fma_millions() {
    many(fma::bench, &FloatFma { flags: true, ..FloatFma::default() }, 5_600_000);
}

#[test]
fn from_int_in_all_configurations() {
    // More than all integers of 17 bits.
    all(from_int::bench, 200_000);
}

#[test]
fn compare_in_all_configurations() {
    // More than all pairs of 8-bit floats.
    all(compare::bench, 100_000);
}

/// All 16-bit values beside all corner values.
#[test]
fn compare_fp16() {
    many(compare::bench, &FloatCompare::default(), 12_500_000);
}

#[test]
fn convert_in_all_configurations() {
    // More than all values of 16 bits.
    all(convert::bench, 150_000);
}

/// All high halves of binary32 with all that rounding to fp16 tells apart below.
#[test]
fn convert_fp32_to_fp16() {
    many(convert::bench, &FloatConvert { flags: true, ..FloatConvert::default() }, 6_400_000);
}

/// A dot product of real activations and real weights, accumulated in order: what the unit is for.
#[test]
fn real_dot_products() {
    for fused in [true, false] {
        let block = FloatFma { fused, stages: 2, ..FloatFma::default() };
        let bench = fma::dot_products(&block, "l14_down_in.npy", "l14_w_down.npy", 24).unwrap();
        let design = Design::from(&hdl::lang::elaborate(&block).unwrap());
        let report = sim::run(&*bench, &design, &RunOptions { vectors: 24 * 1536, ..RunOptions::default() }).unwrap();
        assert!(report.compared >= 24 * 1536, "{report:?}");
    }
}

/// Every deliberate fault in the hardware must be seen.
fn faults<B: CatalogBlock>(bench: MakeBench<B>, block: &B, vectors: u64, faults: &[(&str, &str, &str)]) {
    let whole = Design::from(&hdl::lang::elaborate(block).unwrap());
    for (what, right, wrong) in faults {
        let mut design = whole.clone();
        let mut changed = 0;
        for file in &mut design.files {
            changed += file.text.matches(right).count();
            file.text = file.text.replace(right, wrong);
        }
        assert!(changed > 0, "{what}: no `{right}` in the Verilog");
        let waves = tempfile::tempdir().unwrap();
        let options = RunOptions { vectors, waves: Some(waves.path().into()), ..RunOptions::default() };
        let error = sim::run(&*bench(block).unwrap(), &design, &options).expect_err(what);
        assert!(error.mismatch().is_some(), "{what}: {error}");
    }
}
