//! The reconfigurable array in its configurations, and broken ones.

use hdl::blocks::kelle::ReconfigurableArray;
use hdl::lang::CatalogBlock;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use test_tag::tag;
use testbenches::kelle::reconfigurable_array::bench;

#[test]
fn configurations() {
    for block in seeds::some(&ReconfigurableArray::configurations(), 2) {
        sim::kit::run(block, bench, &options(60)).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[tag(full)]
#[test]
#[ignore = "the paper's size takes a minute to build"]
fn array_of_the_paper() {
    let block = ReconfigurableArray { rows: 32, columns: 32, ..ReconfigurableArray::default() };
    sim::kit::run(&block, bench, &options(30)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn broken_arrays_are_noticed() {
    let faults = [
        ("a row is loaded before the swap has passed it", Fault::net("load_ready_o", "!clear_i")),
        ("a swap takes all rows at once", Fault::net("swap_i", "1'b0").into("weight").module("reconfigurable_pe")),
        ("a result without a place", Fault::net("step_ready_o", "!clear_i")),
        ("the sum of the cycle before is not seen", Fault::net("again_q", "1'b0").module("byte_accumulator")),
        ("low bytes are signed", Fault::net("act_signed_i", "1'b1").into("product").module("reconfigurable_pe")),
        ("a clear leaves results", Fault::net("clear_i", "1'b0").into("there_q").module("lane_results")),
        ("a clear leaves a swap on its way", Fault::net("clear_i", "1'b0").into("since_q")),
    ];
    let block = ReconfigurableArray::configurations().swap_remove(2);
    must_be_noticed(&block, bench, 60, &faults); // Sums of ten bits wrap often.
    let exact = Fault::net("exact", "{addend[9], addend}").into("inexact").module("byte_accumulator");
    let block = ReconfigurableArray::configurations().swap_remove(0);
    must_be_noticed(&block, bench, 300, &[("a wrap is not flagged", exact)]);
}
