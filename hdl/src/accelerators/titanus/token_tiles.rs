//! Rows of keys and of values become tiles, side by side.

use super::titanus_spec::TitanusSpec;
use crate::accelerators::rows::rows_to_words;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::{StreamWidthConverter, StreamWidthConverterPorts};
use crate::blocks::titanus::CacheTile;
use crate::lang::{
    About, Array, Block, In, InStream, Module, OutStream, Signal, Timing, bit, index_width, mux, parameters, ports,
    sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct TokenTiles {
        /// The bus as a DMA sees it.
        axi: AxiSpec = AxiSpec::default();
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
    rules = |p, rules| rules.part("axi", &p.converter());
}

impl TokenTiles {
    fn converter(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: 8 * self.spec.lanes, granule: 8 }
    }
}

ports! {
    /// Ports of [`TokenTiles`].
    pub struct TokenTilesPorts(p: &TokenTiles) {
        /// Drops all that is inside.
        clear_i: In = bit(),
        /// Rows of keys, one a token.
        k: InStream<RowBeat> = p.axi.clone(),
        /// Rows of values.
        v: InStream<RowBeat> = p.axi.clone(),
        /// Tiles of both, token after token.
        tile: OutStream<CacheTile> = p.spec.lanes,
    }
}

impl Block for TokenTiles {
    type Ports = TokenTilesPorts;
    const ABOUT: About = About {
        name: "token_tiles",
        summary: "rows of keys and of values as tiles of whole tokens",
        contract: "A tile when both sides have it; channels that a row does not have are 0, and so are whole tiles.\n\
            A tile a cycle.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &TokenTilesPorts) {
        let tiles = self.spec.tiles;
        let words = [("k", &io.k), ("v", &io.v)].map(|(name, rows)| {
            let words: StreamWidthConverterPorts = m.instance(&format!("u_{name}_words"), self.converter());
            m.connect(words.clear_i, io.clear_i);
            rows_to_words(m, name, rows, &words);
            words
        });
        let at_ty = uint(index_width(tiles.into()));
        let at = m.reg_init("tile_q", at_ty, 0);
        // After the last word of a token.
        let padding = m.reg_init("padding_q", bit(), 0);
        let there = m.wire("there", words[0].output.valid & words[1].output.valid);
        m.connect(io.tile.valid, padding.q | there);
        let moves = m.wire("moves", io.tile.fire());
        let whole = m.wire("whole", at.q.eq(tiles - 1));
        let next = mux(whole, at_ty.lit(0), at.q.wrapping_add(1));
        at.next(mux(io.clear_i, at_ty.lit(0), mux(moves, next, at.q)));
        let ends = m.wire("row_ends", padding.q | words[0].output.last);
        padding.next(!io.clear_i & mux(moves, ends & !whole, padding.q));
        for ((name, words), to) in ["k", "v"].into_iter().zip(&words).zip([io.tile.k, io.tile.v]) {
            m.connect(words.output.ready, moves & !padding.q);
            self.side(m, name, words, (padding.q, to));
        }
        m.unused(words[1].output.last);
    }

    fn timing(&self) -> Timing {
        Timing::new().beat(1)
    }
}

impl TokenTiles {
    fn side(&self, m: &mut Module, name: &str, words: &StreamWidthConverterPorts, (padding, to): (Signal, Array)) {
        let lanes = self.spec.lanes;
        let bytes = m.split(&format!("{name}_bytes"), words.output.data.data, sint(8).array(lanes));
        let used = m.split(&format!("{name}_used"), words.output.strobe, bit().array(lanes));
        m.for_each(&format!("{name}_lanes"), lanes, |m, l| {
            let there = m.wire(&format!("{name}_there"), used.at(l) & !padding);
            m.connect(to.at(l), (bytes.at(l).as_uint() & there.repeat(8)).as_sint());
        });
    }
}
