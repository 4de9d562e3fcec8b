//! Registers on AXI4-Lite in all configurations.

use sim::kit::options;
use testbenches::common::bus::axi_lite_registers::bench;

#[test]
fn all_configurations() {
    sim::kit::run_all(bench, &options(20_000)).unwrap_or_else(|e| panic!("{e:#}"));
}
