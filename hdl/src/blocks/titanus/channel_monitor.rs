//! Channel monitor: holds the level of each channel, tells which elements are out of tolerance, and extends the levels.
//!
//! An element is out of tolerance when it is beyond an end of its level by an excess e with 2 L e > range. With
//! L = 2^b - 1 that is (e << b) > floor(range / 2) + e: a shift and a comparison, exact.

use super::tile_state::{TileCounter, first_round, tile_state};
use super::{RANGE_BITS, bits_type, level_bits, steps_of};
use crate::blocks::common::Pipeline;
use crate::lang::{
    About, Array, Block, CatalogBlock, Field, FieldArray, InStream, Index, Module, OutStream, Proof, Signal, Timing,
    bit, bits_for, bundle, cat, mux, or_all, parameters, ports, select, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct ChannelMonitor {
        /// Channels of a tile.
        lanes: u32 = 32, in 1..=256, tag "l";
        /// Tiles of a token.
        tiles: u32 = 2, in 1..=4096, tag "t";
        /// Levels that a channel may have.
        levels: u32 = 16, in 1..=256, tag "n";
        /// Width of the tag that travels with a tile, bits.
        tag_width: u32 = 8, in 1..=4096, tag "g";
    }
}

bundle! {
    /// A tile on its way to the monitor.
    pub struct MonitorTile(p: ChannelMonitor) {
        /// Width of a quantized value, 2 to 8.
        bits: Field = bits_type(),
        /// The tile gives level 0 from the extremes; without it it is a tile of a token.
        load: Field = bit(),
        /// A sequence begins: this tile is the first one of a token that finds all channels empty.
        first: Field = bit(),
        /// Lanes that hold an element.
        index: FieldArray = bit().array(p.lanes),
        /// Elements.
        x: FieldArray = sint(8).array(p.lanes),
        /// With `load`: largest element of each channel.
        rmax: FieldArray = sint(8).array(p.lanes),
        /// With `load`: smallest element of each channel; a channel with rmax < rmin stays empty.
        rmin: FieldArray = sint(8).array(p.lanes),
        /// Travels with the tile.
        tag: Field = uint(p.tag_width),
    }
}

bundle! {
    /// A tile with the level that each channel has from it on.
    pub struct MonitoredTile(p: ChannelMonitor) {
        /// As it came.
        bits: Field = bits_type(),
        /// As it came; 0 with `load`.
        index: FieldArray = bit().array(p.lanes),
        /// The channel opens a level with this tile.
        open: FieldArray = bit().array(p.lanes),
        /// Elements, as they came.
        x: FieldArray = sint(8).array(p.lanes),
        /// Low end of the level.
        lo: FieldArray = sint(8).array(p.lanes),
        /// Range of the level.
        range: FieldArray = uint(RANGE_BITS).array(p.lanes),
        /// Number of the level, from 0.
        level: FieldArray = uint(level_bits(p.levels)).array(p.lanes),
        /// Some channel was out of tolerance and had no level left.
        overflow: Field = bit(),
        /// As it came.
        tag: Field = uint(p.tag_width),
    }
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
        tile: InStream<MonitorTile> = p.clone(),
        /// The tile with the level that each channel has from it on.
        result: OutStream<MonitoredTile> = p.clone(),
    }
}

impl Block for ChannelMonitor {
    type Ports = ChannelMonitorPorts;
    const ABOUT: About = About {
        name: "channel_monitor",
        summary: "tolerance test and level extension of each channel",
        contract: "Tiles come in order, token after token.\n\
            load: a channel with rmax >= rmin gets level 0 with lo = rmin and range = max(rmax - rmin, L), L =\n\
            2^bits - 1; open is 1 there and index is passed on as 0.\n\
            first, with either kind of tile and at any time: the tile is the first of a token, wherever the token\n\
            before ended, and this token finds all channels empty.\n\
            A lane of a token with index 1 opens a level when its channel has none: lo = x, range = L. It also\n\
            opens one when x < lo - range / 2L or x > lo + range + range / 2L: lo and lo + range are extended to x.\n\
            If all levels are used, the level stays and overflow is 1. lo, range and level are the values after the\n\
            tile, level counts from 0; all three are 0 for channels without level. Latency 1, one tile a cycle.\n\
            The first tile after reset has first. Reset at any time drops the tile inside. Bits outside 2 to 8 give\n\
            undefined levels, in this sequence only.",
        reference: "Titanus, sections 3.2 and 4.4 (CM, HierQuant)",
    };

    fn build(&self, m: &mut Module, io: &ChannelMonitorPorts) {
        let control = Pipeline::new(m, &["result"], io.tile.valid, io.result.ready);
        m.connect(io.tile.ready, control.ready);
        m.connect(io.result.valid, control.stages[0].valid);
        let step = control.stages[0].load;
        for (name, from, to) in [("bits_q", io.tile.bits, io.result.bits), ("tag_q", io.tile.tag, io.result.tag)] {
            let register = m.reg(name, from.ty());
            register.next_when(step, from);
            m.connect(to, register.q);
        }
        let counter = TileCounter::beginning(m, "tile", self.tiles, io.tile.first);
        counter.step(step);
        let fresh = first_round(m, "fresh", counter, step, io.tile.first);
        let width = self.word_bits();
        let updated = m.nets("updated", uint(width), self.lanes);
        let word = tile_state(m, "channels", self.tiles, counter, step, updated.packed());
        let words = m.split("word", word, uint(width).array(self.lanes));
        let shared = Shared { step, fresh, steps: steps_of(m, "steps", io.tile.bits) };
        let overflows = m.nets("overflows", bit(), self.lanes);
        m.for_each("lanes", self.lanes, |m, lane| self.lane(m, io, lane, shared, words, updated, overflows));
        let overflow = m.reg("overflow_q", bit());
        overflow.next_when(step, or_all(bit(), &overflows.elements()));
        m.connect(io.result.overflow, overflow.q);
        m.formal(|m| control.assert_order(m, "tiles", io.tile.fire(), io.result.fire()));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(1)
    }
}

/// Signals that all lanes use.
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
        let tile = &io.tile;
        let (x, rmax, rmin, load) = (tile.x.at(lane), tile.rmax.at(lane), tile.rmin.at(lane), tile.load);
        let index = m.wire("index", tile.index.at(lane) & !load);
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
        let shift = io.tile.bits.wrapping_sub(2).truncate(3);
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
        let to = &io.result;
        let result = [
            ("index_q", to.index, index),
            ("open_q", to.open, open),
            ("x_q", to.x, x),
            ("lo_q", to.lo, shown(lo_after)),
            ("range_q", to.range, shown(range_after)),
            ("level_q", to.level, level),
        ];
        for (name, to, value) in result {
            let register = m.reg(name, value.ty());
            register.next_when(shared.step, value);
            m.connect(to.at(lane), register.q);
        }
    }
}

impl CatalogBlock for ChannelMonitor {
    // With one level nothing is ever extended, and no level opens at its top.
    const SAMPLE: &'static [(&'static str, u32)] = &[("levels", 2)];

    fn configurations() -> Vec<Self> {
        let set = |lanes, tiles, levels, tag_width| Self { lanes, tiles, levels, tag_width };
        vec![set(1, 1, 1, 1), set(5, 3, 5, 3)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = Self { lanes: 1, tiles: 1, levels: 2, tag_width: 1 };
        vec![Proof { block, depth: 8, cover_depth: 8, induction: true }]
    }
}
