//! The check of operands in all its configurations.

use testbenches::common::shell::operand_check::bench;
use testbenches::options;

#[test]
fn all_configurations() {
    testbenches::run_all(bench, &options(2000)).unwrap_or_else(|e| panic!("{e:#}"));
}
