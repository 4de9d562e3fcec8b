//! The conversion of integers: all configurations, many operands, and broken ones.

use hdl::blocks::common::FloatFromInt;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::from_int::bench;

use super::all;

#[test]
fn all_configurations() {
    // More than all integers of 17 bits.
    all(bench, 200_000);
}

#[test]
fn faults_are_found() {
    let from_int = FloatFromInt { flags: true, ..FloatFromInt::default() };
    must_be_noticed(
        &from_int,
        bench,
        40_000,
        &[
            ("the missing unit of a negative integer", Fault::net("arrives", "1'b0")),
            ("overflow is not said", Fault::net("overflow_o", "1'b0")),
        ],
    );
}
