//! The unpacker in all configurations, and broken ones.

use hdl::blocks::titanus::KvUnpacker;
use testbenches::titanus::kv_unpacker::bench;

use crate::configurations;
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    configurations(bench, 300, false);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("streams run into each other", "over_now = freed & present_last_q", "over_now = 1'b0"),
        ("a width of nine passes", "window[3:0] > 4'd8", "window[3:0] > 4'd9"),
        ("a width of one passes", "window[3:0] < 4'd2", "window[3:0] < 4'd1"),
        ("padding is not looked at", "(|window | ", "("),
        ("a stream that ends early passes", "| !present_last_q |", "|"),
        ("a tile cut short passes", "!padding & (beyond_end", "1'b0 & (beyond_end"),
        ("late levels pass", "& token_seen_q", "& 1'b0"),
        ("a stream without token passes", "ends_badly = !has_token |", "ends_badly ="),
        ("a wrong checksum passes", "wrong_checksum = ", "wrong_checksum = 1'b0 & "),
        ("ranges that are not there count", "(first_records > 2'd0) & ", ""),
        ("a low range passes", "low_ranges[0] = ", "low_ranges[0] = 1'b0 & "),
    ];
    let block = KvUnpacker { lanes: 2, block_bytes: 3, checksum: true };
    must_be_found(&block, bench, 500, &faults);
}
