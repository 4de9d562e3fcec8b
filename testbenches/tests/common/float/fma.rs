//! The multiply-add: all configurations, many operands, and broken ones.

use hdl::blocks::common::{FloatFma, FloatFormat};
use sim::Design;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use test_tag::tag;
use testbenches::common::float::fma::{at_the_limit, bench, dot_products};

use super::{AT_THE_LIMIT, all, many};

#[test]
fn all_configurations() {
    // More than all triples of 6-bit floats.
    all(bench, 400_000);
}

/// Corner triples and more than five million random ones.
#[test]
fn millions() {
    many(bench, &FloatFma { flags: true, ..FloatFma::default() }, 5_600_000);
}

/// All products around the smallest normal number: the flags of products that are rounded up to it.
#[test]
fn fp16_around_the_smallest_normal_number() {
    for fused in [true, false] {
        many(at_the_limit, &FloatFma { fused, flags: true, ..FloatFma::default() }, AT_THE_LIMIT);
    }
}

/// A dot product of real activations and real weights, accumulated in order, which is the purpose of the unit.
#[test]
fn real_dot_products() {
    for fused in [true, false] {
        let block = FloatFma { fused, stages: 2, ..FloatFma::default() };
        let bench = dot_products(&block, "l14_down_in", "l14_w_down", 24).unwrap();
        let design = Design::from(&hdl::lang::elaborate(&block).unwrap());
        let report = sim::run(&*bench, &design, &options(24 * 1536)).unwrap();
        assert!(report.compared >= 24 * 1536, "{report:?}");
    }
}

#[test]
fn faults_are_found() {
    let block = FloatFma { flags: true, stages: 2, ..FloatFma::default() };
    must_be_noticed(
        &block,
        bench,
        400_000,
        &[
            ("the missing unit of a complement", Fault::net("arrives", "1'b0")),
            ("a carry although bits were lost", Fault::net("carry", "minus_1_q & !(|addend_1_q[1:0])")),
            ("the low bits are not negated", Fault::net("total", "{right[36:1], addend_1_q[0]}")),
            ("a product of zero aligns", Fault::net("far", "distance[6]")),
            ("lost bits are forgotten while rounding", Fault::net("lost_2_q", "1'b0").into("sticky")),
            (
                "rounded up to a normal number, no underflow",
                Fault::net("underflow_o", "!special_2_q & !(|result_or) & !infinite_or & underflow_choice"),
            ),
            ("valid is early", Fault::net("valid_o", "valid_1_q")),
        ],
    );
}

/// Twenty million triples in each of the wider formats.
#[tag(release)]
#[test]
#[ignore = "minutes"]
fn formats() {
    for format in [FloatFormat::Fp16, FloatFormat::Bf16, FloatFormat::Fp32] {
        many(bench, &FloatFma { format, flags: true, ..FloatFma::default() }, 20_000_000);
    }
}
