//! The logistic function: all configurations, and broken ones.

use hdl::blocks::common::{FloatFormat, FloatSigmoid};
use hdl::lang::Parameters;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::sigmoid::bench;

use super::all;

#[test]
fn all_configurations() {
    all(bench, 100_000);
}

#[test]
fn faults_are_found() {
    must_be_noticed(
        &FloatSigmoid { flags: true, ..FloatSigmoid::default() },
        bench,
        70_000,
        &[
            ("parabolas are lines", Fault::net("bend_units", "13'd0")),
            ("a unit of the last place of a height", Fault::net("height", "right - 17'd1")),
            ("positive operands are negative", Fault::net("factor", "value")),
            ("minus infinity is a number", Fault::net("huge", "1'b0")),
            ("subnormal results are one place off", Fault::net("distance_below", "right + 7'd1")),
        ],
    );
}

/// Wider formats are refused, and the error names the allowed ones.
#[test]
fn wide_formats_are_refused() {
    let error = FloatSigmoid { format: FloatFormat::Fp32, ..FloatSigmoid::default() }.check().unwrap_err().to_string();
    assert!(error.contains("fp32") && error.contains("a format of at most 16 bits"), "{error}");
}
