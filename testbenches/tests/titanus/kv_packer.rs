//! The packer in all configurations, and broken ones.

use hdl::blocks::titanus::KvPacker;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::titanus::kv_packer::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 300, false);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("what does not fit a block is lost", Fault::net("spill", "24'd0")),
        ("the width of any tile counts", Fault::net("state_q", "StateHeader").into("bits_q")),
        ("a checksum runs on into the next stream", Fault::net("next_last", "1'b0").into("crc_q")),
        ("the tail counts a block that it does not have", Fault::net("tail_crc_o", "next_crc")),
        ("a tail is shown too early", Fault::net("tail_valid_o", "(state_q == StateToken) & !flush_q")),
    ];
    must_be_noticed(&KvPacker { lanes: 2, block_bytes: 3, checksum: true }, bench, 300, &faults);
}
