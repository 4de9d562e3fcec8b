//! The check of operands in all its configurations.

use sim::kit::options;
use testbenches::common::shell::operand_check::bench;

#[test]
fn all_configurations() {
    sim::kit::run_all(bench, &options(2000)).unwrap_or_else(|e| panic!("{e:#}"));
}
