//! The expander in all its configurations; every mask of small ones.

use hdl::blocks::common::Expander;
use sim::fault::Fault;
use testbenches::common::expander::bench;
use testbenches::faults::must_be_noticed;
use testbenches::options;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &options(600)).unwrap_or_else(|e| panic!("{e}")) {
        assert!(report.compared >= 1200, "{report:?}");
    }
}

#[test]
fn faults_are_found() {
    let faults = [("a lane is not cleared", Fault::net("expanded[0]", "returned[0]"))];
    must_be_noticed(&Expander { lanes: 5, width: 3 }, bench, 64, &faults);
}
