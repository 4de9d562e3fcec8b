//! The unit of Orizuru in all its configurations.

use testbenches::kllm::orizuru_unit::bench;
use testbenches::{options, run_all};

#[test]
fn all_configurations() {
    run_all(bench, &options(60)).unwrap_or_else(|e| panic!("{e}"));
}
