//! The RAM in all its configurations, and broken ones.

use hdl::blocks::common::{Ram, RamImplementation};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::common::memory::ram::bench;

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(4000)).unwrap() {
        assert!(report.compared >= 500, "{report:?}");
    }
}

#[test]
fn broken_rams_are_noticed() {
    let faults = [
        ("a read without enable", Fault::net("read_i", "1'b1")),
        ("the wrong byte enable", Fault::net("write_i", "{right[2], right[2], right[0]}")),
    ];
    must_be_noticed(&Ram::parts(5, 24, 8, RamImplementation::BlackBox), bench, 1000, &faults);
}
