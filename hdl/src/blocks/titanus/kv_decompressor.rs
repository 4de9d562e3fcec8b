//! KV decompressor: unpacker and dequantization unit, from bytes to int8 tiles.

use super::format::demand_chunk_fits;
use super::{ByteBlock, DequantizationUnit, DequantizationUnitPorts, KvUnpacker, KvUnpackerPorts, RebuiltTile};
use crate::lang::{About, Block, CatalogBlock, InStream, Module, OutStream, Timing, parameters, ports};

parameters! {
    /// Elaboration parameters.
    pub struct KvDecompressor {
        /// Channels of a tile.
        lanes: u32 = 32, in 2..=64, tag "l";
        /// Tiles of a token.
        tiles: u32 = 2, in 1..=4096, tag "t";
        /// Levels that a channel may have.
        levels: u32 = 16, in 1..=256, tag "n";
        /// Bytes of a block.
        block_bytes: u32 = 64, in 3..=256,
            note "8 block_bytes at least 2 + 10 lanes and lanes + 18 ceil(lanes / 2)", tag "k";
        /// Checks the CRC-32 that comes with the last block.
        checksum: bool = false, tag "crc";
    }
    rules = |p, rules| demand_chunk_fits(p.lanes, p.block_bytes, rules);
}

ports! {
    /// Ports of [`KvDecompressor`].
    pub struct KvDecompressorPorts(p: &KvDecompressor) {
        /// Blocks of streams, one stream after the other.
        block: InStream<ByteBlock> = (p.block_bytes, p.checksum),
        /// Values, and the level of each channel.
        result: OutStream<RebuiltTile> = (p.lanes, p.levels),
    }
}

impl Block for KvDecompressor {
    type Ports = KvDecompressorPorts;
    const ABOUT: About = About {
        name: "kv_decompressor",
        summary: "from packed bytes to int8 keys or values",
        contract: "kv_unpacker, then dequantization_unit: the tiles of a stream of blocks, in order. Each stream,\n\
            whatever its bytes, gives one beat with last. It has error if the stream is damaged in any of the ways\n\
            that docs/blocks/titanus-format.md lists. Without checksum, damage that keeps a stream well-formed\n\
            passes. The block after block_last is in step again. Reset drops all blocks inside: the next block\n\
            begins a new stream.",
        reference: "Titanus, figure 4 and section 4.4",
    };

    fn build(&self, m: &mut Module, io: &KvDecompressorPorts) {
        let Self { lanes, block_bytes, checksum, .. } = *self;
        let unpacker: KvUnpackerPorts = m.instance("u_unpacker", KvUnpacker { lanes, block_bytes, checksum });
        m.connect_stream(&unpacker.block, &io.block);
        let unit: DequantizationUnitPorts = m.instance("u_dequantization", self.dequantization());
        m.connect_stream(&unit.tile, &unpacker.tile);
        m.connect_stream(&io.result, &unit.result);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(5).phase(
            "opening_tile",
            3,
            "from a tile that opens more than half of its lanes to the next tile",
        )
    }
}

impl KvDecompressor {
    fn dequantization(&self) -> DequantizationUnit {
        let Self { lanes, tiles, levels, .. } = *self;
        DequantizationUnit { lanes, tiles, levels, count_skips: false }
    }
}

impl CatalogBlock for KvDecompressor {
    // With two tiles a word is never read while it is written.
    const SAMPLE: &'static [(&'static str, u32)] = &[("tiles", 1), ("levels", 2)];

    fn configurations() -> Vec<Self> {
        vec![
            Self { lanes: 5, tiles: 3, levels: 4, block_bytes: 8, checksum: false },
            Self { lanes: 2, tiles: 2, levels: 3, block_bytes: 3, checksum: true },
        ]
    }
}
