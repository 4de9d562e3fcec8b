//! The counters in all configurations.

use sim::kit::options;
use testbenches::common::shell::event_counters::bench;

#[test]
fn all_configurations() {
    sim::kit::run_all(bench, &options(5000)).unwrap_or_else(|e| panic!("{e:#}"));
}
