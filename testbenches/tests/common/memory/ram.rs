//! The RAM in all its configurations, and broken ones.

use hdl::blocks::common::{Ram, RamImplementation};
use sim::fault::Fault;
use testbenches::common::memory::ram::bench;
use testbenches::faults::must_be_noticed;
use testbenches::options;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &options(4000)).unwrap() {
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
