//! The reader of the cache at odd sizes, and broken ones.

use hdl::blocks::titanus::CacheReader;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::titanus::cache_reader::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 300, false);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("more tiles than are wanted", Fault::net("tokens_wanted", "1'b1")),
        ("too few tokens are well", Fault::net("right", "given")),
        ("a stream that is given up stays open", Fault::net("feeding_q", "1'b0").into("state_q")),
        ("the end of a stream that is given up is not waited for", Fault::net("owed_q", "1'b0").into("state_q")),
        ("a tail without bits follows", Fault::net("tailed", "1'b1")),
        ("tiles of a stream that is given up are shown", Fault::net("drops", "1'b0").into("tile_valid_o")),
    ];
    let block = CacheReader { lanes: 2, tiles: 2, levels: 3, block_bytes: 3 };
    must_be_noticed(&block, bench, 300, &faults);
}
