//! The channel monitor in all configurations, and broken ones.

use hdl::blocks::titanus::ChannelMonitor;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::titanus::channel_monitor::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 200, false);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("half a step is not tolerated", Fault::operator("g_lanes[0].out_of_tolerance", "<", "<=")),
        (
            "a level grows at one end only",
            Fault::net(
                "g_lanes[0].range_after",
                "g_lanes[0].open & !tile_load_i & !g_lanes[0].empty & g_lanes[0].below ? g_lanes[0].range : right",
            ),
        ),
        ("a sequence begins within a token", Fault::net("tile", "tile_q")),
    ];
    must_be_noticed(&ChannelMonitor { lanes: 2, tiles: 2, levels: 3, tag_width: 1 }, bench, 200, &faults);
}
