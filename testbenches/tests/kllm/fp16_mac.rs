//! The MAC unit in all configurations, and broken ones.

use hdl::blocks::kllm::Fp16Mac;
use testbenches::kllm::fp16_mac::bench;
use testbenches::{options, run_all};

use crate::each;

#[test]
fn all_configurations() {
    run_all(bench, &options(20_000)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn faults_are_found() {
    faults(1);
}

#[test]
#[ignore = "minutes: a model for each fault"]
fn large_all_faults_are_found() {
    faults(usize::MAX);
}

/// Runs the first `most` faults.
fn faults(most: usize) {
    each(&Fp16Mac { fused: false, stages: 3, ..Fp16Mac::default() }, bench, 4000, FAULTS, most);
}

const FAULTS: &[(&str, &str, &str)] = &[
    ("the sum never starts again", "!start_2_q ? sum_q", "1'b1 ? sum_q"),
    ("a held product is added again", "if (enable_i & valid_2_q) sum_q", "if (valid_2_q) sum_q"),
    ("a gap is added", "if (enable_i & valid_2_q)", "if (enable_i)"),
    ("valid too early", "valid_q <= valid_2_q", "valid_q <= valid_1_q"),
];
