//! The dequantization unit in all configurations, and broken ones.

use hdl::blocks::titanus::DequantizationUnit;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::titanus::dequantization_unit::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 100, true);
}

#[test]
fn faults_are_found() {
    // The condition of the design, without the check of the end after levels.
    let order = "tile_error_i | (tile_bits_i < 4'd2) | (tile_bits_i > 4'd8)
        | (tile_initial_i & !begins & !(after_initial & fresh)) | (!tile_initial_i & after_initial & tile)
        | (tile_last_i & !tile_last)";
    let faults = [
        ("values are rounded down", Fault::net("g_lanes[0].rounded", "{1'b0, g_lanes[0].product_q}")),
        (
            "a new level's top lacks its range",
            Fault::net("g_lanes[0].top", "{g_lanes[0].with_sign[9], g_lanes[0].with_sign}"),
        ),
        ("half a token is kept", Fault::net("tile", "tile_q")),
        ("half a token passes", Fault::net("tile_last", "1'b1").into("wrong_order")),
        ("levels without a token pass", Fault::net("wrong_order", order)),
        ("a level too many passes", Fault::net("too_many_levels[0]", "1'b0")),
        ("an element without level passes", Fault::net("no_level[0]", "1'b0")),
        ("an element within its level passes", Fault::net("within_level[0]", "1'b0")),
        ("a level beyond all values passes", Fault::net("beyond[0]", "1'b0")),
        ("errors are forgotten", Fault::net("failed", "1'b0").into("failed_q")),
        ("errors are kept", Fault::net("wrong_order", "right | failed").into("failed_q")),
    ];
    must_be_noticed(&DequantizationUnit { lanes: 2, tiles: 2, levels: 2, count_skips: false }, bench, 200, &faults);
}
