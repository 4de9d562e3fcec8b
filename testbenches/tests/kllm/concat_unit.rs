//! The index concatenation in all configurations, and broken ones.

use hdl::blocks::kllm::ConcatUnit;
use testbenches::kllm::concat_unit::bench;
use testbenches::{options, run_all};

use crate::each;

#[test]
fn all_configurations() {
    run_all(bench, &options(1000)).unwrap_or_else(|e| panic!("{e}"));
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
    each(&ConcatUnit::default(), bench, 1000, FAULTS, most);
}

const FAULTS: &[(&str, &str, &str)] = &[
    ("outliers count", "valid_i & !outlier_i", "valid_i"),
    ("the weight in the high bits", "{a_i, w_i}", "{w_i, a_i}"),
    ("nothing holds", "if (enable_i) index_q", "index_q"),
];
