//! The clustering unit in all configurations, on all values, on real activations, and broken ones.

use golden::kllm::index_matmul::Accumulator;
use hdl::blocks::kllm::{ClusteringUnit, Search};
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::kllm::clustering_unit::{Task, bench, bench_of};

use crate::real::Real;
use crate::{configurations, run_with};

#[test]
fn all_configurations() {
    configurations(bench, 6000);
}

/// The clustering unit gives the model's activations the same indices as the quantization. All 65,536 fp16 values get
/// the indices of the definition.
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
    must_be_noticed(&small(), bench, 6000, &faults());
}

fn small() -> ClusteringUnit {
    ClusteringUnit { bits: 3, lanes: 2, search: Search::Binary, pipelined: false }
}

fn faults() -> Vec<(&'static str, Fault)> {
    let nan = "&values_value_i[14:10] & |values_value_i[9:0]";
    vec![
        ("the last midpoint is written always", Fault::net("write_index_i", "3'd6").into("g_midpoints[6].midpoint_q")),
        ("a tie goes to the higher centroid", Fault::net("g_lanes[0].midpoint_2", "right - 16'd1")),
        ("a NaN is above everything", Fault::net("g_lanes[0].key", &format!("{nan} ? 16'd65535 : right"))),
        ("a midpoint of -0 is below 0", Fault::net("written_key", "midpoint_i == 16'd32768 ? 16'd32767 : right")),
        (
            "a NaN of a midpoint is below everything",
            Fault::net("written_key", "&midpoint_i[14:10] & |midpoint_i[9:0] ? 16'd0 : right"),
        ),
        ("a clear keeps what is inside", Fault::net("clear_i", "1'b0")),
        ("a wrong candidate", Fault::net("g_lanes[0].midpoint_2", "midpoint[{g_lanes[0].found_1, 1'b1}]")),
    ]
}
