//! The computing engine in all configurations, broken ones, and real keys and queries.

use hdl::blocks::titanus::ComputingEngine;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use test_tag::tag;
use testbenches::titanus::computing_engine::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 200, false);
}

#[tag(full)]
#[test]
#[ignore = "a model of 256 multipliers"]
fn default_parameters() {
    sim::kit::run(&ComputingEngine::default(), bench, &options(500)).unwrap();
}

#[test]
fn faults_are_found() {
    let faults = [
        ("elements beyond the length count", Fault::net("g_vpu[0].g_lane[0].used", "1'b1")),
        ("unsigned elements have signs", Fault::net("g_vpu[0].g_lane[1].sign", "input_a_i[11]")),
        (
            "what was skipped is multiplied",
            Fault::net("g_vpu[1].g_lane[0].counts_q", "1'b1").into("g_vpu[1].unit_sum_q"),
        ),
        ("an MU without elements adds what it had", Fault::net("g_vpu[1].active_q", "1'b1")),
        ("sums begin from the sums before", Fault::net("begins_q", "1'b0").into("sum_q")),
        ("skipped zeros add up over vectors", Fault::net("begins_q", "1'b0").into("skipped_q")),
        ("a result does not wait", Fault::net("waits", "1'b0")),
        ("a clear leaves sums", Fault::net("clear_i", "1'b0").into("begins_q")),
        ("a clear leaves a beat", Fault::net("clear_i", "1'b0").into("sums_q")),
        ("a clear takes a beat", Fault::net("input_ready_o", "moves")),
        ("too many beats are forgotten", Fault::net("over", "1'b0")),
    ];
    let block = ComputingEngine { vpus: 2, units: 1, lanes: 2, operand_width: 4, max_beats: 3 };
    must_be_noticed(&block, bench, 400, &faults);
}
