//! The expander in all its configurations; every mask of small ones.

use hdl::blocks::common::Expander;
use testbenches::common::expander::bench;
use testbenches::options;

use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &options(600)).unwrap_or_else(|e| panic!("{e}")) {
        assert!(report.compared >= 1200, "{report:?}");
    }
}

#[test]
fn faults_are_found() {
    let faults = [("a lane is not cleared", "{3{mask_i[i]}}", "{3{1'b1}}")];
    must_be_found(&Expander { lanes: 5, width: 3 }, bench, 64, &faults);
}
