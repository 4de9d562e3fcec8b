//! Quantization unit: hierarchical quantisation of pruned tiles, tokens of the prefill first.
//!
//! Four states. Prefill: tiles go to the quantisation buffer and, back at their channels, to the max-min finder. Quant.: the
//! extremes become level 0 of each channel (one tile a cycle), then the buffered tiles are quantised. Decode: tiles pass
//! through channel monitor (1 cycle) and non-zero quantizer (2 cycles) as they come. Idle: a new sequence may start.

use serde::{Deserialize, Serialize};

use super::pruning_unit::pruned_tile;
use super::tile_state::TileCounter;
use super::{
    ChannelMonitor, ChannelMonitorPorts, MaxMinFinder, MaxMinFinderPorts, NonZeroQuantizer, NonZeroQuantizerPorts,
    bits_type, level_bits, quantized_tile,
};
use crate::blocks::common::{Compactor, CompactorPorts, Expander, ExpanderPorts};
use crate::lang::{
    About, Array, Block, CatalogBlock, In, Module, OldInStream, OldOutStream, OldParameter, Out, ParamError, Proof,
    Signal, bit, bits_for, cat, ensure_param, index_width, mux, old_parameters, ports, stream, uint,
};

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuantizationUnit {
    /// Channels of a tile.
    pub lanes: u32,
    /// Tiles of a token.
    pub tiles: u32,
    /// Levels that a channel may have.
    pub levels: u32,
    /// Tokens that the quantisation buffer holds.
    pub buffer_tokens: u32,
    /// Layers with a width of quantised values of their own.
    pub layers: u32,
}

/// Width of the number of prefill tokens.
const TOKEN_BITS: u32 = 16;

impl QuantizationUnit {
    fn buffer_tiles(&self) -> u32 {
        self.buffer_tokens * self.tiles
    }

    /// Levels, overflow, initial, last: what passes by the quantizer.
    fn tag_width(&self) -> u32 {
        self.lanes * level_bits(self.levels) + 3
    }
}

ports! {
    /// Ports of [`QuantizationUnit`].
    pub struct QuantizationUnitPorts(p: &QuantizationUnit) {
        /// Writes the width of quantised values of a layer.
        bits_write_i: In = bit(),
        /// That layer.
        bits_layer_i: In = uint(index_width(u64::from(p.layers))),
        /// Width, 2 to 8.
        bits_i: In = bits_type(),
        /// Starts a sequence: its layer, and how many of its tokens are prefill.
        start: OldInStream = stream()
            .field("layer", uint(index_width(u64::from(p.layers))))
            .field("prefill", uint(TOKEN_BITS)),
        /// Pruned tiles; `last` ends the sequence.
        tile: OldInStream = pruned_tile(p.lanes),
        /// Quantised tiles, with the level of each channel.
        result: OldOutStream = quantized_tile(p.lanes)
            .array("level", uint(level_bits(p.levels)).array(p.lanes))
            .field("overflow", bit()),
        /// Since the start of the sequence, a value was out of tolerance when its channel had no level left.
        overflow_o: Out = bit(),
    }
}

old_parameters!(QuantizationUnit);

impl Block for QuantizationUnit {
    type Ports = QuantizationUnitPorts;
    const ABOUT: About = About {
        name: "quantization_unit",
        summary: "per-channel quantisation in which every token is quantised once (HQE)",
        contract: "start takes the width b of the layer. The first min(prefill, buffer_tokens) tokens give each channel its level 0;\n\
            then come one tile with initial = 1 for each tile of a token, whose open lanes carry the ranges and zero points of\n\
            these levels (none if prefill is 0), and all tiles in order, quantised as in channel_monitor and non_zero_quantizer.\n\
            values are the q that are not 0, in order from lane 0 on, 0 above; range and zero are 0 where open is 0.\n\
            In decode: latency 3 cycles, one tile a cycle. A new start is taken after the tile with last has left.",
        reference: "Titanus, sections 3.2 and 4.4, figure 7",
    };

