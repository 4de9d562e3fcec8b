//! The square root: all configurations, many operands, and broken ones.

use hdl::blocks::common::FloatSqrt;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::sqrt::bench;

use super::all;

#[test]
fn all_configurations() {
    // More than all values of 16 bits.
    all(bench, 100_000);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("the root of -0 is NaN", Fault::net("undefined", "a_i[15] & !nan_operand")),
        ("a row subtracts one too little", Fault::net("difference_6", "right + 8'd1")),
        ("exact roots are inexact", Fault::net("remainder_12", "13'd1").into("inexact_o")),
    ];
    must_be_noticed(&FloatSqrt { flags: true, ..FloatSqrt::default() }, bench, 70_000, &faults);
}
