//! The registers in all their configurations.

use testbenches::common::shell::shell_registers::bench;
use testbenches::options;

#[test]
fn all_configurations() {
    testbenches::run_all(bench, &options(20_000)).unwrap_or_else(|e| panic!("{e:#}"));
}
