//! The dequantization unit in all configurations, and broken ones.

use hdl::blocks::titanus::DequantizationUnit;
use testbenches::titanus::dequantization_unit::bench;

use crate::configurations;
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    configurations(bench, 100, true);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("values are rounded down", "product_q + {11'd0, steps_q[7:1]}", "product_q + 19'd0"),
        ("a new level's top lacks its range", "with_sign + $signed({1'b0, range_q})", "with_sign + 11'sd0"),
        ("half a token is kept", "tile = begins ? 1'b0 : tile_q", "tile = tile_q"),
        ("half a token passes", "(tile_initial_i | !tile_last)", "tile_initial_i"),
        ("levels without a token pass", "(tile_initial_i | !tile_last)", "(!tile_last)"),
        ("a level too many passes", "too_many_levels[i] = ", "too_many_levels[i] = 1'b0 & "),
        ("an element without level passes", "no_level[i] = ", "no_level[i] = 1'b0 & "),
        ("an element within its level passes", "within_level[i] = ", "within_level[i] = 1'b0 & "),
        ("a level beyond all values passes", "beyond[i] = ", "beyond[i] = 1'b0 & "),
        ("errors are forgotten", "(failed & !begins)", "1'b0"),
        ("errors are kept", "(failed & !begins)", "failed"),
    ];
    let block = DequantizationUnit { lanes: 2, tiles: 2, levels: 2, count_skips: false };
    must_be_found(&block, bench, 200, &faults);
}
