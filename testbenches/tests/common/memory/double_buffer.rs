//! The double buffer in all its configurations.

use sim::kit::options;
use testbenches::common::memory::double_buffer::bench;

#[test]
fn all_configurations() {
    sim::kit::run_all(bench, &options(2000)).unwrap_or_else(|e| panic!("{e:#}"));
}
