//! The conversion to integers: all configurations, many operands, and broken ones.

use hdl::blocks::common::{FloatToInt, RoundingDirection};
use testbenches::common::float::to_int::bench;

use super::{all, many};
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    all(bench, 100_000);
}

/// All 65,536 operands in each direction, to an integer that is too narrow for most and one that is not.
#[test]
fn all_directions() {
    use RoundingDirection::{Down, NearestEven, TowardZero, Up};
    for rounding in [NearestEven, TowardZero, Down, Up] {
        for (width, signed) in [(8, true), (16, false)] {
            many(bench, &FloatToInt { width, signed, rounding, flags: true, ..FloatToInt::default() }, 66_000);
        }
    }
}

#[test]
fn faults_are_found() {
    must_be_found(
        &FloatToInt { width: 8, flags: true, ..FloatToInt::default() },
        bench,
        70_000,
        &[
            ("ties are rounded up", "(more | placed[1])", "1'b1"),
            ("minus one half is rounded twice", "negative ^ up", "negative"),
            ("a NaN is the greatest integer", "nan ? 8'd0", "1'b0 ? 8'd0"),
        ],
    );
}
