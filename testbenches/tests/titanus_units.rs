//! The units of Titanus one by one: configurations, all that a quantizer lane can see, faults.

use hdl::blocks::titanus::{
    ChannelMonitor, DequantizationUnit, KvPacker, KvUnpacker, MaxMinFinder, NonZeroQuantizer, PruningUnit,
    QuantizationUnit, ScaleZeroBuffer,
};
use hdl::lang::CatalogBlock;
use sim::Design;
use sim::fault::Fault;
use testbenches::faults::must_be_noticed;
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
        ("the threshold itself is pruned", Fault::operator("g_k_prune[0].k_keep", "<=", "<")),
        ("values have the threshold of keys", Fault::net("threshold", "{2{right[7:0]}}").into("g_v_prune[0].v_keep")),
    ];
    must_be_noticed(&PruningUnit { lanes: 2, layers: 1 }, pruning_unit::bench, 500, &faults);
}

#[test]
fn extremes() {
    configurations::<MaxMinFinder>(max_min_finder::bench, 800, false);
    let faults = [("pruned elements count", Fault::net("g_lanes[0].takes", "update_i"))];
    must_be_noticed(&MaxMinFinder { lanes: 2, tiles: 1 }, max_min_finder::bench, 100, &faults);
}

#[test]
fn monitor() {
    configurations::<ChannelMonitor>(channel_monitor::bench, 200, false);
    let faults = [
        ("half a step is not tolerated", Fault::net("g_lanes[0].allowed", "right - 9'd1")),
        ("a level grows at one end only", Fault::net("g_lanes[0].excess", "9'd0").into("g_lanes[0].range_after")),
    ];
    let block = ChannelMonitor { lanes: 2, tiles: 1, levels: 3, tag_width: 1 };
    must_be_noticed(&block, channel_monitor::bench, 200, &faults);
}

#[test]
fn quantizer() {
    configurations::<NonZeroQuantizer>(non_zero_quantizer::bench, 500, false);
    let faults = [
        ("values are rounded down", Fault::net("g_lanes[0].half", "9'd0")),
        ("zero points round the wrong way", Fault::net("g_lanes[0].down", "1'b0").into("g_lanes[0].bias")),
    ];
    let block = NonZeroQuantizer { lanes: 2, tag_width: 1 };
    must_be_noticed(&block, non_zero_quantizer::bench, 2000, &faults);
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
    let faults = [("a word that is written is read late", Fault::net("g_banks[0].same_q", "1'b0"))];
    let block = ScaleZeroBuffer { lanes: 2, tiles: 1, levels: 2, width: 18 };
    must_be_noticed(&block, scale_zero_buffer::bench, 1000, &faults);
}

#[test]
fn quantization() {
    configurations::<QuantizationUnit>(quantization_unit::bench, 100, true);
    let faults = [
        ("old levels survive a start", Fault::net("monitor_tile_first_in", "1'b0")),
        ("the end comes early", Fault::net("more_buffered", "1'b0").into("ends")),
        ("overflow is forgotten", Fault::net("overflow_q", "1'b0").into("overflow_q")),
    ];
    let block = QuantizationUnit { lanes: 2, tiles: 1, levels: 2, buffer_tokens: 2, layers: 1 };
    must_be_noticed(&block, quantization_unit::bench, 150, &faults);
}

#[test]
fn packing() {
    configurations::<KvPacker>(kv_packer::bench, 300, false);
    let faults = [("what does not fit a block is lost", Fault::net("spill", "24'd0"))];
    must_be_noticed(&KvPacker { lanes: 2, block_bytes: 3 }, kv_packer::bench, 300, &faults);
}

#[test]
fn unpacking() {
    configurations::<KvUnpacker>(kv_packer::unpacker_bench, 300, false);
    let faults = [
        ("the end overwrites a waiting tile", Fault::net("kept", "cut")),
        ("streams run into each other", Fault::net("over_now", "1'b0")),
    ];
    must_be_noticed(&KvUnpacker { lanes: 2, block_bytes: 3 }, kv_packer::unpacker_bench, 500, &faults);
}

#[test]
fn dequantization() {
    configurations::<DequantizationUnit>(dequantization_unit::bench, 100, true);
    let faults = [
        ("values are rounded down", Fault::net("g_lanes[0].rounded", "{1'b0, g_lanes[0].product_q}")),
        (
            "a new level's top lacks its range",
            Fault::net("g_lanes[0].top", "{g_lanes[0].with_sign[9], g_lanes[0].with_sign}"),
        ),
    ];
    let block = DequantizationUnit { lanes: 2, tiles: 1, levels: 2, count_skips: false };
    must_be_noticed(&block, dequantization_unit::bench, 200, &faults);
}
