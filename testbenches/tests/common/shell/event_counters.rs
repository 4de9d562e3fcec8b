//! The counters in all configurations.

use testbenches::common::shell::event_counters::bench;
use testbenches::options;

#[test]
fn all_configurations() {
    testbenches::run_all(bench, &options(5000)).unwrap_or_else(|e| panic!("{e:#}"));
}
