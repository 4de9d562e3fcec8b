//! Tiles of tokens become rows of bytes.

use super::titanus_spec::{COUNT, TitanusSpec};
use crate::blocks::common::bus::AxiSpec;
use crate::blocks::common::stream::{StreamWidthConverter, StreamWidthConverterPorts, Word};
use crate::blocks::titanus::CachedTile;
use crate::lang::{About, Block, In, InStream, Module, OutStream, bit, mux, parameters, ports, uint};

parameters! {
    /// Elaboration parameters.
    pub struct TileRows {
        /// The bus as a DMA sees it.
        axi: AxiSpec = AxiSpec::default();
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
    rules = |p, rules| rules.part("axi", &p.converter());
}

impl TileRows {
    fn converter(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: 8 * self.spec.lanes, output_width: self.axi.data_width, granule: 8 }
    }
}

ports! {
    /// Ports of [`TileRows`].
    pub struct TileRowsPorts(p: &TileRows) {
        /// Drops all that is inside; the next tile is the first one of a token.
        clear_i: In = bit(),
        /// Channels of a row, from 1 on; steady while anything is inside.
        channels_i: In = uint(COUNT),
        /// Tiles.
        tile: InStream<CachedTile> = p.spec.lanes,
        /// Packed rows.
        write: OutStream<Word> = p.axi.data_width,
    }
}

impl Block for TileRows {
    type Ports = TileRowsPorts;
    const ABOUT: About = About {
        name: "tile_rows",
        summary: "tiles of tokens as packed rows of int8",
        contract: "The first channels of each token, packed; further channels are dropped. A tile a cycle, as the\n\
            bus takes it.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &TileRowsPorts) {
        let (lanes, count) = (self.spec.lanes, uint(COUNT));
        let words: StreamWidthConverterPorts = m.instance("u_words", self.converter());
        m.connect(words.clear_i, io.clear_i);
        let left = m.reg("left_q", count);
        let begins = m.reg_init("begins_q", bit(), 1);
        let here = m.wire("left", mux(begins.q, io.channels_i, left.q));
        let some = m.wire("some", here.any());
        let more = m.wire("more", here.gt(lanes));
        let (from, to) = (&io.tile, &words.input);
        m.connect(to.valid, from.valid & some);
        m.connect(from.ready, mux(some, to.ready, !io.clear_i));
        let moves = m.wire("moves", from.fire());
        begins.next(io.clear_i | mux(moves, from.token_last, begins.q));
        left.next_when(moves, mux(more, here.wrapping_sub(lanes), count.lit(0)));
        m.unused(from.last);
        m.connect(to.data.data, from.x.packed());
        let strobe = m.nets("strobe", bit(), lanes);
        m.for_each("lanes", lanes, |m, l| m.connect(strobe.at(l), here.gt(l.value(COUNT))));
        m.connect(to.strobe, strobe.packed());
        m.connect(to.last, !more);
        m.connect_handshake(&io.write, &words.output);
        m.connect(io.write.data.data, words.output.data.data);
        m.unused(words.output.strobe);
        m.unused(words.output.last);
    }
}