    fn module_name(&self) -> String {
        format!(
            "quantization_unit_l{}_t{}_n{}_b{}_y{}",
            self.lanes, self.tiles, self.levels, self.buffer_tokens, self.layers
        )
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("lanes", self.lanes, 2..=256)?;
        ensure_param("tiles", self.tiles, 1..=4096)?;
        ensure_param("levels", self.levels, 1..=256)?;
        ensure_param("buffer_tokens", self.buffer_tokens, 1..=65_535 / self.tiles)?;
        ensure_param("layers", self.layers, 1..=1024)
    }

    fn build(&self, m: &mut Module, io: &QuantizationUnitPorts) {
        let lanes = self.lanes;
        let fsm = m.fsm("state", &["Idle", "Prefill", "Quant", "Decode"]);
        let [idle, prefill, quant, decode] =
            ["Idle", "Prefill", "Quant", "Decode"].map(|s| m.wire(&format!("in_{}", s.to_lowercase()), fsm.is(s)));

        // A sequence ends when its last tile has left.
        let busy = m.reg_init("busy_q", bit(), 0);
        m.connect(io.start.ready, idle & !busy.q);
        let start = m.wire("start", io.start.fire());
        let table = m.memory("bits_table", self.layers.max(2), 4, 4);
        table.write(io.bits_write_i, io.bits_layer_i, io.bits_i);
        let chosen = table.read_async("layer_bits", io.start.field("layer"));
        let bits = m.reg("bits_q", bits_type());
        bits.next_when(start, chosen);
        let no_prefill = m.wire("no_prefill", io.start.field("prefill").eq(0));

        // Prefill: count tiles and tokens, fill the buffer.
        let position = TileCounter::new(m, "tile", self.tiles);
        let count_type = uint(bits_for(u64::from(self.buffer_tiles())));
        let written = m.reg_init("written_q", count_type, 0);
        let left = m.reg("tokens_left_q", uint(TOKEN_BITS));
        let store = m.wire("store", prefill & io.tile.valid);
        let last = io.tile.field("last");
        m.unused(io.tile.field("count"));
        let token_done = m.wire("token_done", store & position.last);
        written.next(mux(start, count_type.lit(0), written.q.wrapping_add(store)));
        left.next(mux(start, io.start.field("prefill"), left.q.wrapping_sub(token_done)));
        let filled = m.wire("filled", store & written.q.eq(self.buffer_tiles() - 1));
        let prefill_done = m.wire("prefill_done", filled | (token_done & left.q.eq(1)) | (store & last));
        let ended = m.reg_init("ended_q", bit(), 0);
        ended.next((ended.q | (store & last)) & !start);

        // Quant.: first the levels, then the buffered tiles.
        let monitor: ChannelMonitorPorts =
            m.instance("u_monitor", ChannelMonitor { lanes, tiles: self.tiles, levels: self.levels, tag_width: 2 });
        let loading = m.reg_init("loading_q", bit(), 0);
        let load = m.wire("load", quant & loading.q);
        let load_step = m.wire("load_step", load & monitor.tile.ready);
        let load_tile = TileCounter::new(m, "load_tile", self.tiles);
        load_tile.step(load_step);
        loading.next(prefill_done | (loading.q & !(load_step & load_tile.last)));
        let fetched = m.reg_init("fetched_q", bit(), 0);
        let replay = m.wire("replay", quant & !loading.q & fetched.q);
        let replayed = m.wire("replayed", replay & monitor.tile.ready);
        let read = m.reg_init("read_q", count_type, 0);
        let more = m.wire("more_buffered", read.q.ne(written.q));
        let fetch = m.wire("fetch", quant & more & (!fetched.q | replayed));
        fetched.next(fetch | (fetched.q & !replayed));
        read.next(mux(start, count_type.lit(0), read.q.wrapping_add(fetch)));
        let replay_done = m.wire("replay_done", replayed & !more);
        let word_bits = 9 * lanes;
        let buffer = m.memory("buffer", self.buffer_tiles().max(2), word_bits, word_bits);
        let address = buffer.address_type().width;
        let word = cat(&[io.tile.array("values").packed(), io.tile.array("index").packed()]);
        buffer.write(store, written.q.truncate(address.min(written.q.width())).extend(address), word);
        let word = buffer.read("word", fetch, read.q.truncate(address.min(read.q.width())).extend(address));

        // Decode, and what all states share: elements back at their channels.
        let accept = m.wire("accept", decode & io.tile.valid & monitor.tile.ready);
        m.connect(io.tile.ready, prefill | (decode & monitor.tile.ready));
        position.step(store | accept);
        let expander: ExpanderPorts = m.instance("u_expander", Expander { lanes, width: 8 });
        let index = m.nets("index", bit(), lanes);
        let x = m.nets("x", uint(8), lanes);
        for lane in 0..lanes {
            let low = lanes + 8 * lane;
            let value = mux(quant, word.slice(low..low + 8), io.tile.array("values").at(lane).as_uint());
            m.connect(expander.data_i.at(lane), value);
            m.connect(index.at(lane), mux(quant, word.bit(lane), io.tile.array("index").at(lane)));
        }
        m.connect_each("mask", expander.mask_i, index);
        m.connect_each("expanded", x, expander.data_o);

        let finder: MaxMinFinderPorts = m.instance("u_finder", MaxMinFinder { lanes, tiles: self.tiles });
        let first_prefill = m.reg_init("first_prefill_q", bit(), 0);
        first_prefill.next(start | (first_prefill.q & !store));
        m.connect(finder.step_i, store | load_step);
        m.connect(finder.first_i, prefill & first_prefill.q);
        m.connect(finder.update_i, prefill);
        let first_decode = m.reg_init("first_decode_q", bit(), 0);
        first_decode.next((start & no_prefill) | (first_decode.q & !accept));
        m.connect(monitor.tile.valid, load | replay | (decode & io.tile.valid));
        m.connect(monitor.tile.field("bits"), bits.q);
        m.connect(monitor.tile.field("load"), load);
        m.connect(monitor.tile.field("first"), decode & first_decode.q);
        let ends = m.wire("ends", mux(quant, ended.q & !loading.q & !more, last));
        m.connect(monitor.tile.field("tag"), cat(&[load, ends]));
        m.for_each("channels", lanes, |m, lane| {
            m.connect(finder.index_i.at(lane), index.at(lane));
            m.connect(finder.x_i.at(lane), x.at(lane).as_sint());
            m.connect(monitor.tile.array("index").at(lane), index.at(lane));
            m.connect(monitor.tile.array("x").at(lane), x.at(lane).as_sint());
        });
        m.connect_each("rmax", monitor.tile.array("rmax"), finder.rmax_o);
        m.connect_each("rmin", monitor.tile.array("rmin"), finder.rmin_o);

        let finish = m.wire("finish", io.result.fire() & io.result.field("last"));
        busy.next(start | (busy.q & !finish));
        self.quantize(m, io, &monitor, start);
        fsm.goto("Idle", start & no_prefill, "Decode");
        fsm.goto("Idle", start, "Prefill");
        fsm.goto("Prefill", prefill_done, "Quant");
        fsm.goto("Quant", replay_done & ended.q, "Idle");
        fsm.goto("Quant", replay_done, "Decode");
        fsm.goto("Decode", accept & last, "Idle");
        self.properties(m, io);
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        let load = u64::from(self.tiles);
        vec![("decode_latency".into(), 3), ("cycles_per_tile".into(), 1), ("level_0_cycles".into(), load)]
    }
}

