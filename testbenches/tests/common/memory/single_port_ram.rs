//! The RAM with one port in all its configurations.

use sim::kit::options;
use testbenches::common::memory::single_port_ram::bench;

#[test]
fn all_configurations() {
    for report in sim::kit::run_all(bench, &options(4000)).unwrap() {
        assert!(report.compared >= 500, "{report:?}");
    }
}
