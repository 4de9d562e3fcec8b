//! Functions by table: all of them in all configurations, and broken ones.

use hdl::blocks::common::{FloatFormat, FloatFunction, FloatTable};
use hdl::lang::Parameters;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::table::bench;

use super::{all, many};

#[test]
fn all_configurations() {
    all(bench, 100_000);
}

/// All operands of each function, with and without subnormal numbers.
#[test]
fn all_functions() {
    for &function in FloatFunction::ALL {
        for format in [FloatFormat::Fp16, FloatFormat::Bf16, FloatFormat::E5m2, FloatFormat::E3m2] {
            many(bench, &FloatTable { function, format, flags: true, ..FloatTable::default() }, 70_000);
        }
    }
}

#[test]
fn faults_are_found() {
    must_be_noticed(
        &FloatTable { flags: true, ..FloatTable::default() },
        bench,
        70_000,
        &[
            ("results are truncated", Fault::net("up", "1'b0")),
            ("a curvature is forgotten", Fault::net("bend_units", "15'd0")),
            ("the scale is one too large", Fault::net("scale", "right + 5'd1")),
            ("small products stay", Fault::net("low_half", "1'b0")),
        ],
    );
}

#[test]
fn faults_of_relu_are_found() {
    must_be_noticed(
        &FloatTable { function: FloatFunction::Relu, flags: true, ..FloatTable::default() },
        bench,
        70_000,
        &[
            ("negative numbers stay", Fault::net("rectified", "a_special & |a_fraction ? 16'h7e00 : a_i")),
            ("a NaN stays as it is", Fault::net("rectified", "a_i[15] ? 16'h0 : a_i")),
        ],
    );
}

/// Wider formats are refused, and the error names the allowed ones.
#[test]
fn wide_formats_are_refused() {
    let error = FloatTable { format: FloatFormat::Fp32, ..FloatTable::default() }.check().unwrap_err().to_string();
    assert!(error.contains("fp32") && error.contains("a format of at most 16 bits"), "{error}");
}
