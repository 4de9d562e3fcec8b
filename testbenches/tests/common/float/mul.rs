//! The multiplier: all configurations, many operands, and broken ones.

use hdl::blocks::common::{FloatMul, Subnormals};
use sim::fault::Fault;
use testbenches::common::float::mul::{at_the_limit, bench};
use testbenches::faults::must_be_noticed;

use super::{AT_THE_LIMIT, all, many};

#[test]
fn all_configurations() {
    all(bench, 200_000);
}

#[test]
fn millions() {
    many(bench, &FloatMul { flags: true, ..FloatMul::default() }, 2_200_000);
}

/// All products around the smallest normal number: the flags of those that are rounded up to it.
#[test]
fn fp16_around_the_smallest_normal_number() {
    for subnormals in [Subnormals::Ieee, Subnormals::Flush] {
        many(at_the_limit, &FloatMul { subnormals, flags: true, ..FloatMul::default() }, AT_THE_LIMIT);
    }
}

#[test]
fn faults_are_found() {
    let block = FloatMul { flags: true, ..FloatMul::default() };
    must_be_noticed(
        &block,
        bench,
        40_000,
        &[
            ("0 * infinity is infinity", Fault::net("undefined", "a_special & b_zero")),
            ("subnormal results are one place off", Fault::net("limit", "right - 7'd1")),
            ("bits shifted out are forgotten", Fault::net("align_lost", "1'b0")),
            ("very large results are not infinity", Fault::net("infinite_or", "&exponent[4:0]")),
            (
                "rounded up to a normal number, no underflow",
                Fault::net("underflow_o", "!special & !(|result_or) & !infinite_or & underflow_or"),
            ),
        ],
    );
}
