//! The lane: all configurations.

use testbenches::kllm::pe_lane::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 120);
}
