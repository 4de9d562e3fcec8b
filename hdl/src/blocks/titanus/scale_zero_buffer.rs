//! Scale-zero buffer: the record of every level of every channel, a bank for each lane.
//!
//! All lanes are written and read in the same cycle, each at a level of its own. A read at the edge of a write to the
//! same word returns the new word: a level is in use from the token on that opens it.

use super::{RECORD_BITS, level_bits};
use crate::lang::{
    About, Block, CatalogBlock, In, InArray, Module, OutArray, Signal, Timing, bit, cat, index_width, mux, parameters,
    ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ScaleZeroBuffer {
        /// Channels of a tile: banks.
        lanes: u32 = 32, in 1..=256, tag "l";
        /// Tiles of a token.
        tiles: u32 = 2, in 1..=4096, tag "t";
        /// Levels that a channel may have.
        levels: u32 = 16, in 1..=256, tag "n";
        /// Width of a word in bits: 18 for range and zero point.
        width: u32 = RECORD_BITS, in 1..=64, tag "w";
    }
}

ports! {
    /// Ports of [`ScaleZeroBuffer`].
    pub struct ScaleZeroBufferPorts(p: &ScaleZeroBuffer) {
        /// Lanes that are written.
        write_i: InArray = bit().array(p.lanes),
        /// Tile that is written.
        write_tile_i: In = uint(index_width(u64::from(p.tiles))),
        /// Per lane: level that is written.
        write_level_i: InArray = uint(level_bits(p.levels)).array(p.lanes),
        /// Words.
        write_data_i: InArray = uint(p.width).array(p.lanes),
        /// All lanes are read.
        read_i: In = bit(),
        /// Tile that is read.
        read_tile_i: In = uint(index_width(u64::from(p.tiles))),
        /// Per lane: level that is read.
        read_level_i: InArray = uint(level_bits(p.levels)).array(p.lanes),
        /// Words, from the cycle after `read_i` until the next read.
        data_o: OutArray = uint(p.width).array(p.lanes),
    }
}

impl Block for ScaleZeroBuffer {
    type Ports = ScaleZeroBufferPorts;
    const ABOUT: About = About {
        name: "scale_zero_buffer",
        summary: "range and zero point of every level of every channel",
        contract: "A bank for each lane, addressed by tile and level. At an edge, lanes with write_i store\n\
            write_data_i. With read_i, data_o takes the words at read_tile_i and read_level_i, a word written at\n\
            the same edge included, and keeps them until the next read. Words are undefined until written. There is\n\
            no reset and nothing in flight: each request is done at the edge of its cycle. A tile that does not\n\
            exist reads as undefined, and to write it changes no other word; a token of one tile does not look at\n\
            the number.",
        reference: "Titanus, section 4.1 (SZ buffer)",
    };

    fn build(&self, m: &mut Module, io: &ScaleZeroBufferPorts) {
        let address = |tile: Signal, level: Signal| if self.tiles == 1 { level } else { cat(&[tile, level]) };
        if self.tiles == 1 {
            m.unused(io.write_tile_i);
            m.unused(io.read_tile_i);
        }
        let depth = self.tiles << level_bits(self.levels);
        m.for_each("banks", self.lanes, |m, lane| {
            let bank = m.memory("bank", depth, self.width, self.width);
            let (write, data) = (io.write_i.at(lane), io.write_data_i.at(lane));
            let to = m.wire("write_address", address(io.write_tile_i, io.write_level_i.at(lane)));
            let from = m.wire("read_address", address(io.read_tile_i, io.read_level_i.at(lane)));
            bank.write(write, to, data);
            let word = bank.read("word", io.read_i, from);
            let same = m.reg("same_q", bit());
            same.next_when(io.read_i, write & to.eq(from));
            let passed = m.reg("passed_q", uint(self.width));
            passed.next_when(io.read_i, data);
            m.connect(io.data_o.at(lane), mux(same.q, passed.q, word));
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl CatalogBlock for ScaleZeroBuffer {
    fn configurations() -> Vec<Self> {
        let set = |lanes, tiles, levels, width| Self { lanes, tiles, levels, width };
        vec![set(1, 1, 1, 1), set(5, 3, 5, 18)]
    }
}
