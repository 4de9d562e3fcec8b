//! The multiplier: all configurations, many operands, and broken ones.

use hdl::blocks::common::{FloatFormat, FloatMul, RoundingDirection, Subnormals};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::common::float::mul::{at_the_limit, bench};

use super::{AT_THE_LIMIT, all, many};

#[test]
fn all_configurations() {
    all(bench, 200_000);
}

#[test]
fn millions() {
    many(bench, &FloatMul { flags: true, ..FloatMul::default() }, 2_200_000);
}

/// All products around the smallest normal number: the flags of products that are rounded up to it.
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

/// All pairs of the 8-bit format, corner pairs and random ones in fp16, in each direction.
#[test]
fn all_directions() {
    for &rounding in RoundingDirection::ALL {
        for subnormals in [Subnormals::Ieee, Subnormals::Flush] {
            let block = FloatMul { rounding, subnormals, flags: true, ..FloatMul::default() };
            many(bench, &block, 200_000);
            many(bench, &FloatMul { format: FloatFormat::E5m2, ..block }, 100_000);
        }
    }
}

#[test]
fn faults_in_directions_are_found() {
    let up = FloatMul { rounding: RoundingDirection::Up, flags: true, ..FloatMul::default() };
    must_be_noticed(
        &up,
        bench,
        40_000,
        &[
            ("negative products are rounded away from zero", Fault::net("up", "significand[0] | sticky")),
            ("a guard bit alone is nothing", Fault::net("up", "right & sticky")),
            ("what is too large is an infinity", Fault::net("largest", "1'b0")),
            ("the largest number does not overflow", Fault::net("overflow", "right & !largest")),
        ],
    );
}
