//! The processing element in all its configurations, every product, and broken ones.

use hdl::blocks::baselines::ExponentPe;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run};
use test_tag::tag;
use testbenches::baselines::exponent_pe::{bench, every_product};

#[test]
fn configurations() {
    for report in sim::kit::run_all(bench, &options(10_000)).unwrap_or_else(|e| panic!("{e:#}")) {
        assert!(report.compared > 60_000, "{report:?}");
    }
}

fn products(exponent_width: u32, operands: u64) {
    let block = ExponentPe { exponent_width, ..ExponentPe::default() };
    let report = run(&block, every_product, &options(1)).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.compared >= operands * operands * 8 - 8, "{report:?}");
}

/// 24 integers with 8 exponents: all within the limit.
#[test]
fn products_of_all_operands() {
    products(3, 24 * 8);
}

/// With 16 exponents. The last four leave only integers up to 8, 4, 2 and 1 in magnitude, plus one more for -2^n.
#[tag(full)]
#[test]
#[ignore = "150,000 products"]
fn products_of_all_operands_whole() {
    products(4, 24 * 12 + 17 + 9 + 5 + 3);
}

#[test]
fn broken_elements_are_noticed() {
    let faults = [
        ("exponents of activations are lost", Fault::net("exponent", "{1'b0, weight_exponent_i}")),
        ("exponents without their carry", Fault::net("exponent", "{1'b0, right[3:0]}")),
        ("a product without its sign", Fault::net("product", "{1'b0, right[7:0]}")),
        ("overflow of the upper half only", Fault::net("leaves", "right & !base[31]")),
        ("the flag forgets", Fault::net("overflow", "leaves")),
        ("a tile does not begin", Fault::net("first_i", "1'b0").into("acc_q")),
        ("a waiting sum moves", Fault::net("moves", "1'b1")),
        ("a reset leaves the last step", Fault::net("rst_ni", "1'b1").into("last_q")),
    ];
    must_be_noticed(&ExponentPe::default(), bench, 20_000, &faults);
}
