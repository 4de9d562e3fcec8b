//! Max-min finder: the largest and the smallest element of each channel over the prefill.
//!
//! Extremes live in a memory, a word for each tile of a token; tiles come in order.

use serde::{Deserialize, Serialize};

use super::tile_state::{TileCounter, first_round, tile_state};
use crate::lang::{
    About, Block, CatalogBlock, In, InArray, Module, OldParameter, OutArray, ParamError, bit, ensure_param, mux,
    old_parameters, ports, sint, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MaxMinFinder {
    /// Channels of a tile.
    pub lanes: u32,
    /// Tiles of a token.
    pub tiles: u32,
}

ports! {
    /// Ports of [`MaxMinFinder`].
    pub struct MaxMinFinderPorts(p: &MaxMinFinder) {
        /// Goes on to the next tile; tiles of a token come round and round.
        step_i: In = bit(),
        /// The token that begins with this tile is the first: all before it is forgotten.
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

old_parameters!(MaxMinFinder);

impl Block for MaxMinFinder {
    type Ports = MaxMinFinderPorts;
    const ABOUT: About = About {
        name: "max_min_finder",
        summary: "running maximum and minimum of each channel",
        contract: "rmax_o and rmin_o are the extremes of the present tile's channels over the tokens since first_i, the present tile\n\
            not included; -128 and 127 without any element. At an edge with step_i, the lanes with index_i are taken in if\n\
            update_i is high, and the next tile of the token becomes the present one. One tile a cycle.",
        reference: "Titanus, section 4.4 (MMF)",
    };

    fn module_name(&self) -> String {
        format!("max_min_finder_l{}_t{}", self.lanes, self.tiles)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("lanes", self.lanes, 2..=256)?;
        ensure_param("tiles", self.tiles, 1..=4096)
    }

    fn build(&self, m: &mut Module, io: &MaxMinFinderPorts) {
        let counter = TileCounter::new(m, "tile", self.tiles);
        counter.step(io.step_i);
        let fresh = first_round(m, "fresh", counter, io.step_i, io.first_i);
        let updated = m.nets("updated", uint(16), self.lanes);
        let word = tile_state(m, "extremes", self.tiles, counter, io.step_i, updated.packed());
        let stored = m.nets("stored", uint(16), self.lanes);
        for lane in 0..self.lanes {
            m.connect(stored.at(lane), word.slice(16 * lane..16 * lane + 16));
        }
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

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("cycles_per_tile".into(), 1)]
    }
}

impl Default for MaxMinFinder {
    fn default() -> Self {
        Self { lanes: 32, tiles: 2 }
    }
}

impl CatalogBlock for MaxMinFinder {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "lanes", allowed: "2 to 256", meaning: "channels of a tile" },
        OldParameter { name: "tiles", allowed: "1 to 4096", meaning: "tiles of a token" },
    ];

    fn configurations() -> Vec<Self> {
        [(2, 1), (5, 3)].map(|(lanes, tiles)| Self { lanes, tiles }).into()
    }
}
