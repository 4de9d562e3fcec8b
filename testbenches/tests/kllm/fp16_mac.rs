//! The MAC unit in all configurations, and broken ones.

use hdl::blocks::kllm::Fp16Mac;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::kllm::fp16_mac::bench;

#[test]
fn all_configurations() {
    run_all(bench, &options(20_000)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn faults_are_found() {
    must_be_noticed(&small(), bench, 4000, &faults());
}

fn small() -> Fp16Mac {
    Fp16Mac { fused: false, stages: 3, ..Fp16Mac::default() }
}

fn faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("the sum never starts again", Fault::net("start_2_q", "1'b0")),
        ("a held product is added again", Fault::net("enable_i", "1'b1").into("sum_q")),
        ("a gap is added", Fault::net("valid_2_q", "1'b1").into("sum_q")),
        ("valid too early", Fault::net("valid_2_q", "valid_1_q").into("valid_q")),
    ]
}
