//! The compressor at odd sizes, and broken ones.

use hdl::blocks::titanus::KvCompressor;
use hdl::lang::CatalogBlock;
use testbenches::options;
use testbenches::titanus::kv_compressor::bench;

use crate::fault_support::must_be_found;

#[test]
fn odd_sizes() {
    for block in KvCompressor::configurations() {
        testbenches::run(&block, bench, &options(80)).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn faults_are_found() {
    let faults = [
        ("a start does not wait for the keys", "k_quantization_start_ready & !k_open_q", "k_quantization_start_ready"),
        (
            "a start does not wait for the values",
            "v_quantization_start_ready & !v_open_q",
            "v_quantization_start_ready",
        ),
        (
            "refused thresholds are written",
            "config_write = config_write_i & config_accepted",
            "config_write = config_write_i",
        ),
        ("a tail is shown too early", "k_packer_tail_valid & (k_inside_q == 3'd0)", "k_packer_tail_valid"),
        ("a width of nine is taken", "(bits_v_i <= 4'd8)", "(bits_v_i <= 4'd9)"),
    ];
    let sizes = KvCompressor { lanes: 2, tiles: 1, levels: 2, buffer_tokens: 2, layers: 2, ..KvCompressor::default() };
    must_be_found(&KvCompressor { block_bytes: 3, ..sizes }, bench, 80, &faults);
}
