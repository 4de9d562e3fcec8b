//! The division: all configurations, many operands, and broken ones.

use hdl::blocks::common::FloatDivide;
use testbenches::common::float::divide::bench;

use super::{all, many};
use crate::fault_support::must_be_found;

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
    let divide = FloatDivide { flags: true, ..FloatDivide::default() };
    must_be_found(
        &divide,
        bench,
        40_000,
        &[
            ("the remainder is forgotten while rounding", "align_lost | rest", "align_lost"),
            ("bits shifted out are forgotten", "align_lost | rest", "rest"),
            ("0 / 0 is infinity", "(a_zero & b_zero) |", ""),
            ("infinity / 0 is a division by zero", "!(a_zero | a_special)", "!a_zero"),
            ("subnormal results are one place off", "places = 7'd1 -", "places = 7'd2 -"),
        ],
    );
}
