//! The channel monitor in all configurations, and broken ones.

use hdl::blocks::titanus::ChannelMonitor;
use testbenches::titanus::channel_monitor::bench;

use crate::configurations;
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    configurations(bench, 200, false);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("half a step is not tolerated", "{6'd0, allowed} < scaled", "{6'd0, allowed} <= scaled"),
        ("a level grows at one end only", "? range + excess : upward", "? range : upward"),
        ("a sequence begins within a token", "tile_first_i ? 1'b0 : tile_q", "tile_q"),
    ];
    let block = ChannelMonitor { lanes: 2, tiles: 2, levels: 3, tag_width: 1 };
    must_be_found(&block, bench, 200, &faults);
}
