//! The execution controller in all its configurations.

use testbenches::systems::execution_controller::bench;
use testbenches::{options, run_all};

#[test]
fn all_configurations() {
    run_all(bench, &options(500)).unwrap_or_else(|e| panic!("{e:#}"));
}
