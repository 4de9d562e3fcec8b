//! The writer of the cache at odd sizes, and broken ones.

use hdl::blocks::titanus::CacheWriter;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::titanus::cache_writer::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 120, false);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("a clear keeps the sequence", Fault::net("clear_i", "1'b0")),
        ("blocks of a sequence that is given up are shown", Fault::net("drops", "1'b0").into("block_valid_o")),
        ("a start does not wait", Fault::net("dropped", "drops")),
        ("settled with a block to go", Fault::net("offered", "1'b0").into("settled_o")),
        ("numbers go on", Fault::net("started", "1'b0").into("k_blocks_q")),
        ("a block that waits is changed", Fault::net("held_q", "1'b0")),
    ];
    let block = CacheWriter { lanes: 2, tiles: 2, levels: 2, buffer_tokens: 2, block_bytes: 3 };
    must_be_noticed(&block, bench, 120, &faults);
}
