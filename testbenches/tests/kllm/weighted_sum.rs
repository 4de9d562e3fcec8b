//! The weighted sum in all configurations, and broken ones.

use hdl::blocks::kllm::WeightedSum;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run_all};
use testbenches::kllm::weighted_sum::bench;

#[test]
fn all_configurations() {
    run_all(bench, &options(600)).unwrap_or_else(|e| panic!("{e}"));
}

#[test]
fn faults_are_found() {
    must_be_noticed(&small(), bench, 400, &faults());
}

fn small() -> WeightedSum {
    WeightedSum { largest_count: 70_000, ..WeightedSum::default() }
}

fn faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("columns run together", Fault::net("first_q", "1'b0").into("u_mac")),
        ("a sum is overwritten while it waits", Fault::net("enable", "1'b1")),
        ("the last bin is missing", Fault::net("ends_1_q", "bins_valid_i & bins_last_i").into("done_q")),
        ("an infinite count is not told", Fault::net("error", "bins_error_i | (error_before_q & !first_q)")),
        (
            "a wrong bin is forgotten with the next one",
            Fault::net("error", "bins_error_i | (bins_count_i >= 17'd65520)"),
        ),
    ]
}
