//! Registers behind AXI4-Lite in all configurations.

use testbenches::common::bus::axi_lite_registers::bench;
use testbenches::options;

#[test]
fn all_configurations() {
    testbenches::run_all(bench, &options(20_000)).unwrap_or_else(|e| panic!("{e:#}"));
}
