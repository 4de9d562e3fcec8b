//! The conversion between formats: all configurations, many operands, and broken ones.

use hdl::blocks::common::FloatConvert;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::convert::bench;

use super::{all, many};

#[test]
fn all_configurations() {
    // More than all values of 16 bits.
    all(bench, 150_000);
}

/// All high halves of binary32 with all that rounding to fp16 tells apart below.
#[test]
fn fp32_to_fp16() {
    many(bench, &FloatConvert { flags: true, ..FloatConvert::default() }, 6_400_000);
}

#[test]
fn faults_are_found() {
    must_be_noticed(
        &FloatConvert { flags: true, ..FloatConvert::default() },
        bench,
        40_000,
        &[
            ("subnormal results are one place off", Fault::net("distance", "right + 9'd1")),
            ("the quiet bit of a signalling NaN", Fault::net("result", "{right[15:10], result_and[9], right[8:0]}")),
            (
                "rounded up to a normal number, no underflow",
                Fault::net("underflow_o", "!a_special & !(|result_or) & !infinite_or & underflow_or"),
            ),
        ],
    );
}
