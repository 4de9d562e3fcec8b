//! The vector unit in all configurations, and broken.

use hdl::blocks::common::row::VectorLane;
use hdl::blocks::common::{FloatFunction, VectorUnit};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run, run_all};
use test_tag::tag;
use testbenches::common::row::vector_unit::bench;

#[test]
fn all_configurations() {
    run_all(bench, &options(150)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Every function that a build can have, with numbers of both signs.
#[test]
fn all_activations() {
    use FloatFunction::{GeluErf, GeluTanh, Relu, Silu, Tanh};
    for function in [GeluErf, GeluTanh, Relu, Silu, Tanh] {
        let lane = VectorLane { function, ..VectorLane::default() };
        let block = VectorUnit { lanes: 2, max_beats: 3, buffer: 6, lane, ..VectorUnit::default() };
        run(&block, bench, &options(300)).unwrap_or_else(|e| panic!("{function:?}: {e:#}"));
    }
}

#[tag(full)]
#[test]
#[ignore = "half a minute: each fault is a large model"]
fn faults_are_found() {
    let block = VectorUnit { lanes: 2, max_beats: 3, buffer: 6, ..VectorUnit::default() };
    let faults = [
        ("a beat begins without its addend", Fault::net("begins", "input_valid_i & begin_room")),
        ("rows are normalised without their gains", Fault::net("gain_here", "1'b1").module("norm_stage")),
        ("places are given twice", Fault::net("begin_room", "!clear_i")),
        ("elements that are not in use overflow", Fault::net("used_now", "2'd2")),
        ("a nibble is not saturated", Fault::net("fits", "1'b1").module("requantize_lane")),
        ("a step that is left out is late", Fault::net("sum", "add_result").module("vector_lane")),
    ];
    must_be_noticed(&block, bench, 300, &faults);
}
