//! The packer in all configurations, and broken ones.

use hdl::blocks::titanus::KvPacker;
use testbenches::titanus::kv_packer::bench;

use crate::configurations;
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    configurations(bench, 300, false);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("what does not fit a block is lost", "goes & complete ? spill", "goes & complete ? 24'd0"),
        ("the width of any tile counts", "if (state_q == StateHeader) bits_q <=", "bits_q <="),
        ("a checksum runs on into the next stream", "next_last ? 32'd0 : next_crc", "next_crc"),
        ("the tail counts a block that it does not have", "|used_q ? next_crc : crc_q", "next_crc"),
        ("a tail is shown too early", "& !chunk_valid_q & !flush_q", "& !flush_q"),
    ];
    must_be_found(&KvPacker { lanes: 2, block_bytes: 3, checksum: true }, bench, 300, &faults);
}
