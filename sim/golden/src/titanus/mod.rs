//! Golden models of Titanus: key-value caches pruned and quantized on the fly.
//!
//! - [`level`]: one quantization level of one channel, the exact rational rules;
//! - [`cpq`]: cascade pruning-quantization of a whole sequence with hierarchical quantization extension, and its decoding;
//! - [`mod@format`]: the bytes that move off chip; [`kv_unpacker`] and [`dequantization_unit`]: tokens restored from
//!   them, damaged or not;
//! - [`cache_writer`], [`cache_reader`]: streams that stay open: whole blocks, the tail, a read of both;
//!   [`context_memory`]: tokens as plain int8;
//! - [`baseline`]: the cost of other groupings: re-quantization per channel, which HQE avoids, and group-wise
//!   quantization;
//! - [`dcim_macro`], [`dcim_linear`]: products with stationary weights; [`computing_engine`]: dot products that skip
//!   zeros;
//! - [`traffic`]: bits moved, element by element.

pub mod baseline;
pub mod cache_reader;
pub mod cache_writer;
pub mod channel_monitor;
pub mod computing_engine;
pub mod context_memory;
pub mod cpq;
pub mod dcim_linear;
pub mod dcim_macro;
pub mod dequantization_unit;
pub mod format;
pub mod kv_compressor;
pub mod kv_decompressor;
pub mod kv_packer;
pub mod kv_unpacker;
pub mod level;
pub mod max_min_finder;
pub mod non_zero_quantizer;
pub mod pruning_unit;
pub mod quantization_unit;
pub mod scale_zero_buffer;
pub mod traffic;
