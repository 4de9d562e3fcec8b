//! The clustering unit in all configurations, on all values, on real activations, and broken ones.

use golden::kllm::index_matmul::Accumulator;
use hdl::blocks::kllm::{ClusteringUnit, Search};
use testbenches::kllm::clustering_unit::{Task, bench, bench_of};

use crate::real::Real;
use crate::{configurations, each, run_with};

#[test]
fn all_configurations() {
    configurations(bench, 6000);
}

/// The clustering unit gives the model's activations the indices that the quantization gives them; and all 65,536 fp16
/// values those of the definition.
#[test]
fn real_activations_and_all_values() {
    let real = Real::new("l28_down_in", "l28_w_down", 4, Accumulator::Fp16Fused);
    let mut tasks = vec![];
    for (token, values) in real.tokens.iter().zip(&real.raw) {
        let midpoints = token.codebook.thresholds(token.scale).unwrap_or_else(|e| panic!("{e}"));
        for (k, &value) in values.iter().enumerate() {
            let index = golden::kllm::clustering_unit::nearest(&midpoints, value);
            assert!(token.outlier_mask()[k] || index == u64::from(token.indices[k]));
        }
        tasks.push(Task { midpoints, values: values.clone() });
    }
    tasks.push(Task { midpoints: tasks[0].midpoints.clone(), values: (0..=0xffff).collect() });
    for search in [Search::Binary, Search::Parallel] {
        let block = ClusteringUnit { search, ..ClusteringUnit::default() };
        run_with(&block, bench_of(&block, tasks.clone()), 600).unwrap_or_else(|e| panic!("{e}"));
    }
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
    let block = ClusteringUnit { bits: 3, lanes: 2, search: Search::Binary, pipelined: false };
    each(&block, bench, 6000, FAULTS, most);
}

const FAULTS: &[(&str, &str, &str)] = &[
    ("a tie goes to the higher centroid", "midpoint_2 < key", "midpoint_2 <= key"),
    ("a NaN is above everything", "|values_value_i[16*i +: 10] ? 16'd0", "|values_value_i[16*i +: 10] ? 16'd65535"),
    ("a midpoint of -0 is below 0", "midpoint_i == 16'd32768", "1'b0"),
    ("a NaN of a midpoint is below everything", "|midpoint_i[9:0] ? 16'd65535", "|midpoint_i[9:0] ? 16'd0"),
    ("a wrong candidate", "midpoint_2_bits = {found_1, 1'b0}", "midpoint_2_bits = {found_1, 1'b1}"),
    (
        "the last midpoint is written always",
        "(write_index_i == midpoint_index[2:0]))",
        "(write_index_i == midpoint_index[2:0]) | i == 6)",
    ),
];
