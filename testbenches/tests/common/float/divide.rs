//! The division: all configurations, many operands, and broken ones.

use hdl::blocks::common::FloatDivide;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::divide::bench;

use super::{all, many};

#[test]
fn all_configurations() {
    // More than all pairs of 8-bit floats.
    all(bench, 100_000);
}

/// All pairs of corner values and more than two million structured pairs.
#[test]
fn millions() {
    many(bench, &FloatDivide { flags: true, ..FloatDivide::default() }, 2_200_000);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("the remainder is forgotten while rounding", Fault::net("lost", "align_lost")),
        ("bits shifted out are forgotten", Fault::net("lost", "rest")),
        ("0 / 0 is infinity", Fault::net("undefined", "a_special & b_special")),
        ("infinity / 0 is a division by zero", Fault::net("division_by_zero", "b_zero & !a_zero")),
        ("subnormal results are one place off", Fault::net("places", "right + 7'd1")),
    ];
    must_be_noticed(&FloatDivide { flags: true, ..FloatDivide::default() }, bench, 40_000, &faults);
}
