//! The quantization unit in all configurations, and broken ones.

use hdl::blocks::titanus::QuantizationUnit;
use testbenches::titanus::quantization_unit::bench;

use crate::configurations;
use crate::fault_support::must_be_found;

#[test]
fn all_configurations() {
    configurations(bench, 100, true);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("old levels survive a start", "in_decode & first_decode_q", "1'b0"),
        ("the end comes early", "ended_q & !loading_q & !more_buffered", "ended_q & !loading_q"),
        ("overflow is forgotten", "overflow_o = overflow_q |", "overflow_o ="),
        ("overflow comes late", "overflow_o = overflow_q | ", "overflow_o = overflow_q; // "),
        ("a start is taken while busy", "in_idle & !busy_q", "in_idle"),
        ("levels of a token cut short mix", "in_prefill & padding_q;", "1'b0;"),
        ("a start finds half a token", "start ? 1'b0 : tile_next", "tile_next"),
        ("the monitor begins within a token", "tile_first_i ? 1'b0 : tile_q", "tile_q"),
        ("a width of nine is written", "bits_i <= 4'd8", "bits_i <= 4'd9"),
        ("a width of one is written", "bits_i >= 4'd2", "bits_i >= 4'd1"),
        ("a refused width is written", "bits_write_i & bits_accepted", "bits_write_i"),
        ("a refusal is not told", "<= !bits_accepted", "<= 1'b0"),
    ];
    let block = QuantizationUnit { lanes: 2, tiles: 2, levels: 2, buffer_tokens: 2, layers: 1 };
    must_be_found(&block, bench, 150, &faults);
}
