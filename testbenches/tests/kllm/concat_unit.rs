//! The index concatenation in all configurations, and broken ones.

use hdl::blocks::kllm::ConcatUnit;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::kllm::concat_unit::bench;

#[test]
fn all_configurations() {
    run_all(bench, &options(1000)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn faults_are_found() {
    must_be_noticed(&small(), bench, 1000, &faults());
}

fn small() -> ConcatUnit {
    ConcatUnit::default()
}

fn faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("outliers count", Fault::net("outlier_i", "1'b0")),
        ("the weight in the high bits", Fault::net("index_q", "{right[3:0], right[7:4]}")),
        ("nothing holds", Fault::net("enable_i", "1'b1").into("index_q")),
    ]
}