impl QuantizationUnit {
    /// From the monitor through the quantizer to the result.
    fn quantize(&self, m: &mut Module, io: &QuantizationUnitPorts, monitor: &ChannelMonitorPorts, start: Signal) {
        let (lanes, level_bits) = (self.lanes, level_bits(self.levels));
        let quantizer: NonZeroQuantizerPorts =
            m.instance("u_quantizer", NonZeroQuantizer { lanes, tag_width: self.tag_width() });
        let (from, to) = (&monitor.result, &quantizer.tile);
        m.connect(to.valid, from.valid);
        m.connect(from.ready, to.ready);
        m.connect(to.field("bits"), from.field("bits"));
        for name in ["index", "open", "x", "lo", "range"] {
            m.connect_each(&format!("monitored_{name}"), to.array(name), from.array(name));
        }
        let tag = cat(&[from.array("level").packed(), from.field("overflow"), from.field("tag")]);
        m.connect(to.field("tag"), tag);

        let (from, to) = (&quantizer.result, &io.result);
        m.connect(to.valid, from.valid);
        m.connect(from.ready, to.ready);
        m.connect(to.field("bits"), from.field("bits"));
        for name in ["index", "label", "open", "range", "zero"] {
            m.connect_each(&format!("quantized_{name}"), to.array(name), from.array(name));
        }
        let compactor: CompactorPorts = m.instance("u_compactor", Compactor { lanes, width: 8 });
        m.connect_each("labels", compactor.mask_i, from.array("label"));
        m.connect_each("quantized", compactor.data_i, from.array("q"));
        m.connect_each("values", to.array("values"), compactor.data_o);
        let tag = m.wire("tag", from.field("tag"));
        m.connect(to.field("last"), tag.bit(0));
        m.connect(to.field("initial"), tag.bit(1));
        m.connect(to.field("overflow"), tag.bit(2));
        let levels: Array = to.array("level");
        for lane in 0..lanes {
            let low = 3 + lane * level_bits;
            m.connect(levels.at(lane), tag.slice(low..low + level_bits));
        }
        let overflow = m.reg_init("overflow_q", bit(), 0);
        overflow.next((overflow.q | (to.fire() & tag.bit(2))) & !start);
        m.connect(io.overflow_o, overflow.q);
    }

