//! The comparison: all configurations, many operands, and broken ones.

use hdl::blocks::common::{FloatCompare, FloatFormat};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::compare::bench;

use super::{all, many};

#[test]
fn all_configurations() {
    // More than all pairs of 8-bit floats.
    all(bench, 100_000);
}

/// All 16-bit values beside all corner values.
#[test]
fn fp16() {
    many(bench, &FloatCompare::default(), 12_500_000);
}

#[test]
fn faults_are_found() {
    must_be_noticed(
        &FloatCompare { format: FloatFormat::E5m2, ..FloatCompare::default() },
        bench,
        70_000,
        &[
            ("-0 < +0", Fault::net("less", "total_less & !unordered")),
            ("negative numbers the wrong way round", Fault::net("total_less", "a_sign & b_sign ? below : right")),
        ],
    );
}
