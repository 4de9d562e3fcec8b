//! The arbiter on a memory with pauses, errors and silence.

use sim::kit::{options, run_all};
use testbenches::common::bus::axi_arbiter::bench;

#[test]
fn all_configurations() {
    run_all(bench, &options(400)).unwrap_or_else(|e| panic!("{e:#}"));
}
