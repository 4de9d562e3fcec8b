//! The weighted sum in all configurations, and broken ones.

use hdl::blocks::kllm::WeightedSum;
use testbenches::kllm::weighted_sum::bench;
use testbenches::{options, run_all};

use crate::each;

#[test]
fn all_configurations() {
    run_all(bench, &options(600)).unwrap_or_else(|e| panic!("{e}"));
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
    each(&WeightedSum { largest_count: 70_000, ..WeightedSum::default() }, bench, 400, FAULTS, most);
}

const FAULTS: &[(&str, &str, &str)] = &[
    ("columns run together", ".start_i(first_q)", ".start_i(1'b0)"),
    ("a sum is overwritten while it waits", "!done_q | sum_ready_i", "1'b1"),
    ("the last bin is missing", "done_q <= ends_1_q", "done_q <= bins_valid_i & bins_last_i"),
    ("an infinite count is not told", "| (bins_count_i >= 17'd65520)", ""),
    ("a wrong bin is forgotten with the next one", "| (error_before_q & !first_q)", ""),
];
