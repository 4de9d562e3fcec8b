//! Blocks of Titanus: key-value caches pruned and quantized on the fly.

use crate::blocks::common::{Popcount, PopcountPorts};
use crate::lang::{Module, Signal, Type, bits_for, index_width, uint};

pub mod cache_reader;
pub mod cache_writer;
pub mod channel_monitor;
pub mod computing_engine;
pub mod context_memory;
pub mod dcim_cells;
pub mod dcim_linear;
pub mod dcim_macro;
pub mod dequantization_unit;
mod format;
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

pub use cache_reader::{CacheRead, CacheReadEnd, CacheReader, CacheReaderPorts, CachedTile};
pub use cache_writer::{CacheBlock, CacheStart, CacheTile, CacheWriter, CacheWriterPorts};
pub use channel_monitor::{ChannelMonitor, ChannelMonitorPorts};
pub use computing_engine::{ComputingEngine, ComputingEnginePorts, DotBeat, DotResult};
pub use context_memory::{ContextMemory, ContextMemoryPorts};
pub use dcim_cells::{DcimCells, DcimCellsPorts, DcimImplementation};
pub use dcim_linear::{DcimLinear, DcimLinearPorts, LinearBeat, LinearSums, Rectangle, StoredRow};
pub use dcim_macro::{DcimMacro, DcimMacroPorts, DcimResult, DcimVector, WeightRow as DcimRow};
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
pub use tiles::{ByteBlock, OpenTail, PrunedTile, QuantizedTile, RebuiltTile, StoredTile};

/// Width of a level's range: up to 510, when a level whose top lies beyond eight bits grows downwards.
pub const RANGE_BITS: u32 = 9;

/// Width of a zero point, signed.
pub const ZERO_BITS: u32 = 9;

/// Width of the record of a level: range, then zero point.
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

/// Number of ones in `word`, by an instance called after `name`.
#[track_caller]
pub(crate) fn ones_in(m: &mut Module, name: &str, word: Signal) -> Signal {
    let counter: PopcountPorts = m.instance(&format!("u_{name}"), Popcount { width: word.width() });
    m.connect(counter.data_i, word);
    m.wire(name, counter.count_o)
}

/// Width of a count of up to `lanes`.
pub(crate) fn index_bits(lanes: u32) -> u32 {
    bits_for(u64::from(lanes))
}

/// Width of a level's number.
pub(crate) fn level_bits(levels: u32) -> u32 {
    index_width(u64::from(levels))
}
