//! The reciprocal: all configurations, many operands, and broken ones.

use hdl::blocks::common::FloatReciprocal;
use testbenches::common::float::reciprocal::bench;

use super::all;
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    all(bench, 100_000);
}

#[test]
fn faults_are_found() {
    let reciprocal = FloatReciprocal { flags: true, ..FloatReciprocal::default() };
    must_be_found(
        &reciprocal,
        bench,
        70_000,
        &[
            ("powers of two are inexact", "& !power_of_two", ""),
            ("two places below normal numbers is one", "{2'd0, quotient_12[11:2]}", "{1'd0, quotient_12[11:1]}"),
            ("infinity is a large number", "!infinite_operand", "1'b1"),
        ],
    );
}
