//! The adder: all configurations, many operands, and broken ones.

use hdl::blocks::common::FloatAdd;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::add::bench;

use super::{all, many};

#[test]
fn all_configurations() {
    all(bench, 200_000);
}

/// All pairs of corner values, both operations, and more than two million random pairs.
#[test]
fn millions() {
    let block = FloatAdd { subtract: true, flags: true, ..FloatAdd::default() };
    many(bench, &block, 2_200_000);
}

#[test]
fn faults_are_found() {
    let block = FloatAdd { flags: true, ..FloatAdd::default() };
    must_be_noticed(
        &block,
        bench,
        40_000,
        &[
            ("bits shifted out are forgotten", Fault::net("align_lost", "1'b0")),
            ("a tie is rounded up", Fault::net("up", "significand[0]")),
            ("a difference of zero is negative", Fault::net("vanished", "1'b0")),
            ("infinity + infinity is undefined", Fault::net("undefined", "big_special & small_special")),
            ("the difference is one too small", Fault::net("total", "right - {15'd0, subtract}")),
        ],
    );
}
