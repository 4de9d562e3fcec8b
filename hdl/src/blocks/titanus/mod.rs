//! Blocks of Titanus: key-value caches pruned and quantized on the fly.

use crate::lang::{Module, OldStreamType, Signal, Type, bit, bits_for, index_width, sint, stream, uint};

pub mod channel_monitor;
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
pub mod tile_state;
pub mod tiles;

pub use channel_monitor::{ChannelMonitor, ChannelMonitorPorts};
pub use dequantization_unit::{DequantizationUnit, DequantizationUnitPorts};
pub use kv_compressor::{KvCompressor, KvCompressorPorts};
pub use kv_decompressor::{KvDecompressor, KvDecompressorPorts};
pub use kv_packer::{KvPacker, KvPackerPorts};
pub use kv_unpacker::{KvUnpacker, KvUnpackerPorts};
pub use max_min_finder::{MaxMinFinder, MaxMinFinderPorts};
pub use non_zero_quantizer::{NonZeroQuantizer, NonZeroQuantizerPorts};
pub use pruning_unit::{PruningUnit, PruningUnitPorts};
pub use quantization_unit::{QuantizationUnit, QuantizationUnitPorts};
pub use scale_zero_buffer::{ScaleZeroBuffer, ScaleZeroBufferPorts};
pub use tiles::{PrunedTile, QuantizedTile};

/// Width of a level's range: up to 510, when a level whose top lies beyond eight bits grows downwards.
pub const RANGE_BITS: u32 = 9;

/// Width of a zero point, signed.
pub const ZERO_BITS: u32 = 9;

/// Width of what is stored of a level: range, then zero point.
pub const RECORD_BITS: u32 = RANGE_BITS + ZERO_BITS;

/// Type of a run-time width of quantized values, 2 to 8.
pub(crate) const fn bits_type() -> Type {
    uint(4)
}

/// L = 2^bits - 1, the number of steps.
#[track_caller]
pub(crate) fn steps_of(m: &mut Module, name: &str, bits: Signal) -> Signal {
    let choice = m.wire(&format!("{name}_choice"), bits.wrapping_sub(2).truncate(3));
    let values: Vec<_> = (2..=8).map(|b| uint(8).lit((1 << b) - 1)).collect();
    m.lookup(name, choice, &values)
}

/// Width of a count of up to `lanes`.
pub(crate) fn index_bits(lanes: u32) -> u32 {
    bits_for(u64::from(lanes))
}

/// Width of a level's number.
pub(crate) fn level_bits(levels: u32) -> u32 {
    index_width(u64::from(levels))
}

/// A quantized tile on its way to memory: values in order from lane 0 on, all else in its lane.
pub(crate) fn quantized_tile(lanes: u32) -> OldStreamType {
    stream()
        .field("bits", bits_type())
        .field("initial", bit())
        .array("index", bit().array(lanes))
        .array("label", bit().array(lanes))
        .array("values", uint(8).array(lanes))
        .array("open", bit().array(lanes))
        .array("range", uint(RANGE_BITS).array(lanes))
        .array("zero", sint(ZERO_BITS).array(lanes))
        .field("last", bit())
}

/// A quantized tile that comes back from memory.
pub(crate) fn stored_tile(lanes: u32) -> OldStreamType {
    stream()
        .field("first", bit())
        .field("bits", bits_type())
        .field("initial", bit())
        .array("index", bit().array(lanes))
        .array("label", bit().array(lanes))
        .array("values", uint(8).array(lanes))
        .array("open", bit().array(lanes))
        .array("range", uint(RANGE_BITS).array(lanes))
        .array("zero", sint(ZERO_BITS).array(lanes))
}

/// Widest chunk of a tile off chip: kind, index, labels and values of eight bits.
pub(crate) const fn chunk_bits(lanes: u32) -> u32 {
    let levels = lanes + first_records(lanes) * RECORD_BITS;
    let token = 2 + 10 * lanes;
    if levels > token { levels } else { token }
}

/// Records that go along with the mask of opened levels; the others follow in a chunk of their own.
pub(crate) const fn first_records(lanes: u32) -> u32 {
    lanes.div_ceil(2)
}
