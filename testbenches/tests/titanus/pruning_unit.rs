//! The pruning unit in all configurations, and broken ones.

use hdl::blocks::titanus::PruningUnit;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::titanus::pruning_unit::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 500, true);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("the threshold itself is pruned", Fault::operator("g_k_prune[0].k_keep", "<=", "<")),
        ("values have the threshold of keys", Fault::net("threshold", "{2{right[7:0]}}").into("g_v_prune[0].v_keep")),
    ];
    must_be_noticed(&PruningUnit { lanes: 2, layers: 1 }, bench, 500, &faults);
}
