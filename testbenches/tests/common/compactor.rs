//! The compactor in all its configurations; every mask of small ones.

use hdl::blocks::common::Compactor;
use testbenches::common::compactor::bench;
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
    let faults = [
        ("a lane is not cleared", "{3{present[i + 15]}}", "{3{1'b1}}"),
        ("a gap is not counted", "gaps[13] + gaps[14]", "gaps[13]"),
        ("an element stays behind", "moves[i + 7] ? moved[i + 7] : moved[i + 5]", "moved[i + 5]"),
    ];
    must_be_found(&Compactor { lanes: 5, width: 3 }, bench, 64, &faults);
}
