//! The RAM in all its configurations, and broken ones.

use hdl::blocks::common::{Ram, RamImplementation};
use sim::Design;
use sim::fault::Fault;
use testbenches::common::ram::bench;
use testbenches::faults::must_be_noticed_by;
use testbenches::options;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &options(4000)).unwrap() {
        assert!(report.compared >= 500, "{report:?}");
    }
}

#[test]
fn broken_rams_are_noticed() {
    let p = Ram { depth: 5, width: 24, granule: 8, implementation: RamImplementation::BlackBox };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = bench(&p).unwrap_or_else(|e| panic!("{e}"));
    let faults = [
        ("a read without enable", Fault::net("read_i", "1'b1")),
        ("the wrong byte enable", Fault::net("write_i", "{right[2], right[2], right[0]}")),
    ];
    must_be_noticed_by(&*bench, &design, 1000, &faults);
}
