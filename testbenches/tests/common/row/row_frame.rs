//! The frame of rows in all configurations, and broken.

use hdl::blocks::common::RowFrame;
use hdl::blocks::common::stream::FifoStorage;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::common::row::row_frame::bench;

#[test]
fn all_configurations() {
    run_all(bench, &options(200)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[test]
fn faults_are_found() {
    let block = RowFrame {
        width: 32,
        lanes: 2,
        max_beats: 3,
        buffer: 4,
        row_width: 5,
        result_width: 16,
        output_width: 32,
        preparation: 2,
        kept_width: 32,
        analysis: 3,
        scaling: 2,
        storage: FifoStorage::Registers,
    };
    let faults = [
        ("a wrong count passes", Fault::net("wrong", "1'b0")),
        ("a row too long is not cut", Fault::net("full", "1'b0")),
        ("the rest of a row that was cut comes in", Fault::net("store", "fire")),
        ("a cut is not told", Fault::net("cut", "1'b0").into("beat_error_1_q")),
        ("beats enter a full buffer", Fault::net("room", "1'b1")),
        ("an answer is for a beat", Fault::net("ends_row", "1'b1")),
    ];
    must_be_noticed(&block, bench, 150, &faults);
}
