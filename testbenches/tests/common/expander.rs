//! The expander in all its configurations; every mask of small ones.

use hdl::blocks::common::Expander;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::common::expander::bench;

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(600)).unwrap_or_else(|e| panic!("{e}")) {
        assert!(report.compared >= 1200, "{report:?}");
    }
}

#[test]
fn faults_are_found() {
    let faults = [("a lane is not cleared", Fault::net("expanded[0]", "returned[0]"))];
    must_be_noticed(&Expander { lanes: 5, width: 3, open: false }, bench, 64, &faults);
}
