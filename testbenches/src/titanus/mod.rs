//! Testbenches of Titanus: key-value caches pruned and quantized on the fly.

pub mod cache_reader;
pub mod cache_writer;
pub mod channel_monitor;
pub mod computing_engine;
pub mod context_memory;
pub mod damage;
pub mod dcim_linear;
pub mod dcim_macro;
pub mod dequantization_unit;
pub mod kv_compressor;
pub mod kv_decompressor;
pub mod kv_packer;
pub mod kv_unpacker;
pub mod max_min_finder;
pub mod non_zero_quantizer;
pub mod pruning_unit;
pub mod quantization_unit;
pub mod scale_zero_buffer;
pub mod sequences;
pub mod tiles;
