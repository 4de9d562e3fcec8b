//! The extremes of the prefill in all configurations, and broken ones.

use hdl::blocks::titanus::MaxMinFinder;
use testbenches::titanus::max_min_finder::bench;

use crate::configurations;
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    configurations(bench, 800, false);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("pruned elements count", "update_i & index_i[i]", "update_i"),
        ("a sequence begins within a token", "first_i ? 1'b0 : tile_q", "tile_q"),
    ];
    must_be_found(&MaxMinFinder { lanes: 2, tiles: 2 }, bench, 200, &faults);
}
