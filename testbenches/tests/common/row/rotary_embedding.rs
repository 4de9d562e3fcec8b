//! Rotary embedding in all configurations, and broken.

use hdl::blocks::common::RotaryEmbedding;
use hdl::blocks::common::row::RotaryPairs;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::common::row::rotary_embedding::bench;

#[test]
fn all_configurations() {
    run_all(bench, &options(400)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[test]
fn faults_are_found() {
    let block = RotaryEmbedding {
        lanes: 2,
        pairs: RotaryPairs::Neighbours,
        mul_stages: 1,
        fma_stages: 2,
        ..RotaryEmbedding::default()
    };
    let faults = [
        ("a beat begins without its angles", Fault::net("begins", "input_valid_i & turn_room")),
        ("places are given twice", Fault::net("turn_room", "!clear_i")),
    ];
    must_be_noticed(&block, bench, 150, &faults);
}
