//! The reciprocal square root: all configurations, many operands, and broken ones.

use hdl::blocks::common::FloatRsqrt;
use testbenches::common::float::rsqrt::bench;

use super::all;
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    all(bench, 100_000);
}

#[test]
fn faults_are_found() {
    let rsqrt = FloatRsqrt { flags: true, ..FloatRsqrt::default() };
    must_be_found(
        &rsqrt,
        bench,
        70_000,
        &[
            ("the root of minus 0 is NaN", "!(nan_operand | zero)", "!nan_operand"),
            ("powers of four are one unit low", "!(odd | |fraction)", "1'b0"),
            ("the slope is forgotten", "fall = slope", "fall = 1'b0"),
        ],
    );
}
