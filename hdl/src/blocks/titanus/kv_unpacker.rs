//! KV unpacker: blocks from off-chip memory become quantized tiles again.
//!
//! Two blocks are held; a window of one chunk slides over them. The length of a chunk follows from the ones of its
//! index, of its labels and of its mask of opened levels. So one chunk a cycle is cut off. The first stage keeps chunks
//! as they came, until a tile is complete and it is known whether another beat follows it. The second stage brings the
//! tile's parts back to their lanes.
//!
//! The bytes are not trusted. The first damage that is met ends the stream for the consumer, with a beat of its own.
//! The rest is thrown away, up to the stream's last block.

mod chunk;
mod control;
mod hardware;
mod properties;
mod tile;
mod window;

use super::format::demand_chunk_fits;
use super::{ByteBlock, StoredTile};
use crate::lang::{CatalogBlock, InStream, OutStream, Proof, parameters, ports};

parameters! {
    /// Elaboration parameters.
    pub struct KvUnpacker {
        /// Channels of a tile.
        lanes: u32 = 32, in 2..=64, tag "l";
        /// Bytes of a block.
        block_bytes: u32 = 64, in 3..=256,
            note "8 block_bytes at least 2 + 10 lanes and lanes + 18 ceil(lanes / 2)", tag "b";
        /// Checks the CRC-32 that comes with the last block.
        checksum: bool = false, tag "crc";
    }
    rules = |p, rules| demand_chunk_fits(p.lanes, p.block_bytes, rules);
}

ports! {
    /// Ports of [`KvUnpacker`].
    pub struct KvUnpackerPorts(p: &KvUnpacker) {
        /// Blocks of streams, one stream after the other.
        block: InStream<ByteBlock> = (p.block_bytes, p.checksum),
        /// Tiles of the same streams.
        tile: OutStream<StoredTile> = p.lanes,
    }
}

impl KvUnpacker {
    fn block_bits(&self) -> u32 {
        8 * self.block_bytes
    }
}

impl CatalogBlock for KvUnpacker {
    fn configurations() -> Vec<Self> {
        let set = |lanes, block_bytes, checksum| Self { lanes, block_bytes, checksum };
        vec![set(2, 3, true), set(5, 8, false)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof {
            block: Self { lanes: 2, block_bytes: 3, checksum: false },
            depth: 4,
            cover_depth: 12,
            induction: true,
        }]
    }
}
