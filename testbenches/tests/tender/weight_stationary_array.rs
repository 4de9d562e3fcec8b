//! The weight-stationary array in all its configurations, and broken ones.

use hdl::blocks::tender::{WeightStationaryArray, WsPe};
use hdl::lang::CatalogBlock;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::tender::weight_stationary_array::bench;

#[test]
fn configurations() {
    for block in std::iter::once(WeightStationaryArray::default()).chain(WeightStationaryArray::configurations()) {
        let options = options(60);
        sim::kit::run(&block, bench, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn broken_arrays_are_noticed() {
    let pe = WsPe { operand_width: 4, accumulator_width: 12 };
    let p = WeightStationaryArray { rows: 3, columns: 2, pe, depth: 4 };
    let faults = [
        ("the accumulator is not doubled", Fault::net("shift_q", "2'd0").into("shifted").module("ws_accumulator")),
        ("a doubled partial sum leaves unseen", Fault::net("doubles_q", "1'b0").into("overflow_q").module("ws_pe")),
        ("weights move too early", Fault::net("load_ready_o", "1'b1")),
        ("the same sum twice in a row", Fault::net("again", "1'b0")),
        ("a step beside a load", Fault::net("step_ready_o", "!again")),
        ("a reset leaves vectors on their way", Fault::net("rst_ni", "1'b1").into("g_tags_on[0].tag_valid_q")),
        ("the doublings belong to the fold before", Fault::net("shift_up", "1'b0")),
    ];
    must_be_noticed(&p, bench, 400, &faults);
}
