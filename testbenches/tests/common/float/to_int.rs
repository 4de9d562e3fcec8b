//! The conversion to integers: all configurations, many operands, and broken ones.

use hdl::blocks::common::{FloatToInt, RoundingDirection};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::to_int::bench;

use super::{all, many};

#[test]
fn all_configurations() {
    all(bench, 100_000);
}

/// All 65,536 operands in each direction, to an integer that is too narrow for most and one that is not.
#[test]
fn all_directions() {
    for &rounding in RoundingDirection::ALL {
        for (width, signed) in [(8, true), (16, false)] {
            many(bench, &FloatToInt { width, signed, rounding, flags: true, ..FloatToInt::default() }, 66_000);
        }
    }
}

#[test]
fn faults_are_found() {
    let faults = [
        ("ties are rounded up", Fault::net("up", "placed[0]")),
        ("minus one half is rounded twice", Fault::net("up", "1'b0").into("whole")),
        ("a NaN is the greatest integer", Fault::net("nan", "1'b0").into("result")),
    ];
    must_be_noticed(&FloatToInt { width: 8, flags: true, ..FloatToInt::default() }, bench, 70_000, &faults);
}
