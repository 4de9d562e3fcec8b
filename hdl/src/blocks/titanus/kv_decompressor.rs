//! KV decompressor: unpacker and dequantization unit, from bytes to int8 tiles.

use serde::{Deserialize, Serialize};

use super::kv_packer::check_format;
use super::{DequantizationUnit, DequantizationUnitPorts, KvUnpacker, KvUnpackerPorts, level_bits};
use crate::lang::{
    About, Block, CatalogBlock, Module, OldInStream, OldOutStream, OldParameter, Out, ParamError, bit, old_parameters,
    ports, sint, stream, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KvDecompressor {
    /// Channels of a tile.
    pub lanes: u32,
    /// Tiles of a token.
    pub tiles: u32,
    /// Levels that a channel may have.
    pub levels: u32,
    /// Bytes of a block.
    pub block_bytes: u32,
}

impl KvDecompressor {
    fn dequantization(&self) -> DequantizationUnit {
        DequantizationUnit { lanes: self.lanes, tiles: self.tiles, levels: self.levels, count_skips: false }
    }
}

ports! {
    /// Ports of [`KvDecompressor`].
    pub struct KvDecompressorPorts(p: &KvDecompressor) {
        /// Blocks; `last` marks the final one of a stream.
        block: OldInStream = stream().field("data", uint(8 * p.block_bytes)).field("last", bit()),
        /// Values, and the level of each channel.
        result: OldOutStream = stream()
            .array("x", sint(8).array(p.lanes))
            .array("index", bit().array(p.lanes))
            .array("level", uint(level_bits(p.levels)).array(p.lanes)),
        /// The blocks were damaged; see `kv_unpacker`.
        error_o: Out = bit(),
    }
}

old_parameters!(KvDecompressor);

impl Block for KvDecompressor {
    type Ports = KvDecompressorPorts;
    const ABOUT: About = About {
        name: "kv_decompressor",
        summary: "from packed bytes to int8 keys or values",
        contract: "kv_unpacker, then dequantization_unit: the tiles of a stream of blocks, in order.",
        reference: "Titanus, figure 4 and section 4.4",
    };

    fn module_name(&self) -> String {
        format!("kv_decompressor_l{}_t{}_n{}_k{}", self.lanes, self.tiles, self.levels, self.block_bytes)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        check_format(self.lanes, self.block_bytes)?;
        self.dequantization().old_check()
    }

    fn build(&self, m: &mut Module, io: &KvDecompressorPorts) {
        let unpacker: KvUnpackerPorts =
            m.instance("u_unpacker", KvUnpacker { lanes: self.lanes, block_bytes: self.block_bytes });
        m.connect_old_stream(&unpacker.block, &io.block);
        m.connect(io.error_o, unpacker.error_o);
        let unit: DequantizationUnitPorts = m.instance("u_dequantization", self.dequantization());
        m.connect_old_stream(&unit.tile, &unpacker.tile);
        m.connect_old_stream(&io.result, &unit.result);
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("unpacking".into(), 3), ("dequantization".into(), 2)]
    }
}

impl Default for KvDecompressor {
    fn default() -> Self {
        Self { lanes: 32, tiles: 2, levels: 16, block_bytes: 64 }
    }
}

impl CatalogBlock for KvDecompressor {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "lanes", allowed: "2 to 64", meaning: "channels of a tile" },
        OldParameter { name: "tiles", allowed: "1 to 4096", meaning: "tiles of a token" },
        OldParameter { name: "levels", allowed: "1 to 256", meaning: "levels that a channel may have" },
        OldParameter {
            name: "block_bytes",
            allowed: "max(2 + 10 lanes, lanes + 18 ceil(lanes / 2)) / 8, rounded up, to 256",
            meaning: "bytes of a block",
        },
    ];

    fn configurations() -> Vec<Self> {
        vec![Self { lanes: 5, tiles: 3, levels: 4, block_bytes: 8 }]
    }
}
