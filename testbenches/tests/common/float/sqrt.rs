//! The square root: all configurations, many operands, and broken ones.

use hdl::blocks::common::FloatSqrt;
use testbenches::common::float::sqrt::bench;

use super::all;
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    // More than all values of 16 bits.
    all(bench, 100_000);
}

#[test]
fn faults_are_found() {
    let sqrt = FloatSqrt { flags: true, ..FloatSqrt::default() };
    must_be_found(
        &sqrt,
        bench,
        70_000,
        &[
            ("the root of -0 is NaN", "!(nan_operand | zero)", "!nan_operand"),
            ("a row subtracts one too little", "{root_5, 2'd1}", "{root_5, 2'd0}"),
            ("exact roots are inexact", "| |remainder_12", "| 1'b1"),
        ],
    );
}
