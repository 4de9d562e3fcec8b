//! Compactor and expander in all configurations; every mask of small ones.

use hdl::blocks::common::{Compactor, Expander};
use sim::fault::Fault;
use testbenches::common::compactor::{bench, expander_bench};
use testbenches::faults::must_be_noticed;
use testbenches::options;

#[test]
fn all_configurations() {
    let options = options(600);
    for reports in [testbenches::run_all(bench, &options), testbenches::run_all(expander_bench, &options)] {
        for report in reports.unwrap_or_else(|e| panic!("{e}")) {
            assert!(report.compared >= 1200, "{report:?}");
        }
    }
}

#[test]
fn faults_are_found() {
    let faults = [
        ("a lane is not cleared", Fault::net("compacted[1]", "moved[16]")),
        ("a gap is not counted", Fault::net("gaps[19]", "gaps[13]")),
        ("an element stays behind", Fault::net("moved[5]", "moved[0]")),
    ];
    must_be_noticed(&Compactor { lanes: 5, width: 3 }, bench, 64, &faults);
    let faults = [("a lane is not cleared", Fault::net("expanded[0]", "returned[0]"))];
    must_be_noticed(&Expander { lanes: 5, width: 3 }, expander_bench, 64, &faults);
}
