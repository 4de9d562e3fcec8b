//! The scaling unit: all configurations, broken hardware.

use hdl::blocks::kllm::ScalingUnit;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::{options, run};
use testbenches::kllm::scaling_unit::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 3000);
}

#[test]
fn default_configuration() {
    let report = run(&ScalingUnit::default(), bench, &options(20_000)).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.compared >= 10_000, "{report:?}");
}

#[test]
fn faults_are_found() {
    must_be_noticed(&small(), bench, 1000, &faults());
}

fn small() -> ScalingUnit {
    ScalingUnit { columns: 2, convert_stages: 1, mul_stages: 1, add_stages: 1, ..ScalingUnit::default() }
}

fn faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("a scale without a value counts", Fault::net("no_value", "sums_special_i")),
        ("factors are of the beat before", Fault::net("g_columns[0].factor_2_q", "right << 32 | right >> 32")),
        ("a clear keeps what is inside", Fault::net("clear_i", "1'b0").into("scale_valid_10_q")),
        ("a beat enters without a place", Fault::net("scale_room", "!clear_i")),
        ("NaN is another beat's", Fault::net("no_value_9_q", "right >> 1")),
        ("error is late", Fault::net("marks_10_q", "right >> 2")),
        ("an outlier without a value counts", Fault::net("no_value", "&sums_scale_i[14:10]")),
        ("beats come together by chance", Fault::net("factors_ready_o", "scale_room")),
    ]
}
