//! The quantization unit in all configurations, and broken ones.

use hdl::blocks::titanus::QuantizationUnit;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use testbenches::titanus::quantization_unit::bench;

use crate::configurations;

#[test]
fn all_configurations() {
    configurations(bench, 100, true);
}

#[test]
fn faults_are_found() {
    let faults = [
        ("old levels survive a start", Fault::net("monitor_tile_first_in", "first_load_q")),
        ("the end comes early", Fault::net("ends", "in_quant ? ended_q & !loading_q : tile_last_i")),
        ("overflow is forgotten", Fault::net("overflow_o", "result_valid_o & result_overflow_o")),
        ("overflow comes late", Fault::net("overflow_o", "overflow_q")),
        ("a start is taken while busy", Fault::net("start_ready_o", "in_idle")),
        ("levels of a token cut short mix", Fault::net("pad", "1'b0")),
        ("a start finds half a token", Fault::net("start", "1'b0").into("tile_q")),
        ("the monitor begins within a token", Fault::net("tile", "tile_q").module("channel_monitor")),
        ("a width of nine is written", Fault::net("known_bits", "(bits_i >= 4'd2) & (bits_i <= 4'd9)")),
        ("a width of one is written", Fault::net("known_bits", "(bits_i >= 4'd1) & (bits_i <= 4'd8)")),
        ("a refused width is written", Fault::net("bits_accepted", "1'b1").into("bits_table")),
        ("a refusal is not told", Fault::net("bits_refused_q", "1'b0")),
    ];
    must_be_noticed(
        &QuantizationUnit { lanes: 2, tiles: 2, levels: 2, buffer_tokens: 2, layers: 1 },
        bench,
        150,
        &faults,
    );
}
