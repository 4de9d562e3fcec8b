//! The units of Titanus one by one: configurations, all that a quantizer lane can see, faults.

mod fault_support;

use fault_support::must_be_found;
use hdl::blocks::titanus::{
    ChannelMonitor, DequantizationUnit, KvPacker, KvUnpacker, MaxMinFinder, NonZeroQuantizer, PruningUnit,
    QuantizationUnit, ScaleZeroBuffer,
};
use hdl::lang::CatalogBlock;
use sim::Design;
use testbenches::options;
use testbenches::titanus::non_zero_quantizer::quantizer_bench;
use testbenches::titanus::{
    channel_monitor, dequantization_unit, kv_packer, max_min_finder, non_zero_quantizer, pruning_unit,
    quantization_unit, scale_zero_buffer,
};
use testbenches::{MakeBench, run};

/// All registered configurations, and the default where it has something to show: 32 lanes at the stated latency.
fn configurations<B: CatalogBlock>(make: MakeBench<B>, vectors: u64, default: bool) {
    let options = options(vectors);
    for block in default.then(B::default).into_iter().chain(B::configurations()) {
        let report = run(&block, make, &options).unwrap_or_else(|e| panic!("{e}"));
        assert!(report.compared >= vectors, "{report:?}");
    }
}

#[test]
fn pruning() {
    configurations::<PruningUnit>(pruning_unit::bench, 500, true);
    let faults = [
        ("the threshold itself is pruned", "threshold[7:0] <= k_magnitude", "threshold[7:0] < k_magnitude"),
        ("values have the threshold of keys", "threshold[15:8] <= v_magnitude", "threshold[7:0] <= v_magnitude"),
    ];
    must_be_found(&PruningUnit { lanes: 2, layers: 1 }, pruning_unit::bench, 500, &faults);
}

#[test]
fn extremes() {
    configurations::<MaxMinFinder>(max_min_finder::bench, 800, false);
    let faults = [
        ("pruned elements count", "update_i & index_i[i]", "update_i"),
        ("a sequence begins within a token", "first_i ? 1'b0 : tile_q", "tile_q"),
    ];
    must_be_found(&MaxMinFinder { lanes: 2, tiles: 2 }, max_min_finder::bench, 200, &faults);
}

#[test]
fn monitor() {
    configurations::<ChannelMonitor>(channel_monitor::bench, 200, false);
    let faults = [
        ("half a step is not tolerated", "{6'd0, allowed} < scaled", "{6'd0, allowed} <= scaled"),
        ("a level grows at one end only", "? range + excess : upward", "? range : upward"),
        ("a sequence begins within a token", "tile_first_i ? 1'b0 : tile_q", "tile_q"),
    ];
    let block = ChannelMonitor { lanes: 2, tiles: 2, levels: 3, tag_width: 1 };
    must_be_found(&block, channel_monitor::bench, 200, &faults);
}

#[test]
fn quantizer() {
    configurations::<NonZeroQuantizer>(non_zero_quantizer::bench, 500, false);
    let faults = [
        ("values are rounded down", "wire [8:0] bias = half - ", "wire [8:0] bias = 9'd0 - "),
        ("zero points round the wrong way", "{8'd0, down & !tile_range_i[9*i]}", "9'd0"),
    ];
    let block = NonZeroQuantizer { lanes: 2, tag_width: 1 };
    must_be_found(&block, non_zero_quantizer::bench, 2000, &faults);
}

/// Every distance, range and width, and every low end, range and width for the zero point: 2,359,292 cases.
#[test]
fn quantizer_for_all_inputs() {
    let block = NonZeroQuantizer { lanes: 16, tag_width: 1 };
    let design = Design::from(&hdl::lang::elaborate(&block).unwrap_or_else(|e| panic!("{e}")));
    let bench = quantizer_bench(&block, true).unwrap_or_else(|e| panic!("{e}"));
    let report = sim::run(&*bench, &design, &options(1000)).unwrap_or_else(|e| panic!("{e}"));
    assert!(report.compared * 16 >= 2_359_292, "{report:?}");
}

#[test]
fn levels() {
    configurations::<ScaleZeroBuffer>(scale_zero_buffer::bench, 1000, false);
    let faults = [("a word that is written is read late", "same_q ? passed_q : word", "word")];
    let block = ScaleZeroBuffer { lanes: 2, tiles: 1, levels: 2, width: 18 };
    must_be_found(&block, scale_zero_buffer::bench, 1000, &faults);
}

#[test]
fn quantization() {
    configurations::<QuantizationUnit>(quantization_unit::bench, 100, true);
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
    must_be_found(&block, quantization_unit::bench, 150, &faults);
}

#[test]
fn packing() {
    configurations::<KvPacker>(kv_packer::bench, 300, false);
    let faults = [
        ("what does not fit a block is lost", "goes & complete ? spill", "goes & complete ? 24'd0"),
        ("the width of any tile counts", "if (state_q == StateHeader) bits_q <=", "bits_q <="),
        ("a checksum runs on into the next stream", "next_last ? 32'd0 : next_crc", "next_crc"),
        ("the tail counts a block that it does not have", "|used_q ? next_crc : crc_q", "next_crc"),
        ("a tail is shown too early", "& !chunk_valid_q & !flush_q", "& !flush_q"),
    ];
    must_be_found(&KvPacker { lanes: 2, block_bytes: 3, checksum: true }, kv_packer::bench, 300, &faults);
}

#[test]
fn unpacking() {
    configurations::<KvUnpacker>(kv_packer::unpacker_bench, 300, false);
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
    must_be_found(&block, kv_packer::unpacker_bench, 500, &faults);
}

#[test]
fn dequantization() {
    configurations::<DequantizationUnit>(dequantization_unit::bench, 100, true);
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
    must_be_found(&block, dequantization_unit::bench, 200, &faults);
}
