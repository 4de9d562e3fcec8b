//! The decompressor at odd sizes.

use hdl::blocks::titanus::KvDecompressor;
use hdl::lang::CatalogBlock;
use testbenches::options;
use testbenches::titanus::kv_decompressor::bench;

#[test]
fn odd_sizes() {
    for block in seeds::some(&KvDecompressor::configurations(), 1) {
        testbenches::run(block, bench, &options(200)).unwrap_or_else(|e| panic!("{e}"));
    }
}
