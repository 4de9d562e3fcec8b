//! [`TokenPacker`] in all configurations, and broken.

use hdl::accelerators::kllm::TokenPacker;
use hdl::lang::CatalogBlock;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::accelerators::token_packer::bench;

#[test]
fn all_configurations() {
    for report in run_all(bench, &options(60)).unwrap() {
        assert!(report.compared >= 30, "{report:?}");
    }
}

#[test]
fn faults_are_found() {
    let faults = [
        ("a part ends a beat late", Fault::net("part_ends", "right & over_q")),
        ("outliers of the next token come along", Fault::net("some_due", "1'b1")),
        ("outliers are not ended", Fault::net("no_outliers_q", "1'b1")),
        ("indices of 3 bits are told as 4", Fault::net("three_bits_i", "1'b0")),
        ("a clear keeps outliers", Fault::net("clear_i", "1'b0").into("due_q")),
    ];
    must_be_noticed(&TokenPacker::configurations()[1], bench, 300, &faults);
}
