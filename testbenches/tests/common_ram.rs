//! The RAM in all its configurations, and broken ones.

use hdl::blocks::common::{Ram, RamImplementation};
use sim::Design;
use testbenches::common::memory::ram::bench;
use testbenches::kelle::faults::must_be_noticed;
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
    for (what, right, wrong) in [
        ("a read without enable", "if (read_i) data_o", "data_o"),
        ("the wrong byte enable", "if (write_i[1])", "if (write_i[2])"),
    ] {
        must_be_noticed(&*bench, &design, 1000, what, right, wrong);
    }
}
