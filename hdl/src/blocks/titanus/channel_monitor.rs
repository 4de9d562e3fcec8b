//! Channel monitor: holds the level of each channel, tells which elements are out of tolerance, and extends the levels.
//!
//! An element is out of tolerance when it is beyond an end of its level by an excess e with 2 L e > range. With
//! L = 2^b - 1 that is (e << b) > floor(range / 2) + e: a shift and a comparison, exact.

use serde::{Deserialize, Serialize};

use super::tile_state::{TileCounter, first_round, tile_state};
use super::{RANGE_BITS, bits_type, level_bits, steps_of};
use crate::blocks::common::Pipeline;
use crate::lang::{
    About, Array, Block, CatalogBlock, Index, Module, OldInStream, OldOutStream, OldParameter, ParamError, Proof,
    Signal, bit, bits_for, cat, ensure_param, mux, old_parameters, or_all, ports, select, sint, stream, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelMonitor {
    /// Channels of a tile.
    pub lanes: u32,
    /// Tiles of a token.
    pub tiles: u32,
    /// Levels that a channel may have.
    pub levels: u32,
    /// Width of the tag that travels with a tile.
    pub tag_width: u32,
}

impl ChannelMonitor {
    fn count_bits(&self) -> u32 {
        bits_for(u64::from(self.levels))
    }

    /// Bits of a channel's state: low end, range, number of levels.
    fn word_bits(&self) -> u32 {
        8 + RANGE_BITS + self.count_bits()
    }
}

ports! {
    /// Ports of [`ChannelMonitor`].
    pub struct ChannelMonitorPorts(p: &ChannelMonitor) {
        /// A tile of a token, or, with `load`, the extremes that give level 0.
        tile: OldInStream = stream()
            .field("bits", bits_type())
            .field("load", bit())
            .field("first", bit())
            .array("index", bit().array(p.lanes))
            .array("x", sint(8).array(p.lanes))
            .array("rmax", sint(8).array(p.lanes))
            .array("rmin", sint(8).array(p.lanes))
            .field("tag", uint(p.tag_width)),
        /// The tile with the level that each channel has from it on.
        result: OldOutStream = stream()
            .field("bits", bits_type())
            .array("index", bit().array(p.lanes))
            .array("open", bit().array(p.lanes))
            .array("x", sint(8).array(p.lanes))
            .array("lo", sint(8).array(p.lanes))
            .array("range", uint(RANGE_BITS).array(p.lanes))
            .array("level", uint(level_bits(p.levels)).array(p.lanes))
            .field("overflow", bit())
            .field("tag", uint(p.tag_width)),
    }
}

old_parameters!(ChannelMonitor);

impl Block for ChannelMonitor {
    type Ports = ChannelMonitorPorts;
    const ABOUT: About = About {
        name: "channel_monitor",
        summary: "tolerance test and level extension of each channel",
        contract: "tiles come in order, token after token. load: a channel with rmax >= rmin gets level 0 with lo = rmin and\n\
            range = max(rmax - rmin, L), L = 2^bits - 1; open is 1 there and index is passed on as 0. first: the token that\n\
            begins with this tile finds all channels empty. Otherwise a lane with index 1 opens a level when its channel has\n\
            none (lo = x, range = L) or when x < lo - range / 2L or x > lo + range + range / 2L (lo and lo + range extended to\n\
            x), unless all levels are used: then overflow is 1 and the level stays. lo, range and level are those after the\n\
            tile, level counts from 0; all three are 0 for channels without level. Latency 1, one tile a cycle.",
        reference: "Titanus, sections 3.2 and 4.4 (CM, HierQuant)",
    };

    fn module_name(&self) -> String {
        format!("channel_monitor_l{}_t{}_n{}_g{}", self.lanes, self.tiles, self.levels, self.tag_width)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("lanes", self.lanes, 1..=256)?;
        ensure_param("tiles", self.tiles, 1..=4096)?;
        ensure_param("levels", self.levels, 1..=256)?;
        ensure_param("tag_width", self.tag_width, 1..=4096)
    }

    fn build(&self, m: &mut Module, io: &ChannelMonitorPorts) {
        let control = Pipeline::new(m, &["result"], io.tile.valid, io.result.ready);
        m.connect(io.tile.ready, control.ready);
        m.connect(io.result.valid, control.stages[0].valid);
        let step = control.stages[0].load;
        for name in ["bits", "tag"] {
            let register = m.reg(&format!("{name}_q"), io.tile.field(name).ty());
            register.next_when(step, io.tile.field(name));
            m.connect(io.result.field(name), register.q);
        }
        let counter = TileCounter::new(m, "tile", self.tiles);
        counter.step(step);
        let first = io.tile.field("first");
        let fresh = first_round(m, "fresh", counter, step, first);
        let width = self.word_bits();
        let updated = m.nets("updated", uint(width), self.lanes);
        let word = tile_state(m, "channels", self.tiles, counter, step, updated.packed());
        let words = m.nets("word", uint(width), self.lanes);
        for lane in 0..self.lanes {
            m.connect(words.at(lane), word.slice(width * lane..width * (lane + 1)));
        }
        let shared = Shared { step, fresh, steps: steps_of(m, "steps", io.tile.field("bits")) };
        let overflows = m.nets("overflows", bit(), self.lanes);
        m.for_each("lanes", self.lanes, |m, lane| self.lane(m, io, lane, shared, words, updated, overflows));
        let overflow = m.reg("overflow_q", bit());
        overflow.next_when(step, or_all(bit(), &overflows.elements()));
        m.connect(io.result.field("overflow"), overflow.q);
        m.formal(|m| control.assert_order(m, "tiles", io.tile.fire(), io.result.fire()));
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("latency".into(), 1), ("cycles_per_tile".into(), 1)]
    }
}

