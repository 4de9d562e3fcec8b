//! The units of Titanus, a file each, and the way through all of them.

mod cache_reader;
mod cache_writer;
mod channel_monitor;
mod computing_engine;
mod context_memory;
mod dcim_linear;
mod dcim_macro;
mod dequantization_unit;
mod kv_compressor;
mod kv_decompressor;
mod kv_packer;
mod kv_unpacker;
mod max_min_finder;
mod non_zero_quantizer;
mod pipeline;
mod pruning_unit;
mod quantization_unit;
mod scale_zero_buffer;

use hdl::lang::CatalogBlock;
use sim::kit::{MakeBench, options, run};

/// Registered configurations, in a full run all of them, and the default where it has something to show: 32 lanes at the stated latency.
fn configurations<B: CatalogBlock>(make: MakeBench<B>, vectors: u64, default: bool) {
    let options = options(vectors);
    let all = B::configurations();
    for block in default.then(B::default).iter().chain(seeds::some(&all, 2)) {
        let report = run(block, make, &options).unwrap_or_else(|e| panic!("{e}"));
        assert!(report.compared >= vectors, "{report:?}");
    }
}
