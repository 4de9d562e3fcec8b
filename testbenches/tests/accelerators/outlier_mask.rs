//! [`OutlierMask`] in all configurations, and broken.

use hdl::accelerators::kllm::OutlierMask;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::accelerators::outlier_mask::bench;

#[test]
fn all_configurations() {
    for report in run_all(bench, &options(3000)).unwrap() {
        assert!(report.compared >= 1500, "{report:?}");
    }
}

#[test]
fn faults_are_found() {
    let faults = [
        ("an element is fresh each time", Fault::net("fresh_o", "marked_q")),
        ("marks are put into the row in use", Fault::net("fill_last_i", "1'b0").into("fill_bank_q")),
        ("a row is used for ever", Fault::net("use_last_i", "1'b0").into("use_bank_q")),
        ("a word is not made blank", Fault::net("blank_i", "1'b0").into("writes")),
        ("a clear keeps the bank", Fault::net("clear_i", "1'b0").into("use_bank_q")),
    ];
    must_be_noticed(&OutlierMask { depth: 5, lanes: 3 }, bench, 3000, &faults);
}