/// What all lanes use.
#[derive(Clone, Copy)]
struct Shared {
    step: Signal,
    fresh: Signal,
    steps: Signal,
}

impl ChannelMonitor {
    #[expect(clippy::too_many_arguments, reason = "the nets around one lane")]
    fn lane(
        &self,
        m: &mut Module,
        io: &ChannelMonitorPorts,
        lane: Index,
        shared: Shared,
        words: Array,
        updated: Array,
        overflows: Array,
    ) {
        let input = |name: &str| io.tile.array(name).at(lane);
        let (x, rmax, rmin, load) = (input("x"), input("rmax"), input("rmin"), io.tile.field("load"));
        let index = m.wire("index", input("index") & !load);
        let stored = words.at(lane);
        let lo = m.wire("lo", stored.slice(0..8).as_sint());
        let range = m.wire("range", stored.slice(8..8 + RANGE_BITS));
        let count_type = uint(self.count_bits());
        let stored_count = stored.slice(8 + RANGE_BITS..self.word_bits());
        let count = m.wire("count", mux(shared.fresh, count_type.lit(0), stored_count));
        let empty = m.wire("empty", count.eq(0));

        let distance = m.wire("distance", x - lo);
        let below = m.wire("below", distance.msb());
        let upward = m.wire("upward", distance.as_uint().truncate(8).extend(RANGE_BITS));
        let above = m.wire("above", !below & upward.gt(range));
        let downward = uint(RANGE_BITS).lit(0).wrapping_sub(distance.as_uint());
        let excess = m.wire("excess", mux(below, downward, upward.wrapping_sub(range)));
        // No excess above range / 2L <= 85 is tolerated.
        let far = m.wire("far", excess.slice(7..RANGE_BITS).any());
        let shift = io.tile.field("bits").wrapping_sub(2).truncate(3);
        let scaled = m.wire("scaled", excess.slice(0..7).shl(2).extend(15).shl_by(shift));
        let allowed = m.wire("allowed", range.shr(1) + excess.slice(0..7));
        let out = m.wire("out_of_tolerance", (below | above) & (far | scaled.gt(allowed)));

        let wants = m.wire("wants_level", index & (empty | out));
        let full = m.wire("full", count.eq(self.levels));
        m.connect(overflows.at(lane), wants & full);
        let has_extremes = m.wire("has_extremes", rmax.ge(rmin));
        let open = m.wire("open", mux(load, has_extremes, wants & !full));
        let steps = shared.steps.extend(RANGE_BITS);
        let span = m.wire("span", (rmax - rmin).as_uint());
        let initial = mux(span.lt(steps), steps, span);
        let new_range = select(&[(load, initial), (empty, steps), (below, range.wrapping_add(excess))], upward);
        let new_lo = select(&[(load, rmin), (empty | below, x)], lo);
        let lo_after = m.wire("lo_after", mux(open, new_lo, lo));
        let range_after = m.wire("range_after", mux(open, new_range, range));
        let before = mux(load, count_type.lit(0), count);
        let count_after = m.wire("count_after", before.wrapping_add(open));
        m.connect(updated.at(lane), cat(&[count_after, range_after, lo_after.as_uint()]));
        let none = count_after.eq(0);
        let level_type = uint(level_bits(self.levels));
        let number = count_after.wrapping_sub(1);
        let number = if number.width() < level_type.width {
            number.extend(level_type.width)
        } else {
            number.truncate(level_type.width)
        };
        let level = m.wire("level", mux(none, level_type.lit(0), number));
        // Without a level there is nothing to show.
        let shown = |value: Signal| {
            if value.ty().signed { mux(none, value.ty().lit(0), value) } else { value & (!none).repeat(value.width()) }
        };
        let result = [
            ("index", index),
            ("open", open),
            ("x", x),
            ("lo", shown(lo_after)),
            ("range", shown(range_after)),
            ("level", level),
        ];
        for (name, value) in result {
            let register = m.reg(&format!("{name}_q"), value.ty());
            register.next_when(shared.step, value);
            m.connect(io.result.array(name).at(lane), register.q);
        }
    }
}

impl Default for ChannelMonitor {
    fn default() -> Self {
        Self { lanes: 32, tiles: 2, levels: 16, tag_width: 8 }
    }
}

impl CatalogBlock for ChannelMonitor {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "lanes", allowed: "1 to 256", meaning: "channels of a tile" },
        OldParameter { name: "tiles", allowed: "1 to 4096", meaning: "tiles of a token" },
        OldParameter { name: "levels", allowed: "1 to 256", meaning: "levels that a channel may have" },
        OldParameter {
            name: "tag_width",
            allowed: "1 to 4096",
            meaning: "width of the tag that travels with a tile, bits",
        },
    ];

    fn configurations() -> Vec<Self> {
        let set = |lanes, tiles, levels, tag_width| Self { lanes, tiles, levels, tag_width };
        vec![set(1, 1, 1, 1), set(5, 3, 5, 3)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = Self { lanes: 1, tiles: 1, levels: 2, tag_width: 1 };
        vec![Proof { block, depth: 8, cover_depth: 8, induction: true }]
    }
}
