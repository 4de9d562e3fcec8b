//! The decompressor at odd sizes.

use hdl::blocks::titanus::KvDecompressor;
use hdl::lang::CatalogBlock;
use sim::kit::options;
use testbenches::titanus::kv_decompressor::bench;

#[test]
fn odd_sizes() {
    for block in seeds::some(&KvDecompressor::configurations(), 1) {
        sim::kit::run(block, bench, &options(200)).unwrap_or_else(|e| panic!("{e}"));
    }
}
