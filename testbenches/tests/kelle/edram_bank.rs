//! The eDRAM bank in all its configurations, and broken ones.

use hdl::blocks::common::RamImplementation;
use hdl::blocks::kelle::EdramBank;
use sim::Design;
use testbenches::kelle::edram_bank::bench;
use testbenches::kelle::faults::must_be_noticed;
use testbenches::options;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &options(20_000)).unwrap() {
        assert!(report.compared >= 2000, "{report:?}");
    }
}

#[test]
fn broken_banks_are_noticed() {
    let p = EdramBank { rows: 9, width: 16, implementation: RamImplementation::Inferred, retention_model: true };
    let design = Design::from(&hdl::lang::elaborate(&p).unwrap_or_else(|e| panic!("{e}")));
    let bench = bench(&p).unwrap_or_else(|e| panic!("{e}"));
    for (what, right, wrong) in [
        ("a row is young again by a read", "if (write) restored", "if (write | read) restored"),
        ("bits die a cycle early", "< row_age", "<= row_age"),
        ("the bank reads in each cycle", "wire read = refresh ?", "wire read = !refresh | refresh ?"),
        ("a write beside a refresh read is made", "refresh ? back : write_i", "back | write_i"),
        ("a write-back of nothing is made", "refresh_write_i & loaded_q &", "refresh_write_i &"),
    ] {
        must_be_noticed(&*bench, &design, 20_000, what, right, wrong);
    }
}
