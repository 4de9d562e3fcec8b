//! The pruning unit in all configurations, and broken ones.

use hdl::blocks::titanus::PruningUnit;
use testbenches::titanus::pruning_unit::bench;

use crate::configurations;
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    configurations(bench, 500, true);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("the threshold itself is pruned", "threshold[7:0] <= k_magnitude", "threshold[7:0] < k_magnitude"),
        ("values have the threshold of keys", "threshold[15:8] <= v_magnitude", "threshold[7:0] <= v_magnitude"),
    ];
    must_be_found(&PruningUnit { lanes: 2, layers: 1 }, bench, 500, &faults);
}
