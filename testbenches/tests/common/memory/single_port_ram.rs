//! The RAM with one port in all its configurations.

use testbenches::common::memory::single_port_ram::bench;
use testbenches::options;

#[test]
fn all_configurations() {
    for report in testbenches::run_all(bench, &options(4000)).unwrap() {
        assert!(report.compared >= 500, "{report:?}");
    }
}
