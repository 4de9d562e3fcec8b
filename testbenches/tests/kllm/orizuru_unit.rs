//! The unit of Orizuru in all its configurations.

use sim::kit::{options, run_all};
use testbenches::kllm::orizuru_unit::bench;

#[test]
fn all_configurations() {
    run_all(bench, &options(60)).unwrap_or_else(|e| panic!("{e}"));
}
