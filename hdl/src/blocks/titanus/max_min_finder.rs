//! Max-min finder: the largest and the smallest element of each channel over the prefill.
//!
//! Extremes live in a memory, a word for each tile of a token; tiles come in order.

use super::tile_state::{TileCounter, first_round, tile_state};
use crate::lang::{
    About, Block, CatalogBlock, In, InArray, Module, OutArray, Timing, bit, mux, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct MaxMinFinder {
        /// Channels of a tile.
        lanes: u32 = 32, in 2..=256, tag "l";
        /// Tiles of a token.
        tiles: u32 = 2, in 1..=4096, tag "t";
    }
}

ports! {
    /// Ports of [`MaxMinFinder`].
    pub struct MaxMinFinderPorts(p: &MaxMinFinder) {
        /// Goes on to the next tile; tiles of a token come round and round.
        step_i: In = bit(),
        /// The present tile is the first one of the first token, wherever the token before ended: all before is
        /// forgotten. Any number of cycles, until the tile was stepped over.
        first_i: In = bit(),
        /// This tile counts; without it the extremes are only read.
        update_i: In = bit(),
        /// Lanes that hold an element.
        index_i: InArray = bit().array(p.lanes),
        /// Elements.
        x_i: InArray = sint(8).array(p.lanes),
        /// Largest element of each channel of the present tile so far; -128 when there was none.
        rmax_o: OutArray = sint(8).array(p.lanes),
        /// Smallest element; 127 when there was none.
        rmin_o: OutArray = sint(8).array(p.lanes),
    }
}

impl Block for MaxMinFinder {
    type Ports = MaxMinFinderPorts;
    const ABOUT: About = About {
        name: "max_min_finder",
        summary: "running maximum and minimum of each channel",
        contract: "rmax_o and rmin_o are the extremes of the present tile's channels over the tokens since first_i,\n\
            without the present tile; -128 and 127 without any element. At an edge with step_i, the lanes with\n\
            index_i are taken in if update_i is high, and the next tile of the token becomes the present one. One\n\
            tile a cycle. first_i may come in any cycle; without step_i it shows empty extremes and changes\n\
            nothing. After reset, tile 0 of a token is the present one; its extremes are undefined until first_i.",
        reference: "Titanus, section 4.4 (MMF)",
    };

    fn build(&self, m: &mut Module, io: &MaxMinFinderPorts) {
        let counter = TileCounter::beginning(m, "tile", self.tiles, io.first_i);
        counter.step(io.step_i);
        let fresh = first_round(m, "fresh", counter, io.step_i, io.first_i);
        let updated = m.nets("updated", uint(16), self.lanes);
        let word = tile_state(m, "extremes", self.tiles, counter, io.step_i, updated.packed());
        let stored = m.split("stored", word, uint(16).array(self.lanes));
        m.for_each("lanes", self.lanes, |m, lane| {
            let extreme =
                |low: u32, empty: i32| mux(fresh, sint(8).lit(empty), stored.at(lane).slice(low..low + 8).as_sint());
            let rmax = m.wire("rmax", extreme(0, -128));
            let rmin = m.wire("rmin", extreme(8, 127));
            let x = io.x_i.at(lane);
            let takes = m.wire("takes", io.update_i & io.index_i.at(lane));
            let larger = m.wire("larger", takes & x.gt(rmax));
            let smaller = m.wire("smaller", takes & x.lt(rmin));
            let next = crate::lang::cat(&[mux(smaller, x, rmin).as_uint(), mux(larger, x, rmax).as_uint()]);
            m.connect(updated.at(lane), next);
            m.connect(io.rmax_o.at(lane), rmax);
            m.connect(io.rmin_o.at(lane), rmin);
        });
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

impl CatalogBlock for MaxMinFinder {
    fn configurations() -> Vec<Self> {
        [(2, 1), (5, 3)].map(|(lanes, tiles)| Self { lanes, tiles }).into()
    }
}
