//! The exponential: all configurations, and broken ones.

use hdl::blocks::common::FloatExp;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::exp::bench;

use super::all;

#[test]
fn all_configurations() {
    all(bench, 100_000);
}

#[test]
fn faults_are_found() {
    must_be_noticed(
        &FloatExp { flags: true, ..FloatExp::default() },
        bench,
        70_000,
        &[
            ("a unit of the last place of log2 e", Fault::net("product", "right - {21'd0, a_significand}")),
            ("negative logarithms are one higher", Fault::net("logarithm", "right + {20'd0, negative}")),
            ("lines are steps", Fault::net("above", "20'd0")),
            ("minus infinity is a number", Fault::net("kept", "1'b1")),
            ("subnormal results are one place off", Fault::net("distance", "right + 7'd1")),
        ],
    );
}
