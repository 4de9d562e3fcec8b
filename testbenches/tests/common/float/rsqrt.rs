//! The reciprocal square root: all configurations, many operands, and broken ones.

use hdl::blocks::common::FloatRsqrt;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::rsqrt::bench;

use super::all;

#[test]
fn all_configurations() {
    all(bench, 100_000);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("the root of minus 0 is NaN", Fault::net("undefined", "a_i[15] & !nan_operand")),
        ("powers of four are one unit low", Fault::net("power_of_four", "1'b0")),
        ("the slope is forgotten", Fault::net("slope", "7'd0")),
    ];
    must_be_noticed(&FloatRsqrt { flags: true, ..FloatRsqrt::default() }, bench, 70_000, &faults);
}
