//! The buffer of levels in all configurations, and broken ones.

use hdl::blocks::titanus::ScaleZeroBuffer;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::titanus::scale_zero_buffer::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 1000, false);
}

#[test]
fn faults_are_found() {
    let faults = [("a word that is written is read late", Fault::net("g_banks[0].same_q", "1'b0"))];
    must_be_noticed(&ScaleZeroBuffer { lanes: 2, tiles: 1, levels: 2, width: 18 }, bench, 1000, &faults);
}
