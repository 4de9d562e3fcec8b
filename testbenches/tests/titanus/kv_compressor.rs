//! The compressor at odd sizes, and broken ones.

use hdl::blocks::titanus::KvCompressor;
use hdl::lang::CatalogBlock;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::titanus::kv_compressor::bench;

#[test]
fn odd_sizes() {
    for block in seeds::some(&KvCompressor::configurations(), 1) {
        sim::kit::run(block, bench, &options(80)).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn faults_are_found() {
    let sizes = KvCompressor { lanes: 2, tiles: 1, levels: 2, buffer_tokens: 2, layers: 2, ..KvCompressor::default() };
    let faults = [
        (
            "a start does not wait for the keys",
            Fault::net("both_start", "k_quantization_start_ready & v_quantization_start_ready & !v_open_q"),
        ),
        (
            "a start does not wait for the values",
            Fault::net("both_start", "k_quantization_start_ready & !k_open_q & v_quantization_start_ready"),
        ),
        ("refused thresholds are written", Fault::net("config_write", "config_write_i")),
        ("a tail is shown too early", Fault::net("k_tail_valid", "k_packer_tail_valid")),
        ("a width of nine is taken", Fault::net("config_accepted", "right | (bits_v_i == 4'd9)")),
    ];
    must_be_noticed(&KvCompressor { block_bytes: 3, ..sizes }, bench, 80, &faults);
}
