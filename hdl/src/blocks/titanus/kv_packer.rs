//! KV packer: quantized tiles become a stream of bits in whole blocks for off-chip memory.
//!
//! A tile is cut into chunks of at most one block: the token's index, labels and values; when levels open, the mask of
//! their lanes and the first half of the records; and the other records. The first stage builds one chunk a cycle,
//! without gaps. The second shifts it up to the first free bit of the open block. The format is in
//! docs/blocks/titanus-format.md.

mod hardware;
mod properties;

use super::format::{chunk_bits, demand_chunk_fits, length_type};
use super::{ByteBlock, OpenTail, QuantizedTile};
use crate::blocks::common::{Crc32, Crc32Ports};
use crate::lang::{
    CatalogBlock, Field, InStream, Module, OutBundle, OutStream, Proof, Signal, bit, bundle, mux, parameters, ports,
    uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct KvPacker {
        /// Channels of a tile.
        lanes: u32 = 32, in 2..=64, tag "l";
        /// Bytes of a block.
        block_bytes: u32 = 64, in 3..=256,
            note "8 block_bytes at least 2 + 10 lanes and lanes + 18 ceil(lanes / 2)", tag "b";
        /// Adds the CRC-32 of the stream to its blocks and to its open part.
        checksum: bool = false, tag "crc";
    }
    rules = |p, rules| demand_chunk_fits(p.lanes, p.block_bytes, rules);
}

ports! {
    /// Ports of [`KvPacker`].
    pub struct KvPackerPorts(p: &KvPacker) {
        /// Quantized tiles; `last` ends the stream of bits. The first tile of a stream sets the width for all its
        /// tiles.
        tile: InStream<QuantizedTile> = p.lanes,
        /// Blocks; `last` marks the final one of a stream, filled up with zeros.
        block: OutStream<ByteBlock> = (p.block_bytes, p.checksum),
        /// The part of the open stream that has not left, in every cycle: together with the blocks that left it can be
        /// read back.
        tail: OutBundle<OpenTail> = (p.block_bytes, p.checksum),
    }
}

bundle! {
    /// Bits in a row.
    struct Chunk(lanes: u32) {
        /// The bits, zero from `length` on.
        data: Field = uint(chunk_bits(*lanes)),
        /// How many they are.
        length: Field = length_type(*lanes),
        /// The tile has no further chunk; in the chunk register: the stream has none.
        ends: Field = bit(),
    }
}

/// CRC-32 of the blocks of a stream.
struct Checksum {
    /// Of the blocks that left.
    before: Signal,
    /// And of the next block.
    next: Signal,
}

impl Checksum {
    fn new(m: &mut Module, block_bytes: u32, data: Signal, load: Signal, last: Signal) -> Self {
        let register = m.reg_init("crc_q", uint(32), 0);
        let unit: Crc32Ports = m.instance("u_crc", Crc32 { bytes: block_bytes });
        m.connect(unit.crc_i, register.q);
        m.connect(unit.data_i, data);
        let next = m.wire("next_crc", unit.crc_o);
        register.next_when(load, mux(last, uint(32).lit(0), next));
        Self { before: register.q, next }
    }
}

impl CatalogBlock for KvPacker {
    fn configurations() -> Vec<Self> {
        let set = |lanes, block_bytes, checksum| Self { lanes, block_bytes, checksum };
        vec![set(2, 3, false), set(5, 8, true)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof {
            block: Self { lanes: 2, block_bytes: 3, checksum: false },
            depth: 4,
            cover_depth: 8,
            induction: false,
        }]
    }
}
