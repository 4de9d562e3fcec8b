//! The unpacker in all configurations, and broken ones.

use hdl::blocks::titanus::KvUnpacker;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::titanus::kv_unpacker::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 300, false);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("streams run into each other", Fault::net("over_now", "1'b0")),
        ("a width of nine passes", Fault::net("bad_header", "right & (window[15:0] != {12'd33, 4'd9})")),
        ("a width of one passes", Fault::net("bad_header", "right & (window[15:0] != {12'd33, 4'd1})")),
        (
            "padding is not looked at",
            Fault::net("padding_bad", "padding & (!present_last_q | (reaches_end & ends_badly))"),
        ),
        (
            "a stream that ends early passes",
            Fault::net("padding_bad", "padding & (|window | (reaches_end & ends_badly))"),
        ),
        ("a tile cut short passes", Fault::net("cut_short", "1'b0")),
        ("late levels pass", Fault::net("late_levels", "1'b0")),
        ("a stream without token passes", Fault::net("ends_badly", "present_wrong_q")),
        ("a wrong checksum passes", Fault::net("wrong_checksum", "1'b0")),
        ("ranges that are not there count", Fault::net("low_ranges[0]", "window[10:2] < {1'b0, steps}")),
        ("a low range passes", Fault::net("low_ranges[0]", "1'b0")),
    ];
    must_be_noticed(&KvUnpacker { lanes: 2, block_bytes: 3, checksum: true }, bench, 500, &faults);
}
