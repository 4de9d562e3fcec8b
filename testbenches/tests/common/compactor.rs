//! The compactor in all its configurations; every mask of small ones.

use hdl::blocks::common::Compactor;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::common::compactor::bench;

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(600)).unwrap_or_else(|e| panic!("{e}")) {
        assert!(report.compared >= 1200, "{report:?}");
    }
}

#[test]
fn faults_are_found() {
    let faults = [
        ("a lane is not cleared", Fault::net("compacted[1]", "moved[16]")),
        ("a gap is not counted", Fault::net("gaps[19]", "gaps[13]")),
        ("an element stays in place", Fault::net("moved[10]", "moved[5]")),
    ];
    must_be_noticed(&Compactor { lanes: 5, width: 3 }, bench, 64, &faults);
}