    /// Tiles leave complete and in order: as many as entered, with initial ones ahead of those of a prefill.
    fn properties(&self, m: &mut Module, io: &QuantizationUnitPorts) {
        m.formal(|m| {
            let ty = uint(4);
            let entered = m.reg_init("formal_entered_q", ty, 0);
            let fresh = m.wire("formal_start", io.start.fire());
            entered.next(mux(fresh, ty.lit(0), entered.q.wrapping_add(io.tile.fire())));
            let left = m.reg_init("formal_left_q", ty, 0);
            let token = m.wire("formal_token", io.result.fire() & !io.result.field("initial"));
            left.next(mux(fresh, ty.lit(0), left.q.wrapping_add(token)));
            let waiting = m.wire("formal_waiting", entered.q.wrapping_sub(left.q));
            let token_offered = io.result.valid & !io.result.field("initial");
            m.assert_always("no_tile_from_nowhere", !token_offered | waiting.ne(0));
            let ends = io.result.valid & io.result.field("last");
            m.assert_always("last_leaves_nothing_behind", !ends | waiting.eq(1));
            // One bit of the first lane follows each tile in a queue of its own.
            let depth = 4 + self.buffer_tiles();
            let queue = m.reg_init("formal_queue_q", uint(depth), 0);
            let bit_in = io.tile.array("index").at(0);
            let shifted = mux(io.tile.fire(), cat(&[queue.q.slice(0..depth - 1), bit_in]), queue.q);
            queue.next(shifted);
            let expected = queue.q.bit_at(waiting.wrapping_sub(1));
            let got = io.result.array("index").at(0);
            m.assert_always("tiles_in_order", !token_offered | got.eq(expected));
            let prefilled = m.reg_init("formal_prefilled_q", bit(), 0);
            prefilled.next_when(fresh, io.start.field("prefill").ne(0));
            m.cover("decode_after_prefill", prefilled.q & io.result.fire() & left.q.eq(2));
        });
    }
}

impl Default for QuantizationUnit {
    fn default() -> Self {
        Self { lanes: 32, tiles: 2, levels: 16, buffer_tokens: 32, layers: 12 }
    }
}

impl CatalogBlock for QuantizationUnit {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "lanes", allowed: "2 to 256", meaning: "channels of a tile" },
        OldParameter { name: "tiles", allowed: "1 to 4096", meaning: "tiles of a token" },
        OldParameter { name: "levels", allowed: "1 to 256", meaning: "levels that a channel may have" },
        OldParameter {
            name: "buffer_tokens",
            allowed: "1 to 65535 / tiles",
            meaning: "tokens that the prefill buffer holds",
        },
        OldParameter { name: "layers", allowed: "1 to 1024", meaning: "layers with a bit width of their own" },
    ];

    fn configurations() -> Vec<Self> {
        let set = |lanes, tiles, levels, buffer_tokens, layers| Self { lanes, tiles, levels, buffer_tokens, layers };
        vec![set(2, 1, 1, 1, 1), set(5, 3, 4, 6, 3)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = Self { lanes: 2, tiles: 1, levels: 1, buffer_tokens: 1, layers: 1 };
        vec![Proof { block, depth: 3, cover_depth: 10, induction: true }]
    }
}
