//! The extremes of the prefill in all configurations, and broken ones.

use hdl::blocks::titanus::MaxMinFinder;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::titanus::max_min_finder::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 800, false);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("pruned elements count", Fault::net("g_lanes[0].takes", "update_i")),
        ("a sequence begins within a token", Fault::net("tile", "tile_q")),
    ];
    must_be_noticed(&MaxMinFinder { lanes: 2, tiles: 2 }, bench, 200, &faults);
}
