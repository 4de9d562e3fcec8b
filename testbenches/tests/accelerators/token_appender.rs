//! [`TokenAppender`] in all configurations, and broken.

use hdl::accelerators::kllm::TokenAppender;
use hdl::lang::CatalogBlock;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::accelerators::token_appender::bench;

#[test]
fn all_configurations() {
    for report in run_all(bench, &options(60)).unwrap() {
        assert!(report.compared >= 30, "{report:?}");
    }
}

#[test]
fn faults_are_found() {
    let faults = [
        ("any head is taken", Fault::net("wrong_head", "1'b0")),
        ("the scale goes ahead of the lines", Fault::net("is_scale_q", "1'b1")),
        ("a clear keeps indices", Fault::net("clear_i", "1'b0").into("groups_left_q")),
        ("zeros do not follow", Fault::net("token_ended_q", "1'b0")),
        ("positions move on as channels do", Fault::net("size_position_i", "1'b0").into("indices_behind")),
    ];
    let [_, wide_panel, wide_bus] = &TokenAppender::configurations()[..] else { panic!("three configurations") };
    must_be_noticed(wide_panel, bench, 200, &faults);
    // A line in a cycle: constants take longer.
    let early = [("constants are not waited for", Fault::net("constants_there_q", "1'b1"))];
    must_be_noticed(wide_bus, bench, 200, &early);
}
