//! [`OutlierShare`] in all configurations, and broken.

use hdl::accelerators::kllm::OutlierShare;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::accelerators::outlier_share::bench;

#[test]
fn all_configurations() {
    for report in run_all(bench, &options(400)).unwrap() {
        assert!(report.compared >= 200, "{report:?}");
    }
}

#[test]
fn faults_are_found() {
    let faults = [
        ("the remainder is forgotten", Fault::net("next_i", "1'b0").into("share_q")),
        ("a clear keeps the remainder", Fault::net("clear_i", "1'b0").into("rest_q")),
        ("a share is ready too early", Fault::net("ready_o", "1'b1")),
    ];
    must_be_noticed(&OutlierShare { count_width: 4, segment_width: 3 }, bench, 300, &faults);
}
