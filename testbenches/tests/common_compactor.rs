//! Compactor and expander in all configurations; every mask of small ones.

mod fault_support;

use fault_support::must_be_found;
use hdl::blocks::common::{Compactor, Expander};
use testbenches::common::compactor::bench;
use testbenches::common::expander;
use testbenches::options;

#[test]
fn all_configurations() {
    let options = options(600);
    for reports in [testbenches::run_all(bench, &options), testbenches::run_all(expander::bench, &options)] {
        for report in reports.unwrap_or_else(|e| panic!("{e}")) {
            assert!(report.compared >= 1200, "{report:?}");
        }
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
    let faults = [("a lane is not cleared", "{3{mask_i[i]}}", "{3{1'b1}}")];
    must_be_found(&Expander { lanes: 5, width: 3 }, expander::bench, 64, &faults);
}
