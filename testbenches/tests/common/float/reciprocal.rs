//! The reciprocal: all configurations, many operands, and broken ones.

use hdl::blocks::common::FloatReciprocal;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::reciprocal::bench;

use super::all;

#[test]
fn all_configurations() {
    all(bench, 100_000);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("powers of two are inexact", Fault::net("power_of_two", "1'b0")),
        ("two places below normal numbers is one", Fault::net("placed", "by_two ? {1'd0, quotient_12[11:1]} : right")),
        ("infinity is a large number", Fault::net("number", "1'b1")),
    ];
    must_be_noticed(&FloatReciprocal { flags: true, ..FloatReciprocal::default() }, bench, 70_000, &faults);
}
