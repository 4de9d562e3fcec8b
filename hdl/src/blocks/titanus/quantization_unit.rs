//! Quantization unit: hierarchical quantization of pruned tiles, tokens of the prefill first.
//!
//! Four states. Prefill: tiles go to the quantization buffer and, back at their channels, to the max-min finder.
//! Quant.: the extremes become level 0 of each channel (one tile a cycle), then the buffered tiles are quantized.
//! Decode: tiles pass through channel monitor (1 cycle) and non-zero quantizer (2 cycles) as they come. Idle: a new
//! sequence may start.

use super::tile_state::TileCounter;
use super::tiles::PrunedTile;
use super::{
    ChannelMonitor, ChannelMonitorPorts, MaxMinFinder, NonZeroQuantizer, RANGE_BITS, ZERO_BITS, bits_type, level_bits,
};
use crate::blocks::common::{Compactor, Expander};
use crate::lang::{
    About, Block, CatalogBlock, Field, FieldArray, In, InStream, Module, Out, OutStream, Proof, Signal, Timing, bit,
    bits_for, bundle, cat, index_width, mux, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct QuantizationUnit {
        /// Channels of a tile.
        lanes: u32 = 32, in 2..=256, tag "l";
        /// Tiles of a token.
        tiles: u32 = 2, in 1..=4096, tag "t";
        /// Levels that a channel may have.
        levels: u32 = 16, in 1..=256, tag "n";
        /// Tokens that the quantization buffer holds.
        buffer_tokens: u32 = 32, in 1..=65_535, note "at most 65535 / tiles", tag "b";
        /// Layers with a width of quantized values of their own.
        layers: u32 = 12, in 1..=1024, tag "y";
    }
    rules = |p, rules| {
        let most = 65_535 / p.tiles;
        rules.demand(p.buffer_tokens <= most, "buffer_tokens", p.buffer_tokens, format!("1 to {most} with tiles = {}", p.tiles));
    };
}

bundle! {
    /// Starts a sequence.
    pub struct SequenceStart(layers: u32) {
        /// Layer of the sequence.
        layer: Field = uint(index_width(u64::from(*layers))),
        /// Tokens of the sequence that are prefill.
        prefill: Field = uint(TOKEN_BITS),
    }
}

bundle! {
    /// A quantized tile with the levels of its channels; without them it is a [`QuantizedTile`](super::QuantizedTile).
    pub struct HierarchicalTile(p: QuantizationUnit) {
        /// Width of a quantized value in this sequence, 2 to 8.
        bits: Field = bits_type(),
        /// The tile carries levels only: the levels after the prefill.
        initial: Field = bit(),
        /// Per lane: the element is not zero.
        index: FieldArray = bit().array(p.lanes),
        /// Per lane: the quantized value is not zero.
        label: FieldArray = bit().array(p.lanes),
        /// Quantized values with label 1, in order from lane 0 on, 0 above.
        values: FieldArray = uint(8).array(p.lanes),
        /// Per lane: the channel opens a level.
        open: FieldArray = bit().array(p.lanes),
        /// Range of the opened level, 0 without one.
        range: FieldArray = uint(RANGE_BITS).array(p.lanes),
        /// Zero point of the opened level, 0 without one.
        zero: FieldArray = sint(ZERO_BITS).array(p.lanes),
        /// The tile is the last one of its sequence.
        last: Field = bit(),
        /// Number of each channel's level, from 0.
        level: FieldArray = uint(level_bits(p.levels)).array(p.lanes),
        /// Some channel of the tile was out of tolerance and had no level left.
        overflow: Field = bit(),
    }
}

/// Whether a layer's number is below `layers`.
pub(super) fn layer_is_there(layer: Signal, layers: u32) -> Signal {
    if layers == 1 << layer.width() { bit().lit(1) } else { layer.lt(layers) }
}

/// Width of the number of prefill tokens.
const TOKEN_BITS: u32 = 16;

impl QuantizationUnit {
    fn buffer_tiles(&self) -> u32 {
        self.buffer_tokens * self.tiles
    }

    /// Fields that pass by the quantizer: levels, overflow, initial, last.
    fn tag_width(&self) -> u32 {
        self.lanes * level_bits(self.levels) + 3
    }
}

ports! {
    /// Ports of [`QuantizationUnit`].
    pub struct QuantizationUnitPorts(p: &QuantizationUnit) {
        /// Writes the width of quantized values of a layer.
        bits_write_i: In = bit(),
        /// That layer.
        bits_layer_i: In = uint(index_width(u64::from(p.layers))),
        /// Width, 2 to 8. A sequence has the width that was written before its start was taken.
        bits_i: In = bits_type(),
        /// The last write had a width outside 2 to 8 or a layer that does not exist: nothing was written. Valid from
        /// the cycle after a write to the next one; low after reset.
        bits_refused_o: Out = bit(),
        /// Starts a sequence: its layer, and how many of its tokens are prefill. A start is taken when no tile of the
        /// sequence before is inside; an earlier start waits.
        start: InStream<SequenceStart> = p.layers,
        /// Pruned tiles; `last` ends the sequence.
        tile: InStream<PrunedTile> = p.lanes,
        /// Quantized tiles, with the level of each channel.
        result: OutStream<HierarchicalTile> = p.clone(),
        /// A value of the sequence was out of tolerance when its channel had no level left. High from the cycle in
        /// which its tile is offered. So it covers the whole sequence from the offer of its last tile until the next
        /// start is taken.
        overflow_o: Out = bit(),
    }
}

impl Block for QuantizationUnit {
    type Ports = QuantizationUnitPorts;
    const ABOUT: About = About {
        name: "quantization_unit",
        summary: "per-channel quantization in which every token is quantized once (HQE)",
        contract: "start takes the width b of the layer. The first min(prefill, buffer_tokens) tokens give each\n\
            channel its level 0. Then comes one tile with initial = 1 for each tile of a token, whose open lanes\n\
            carry the ranges and zero points of these levels (none if prefill is 0). Then come all tiles in order,\n\
            quantized as in channel_monitor and non_zero_quantizer. values are the q that are not 0, in order from\n\
            lane 0 on, 0 above; range and zero are 0 where open is 0. In decode: latency 3 cycles, one tile a\n\
            cycle. A new start is taken after the tile with last has left.\n\
            last within a token ends the sequence there. The tiles that came leave as if the rest of the token had\n\
            no elements; none is added, and the next sequence is right. Tiles are taken after a start only. Only\n\
            reset breaks off a sequence, at any time: it drops all tiles and waits for a start; the widths of\n\
            layers stay. They are undefined until written. A sequence of a layer without a written width has\n\
            undefined values, but all its tiles.",
        reference: "Titanus, sections 3.2 and 4.4, figure 7",
    };

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
        let known = m.wire("known_bits", io.bits_i.ge(2) & io.bits_i.le(8));
        let accepted = m.wire("bits_accepted", known & layer_is_there(io.bits_layer_i, self.layers));
        table.write(io.bits_write_i & accepted, io.bits_layer_i, io.bits_i);
        let refused = m.reg_init("bits_refused_q", bit(), 0);
        refused.next_when(io.bits_write_i, !accepted);
        m.connect(io.bits_refused_o, refused.q);
        let chosen = table.read_async("layer_bits", io.start.layer);
        let bits = m.reg("bits_q", bits_type());
        bits.next_when(start, chosen);
        let no_prefill = m.wire("no_prefill", io.start.prefill.eq(0));

        // Prefill: count tiles and tokens, fill the buffer.
        let position = TileCounter::new(m, "tile", self.tiles);
        let count_type = uint(bits_for(u64::from(self.buffer_tiles())));
        let written = m.reg_init("written_q", count_type, 0);
        // Of a longer prefill only the tokens in the buffer count.
        let most = self.buffer_tokens;
        let counted = uint(bits_for(most.into()));
        let prefilled = mux(io.start.prefill.gt(most), counted.lit(most), io.start.prefill.truncate(counted.width));
        let left = m.reg("tokens_left_q", counted);
        // The missing part of the last token goes by without elements.
        let padding = m.reg_init("padding_q", bit(), 0);
        let store = m.wire("store", prefill & io.tile.valid & !padding.q);
        let pad = m.wire("pad", prefill & padding.q);
        let last = io.tile.last;
        m.unused(io.tile.count);
        let token_done = m.wire("token_done", store & position.last);
        written.next(mux(start, count_type.lit(0), written.q.wrapping_add(store)));
        left.next(mux(start, prefilled, left.q.wrapping_sub(token_done)));
        let ends_here = m.wire("ends_prefill", store & last);
        padding.next((ends_here & !position.last) | (pad & !position.last));
        let prefill_done = m.wire("prefill_done", (token_done & (last | left.q.eq(1))) | (pad & position.last));
        let ended = m.reg_init("ended_q", bit(), 0);
        ended.next((ended.q | ends_here) & !start);

        // Quant.: first the levels, then the buffered tiles.
        let monitor =
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
        let word = cat(&[io.tile.values.packed(), io.tile.index.packed()]);
        buffer.write(store, written.q.truncate(address.min(written.q.width())).extend(address), word);
        let word = buffer.read("word", fetch, read.q.truncate(address.min(read.q.width())).extend(address));

        // Decode, and the part for all states: elements back at their channels.
        let accept = m.wire("accept", decode & io.tile.valid & monitor.tile.ready);
        m.connect(io.tile.ready, (prefill & !padding.q) | (decode & monitor.tile.ready));
        position.step_or_clear(store | pad | accept, start);
        let expander = m.instance("u_expander", Expander { lanes, width: 8, open: true });
        let index = m.nets("index", bit(), lanes);
        let x = m.nets("x", uint(8), lanes);
        m.for_each("elements", lanes, |m, lane| {
            let stored = word.slice_at(lane * 8 + lanes, 8);
            m.connect(expander.data_i.at(lane), mux(quant, stored, io.tile.values.at(lane).as_uint()));
            m.connect(index.at(lane), mux(quant, word.slice_at(lane, 1), io.tile.index.at(lane)));
        });
        m.connect_each("mask", expander.mask_i, index);
        m.connect_each("expanded", x, expander.data_o);

        let finder = m.instance("u_finder", MaxMinFinder { lanes, tiles: self.tiles });
        let first_prefill = m.reg_init("first_prefill_q", bit(), 0);
        first_prefill.next(start | (first_prefill.q & !store));
        m.connect(finder.step_i, store | pad | load_step);
        m.connect(finder.first_i, prefill & first_prefill.q);
        m.connect(finder.update_i, store);
        let first_decode = m.reg_init("first_decode_q", bit(), 0);
        first_decode.next((start & no_prefill) | (first_decode.q & !accept));
        m.connect(monitor.tile.valid, load | replay | (decode & io.tile.valid));
        m.connect(monitor.tile.bits, bits.q);
        m.connect(monitor.tile.load, load);
        let first_load = m.reg_init("first_load_q", bit(), 0);
        first_load.next(prefill_done | (first_load.q & !load_step));
        m.connect(monitor.tile.first, (decode & first_decode.q) | first_load.q);
        let ends = m.wire("ends", mux(quant, ended.q & !loading.q & !more, last));
        m.connect(monitor.tile.tag, cat(&[load, ends]));
        m.for_each("channels", lanes, |m, lane| {
            m.connect(finder.index_i.at(lane), index.at(lane));
            m.connect(finder.x_i.at(lane), x.at(lane).as_sint());
            m.connect(monitor.tile.index.at(lane), index.at(lane));
            m.connect(monitor.tile.x.at(lane), x.at(lane).as_sint());
        });
        m.connect_each("rmax", monitor.tile.rmax, finder.rmax_o);
        m.connect_each("rmin", monitor.tile.rmin, finder.rmin_o);

        let finish = m.wire("finish", io.result.fire() & io.result.last);
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

    fn timing(&self) -> Timing {
        Timing::pipeline(3).phase(
            "levels",
            self.tiles,
            "from the end of the prefill to the first buffered tile at the monitor",
        )
    }
}

impl QuantizationUnit {
    /// From the monitor through the quantizer to the result.
    fn quantize(&self, m: &mut Module, io: &QuantizationUnitPorts, monitor: &ChannelMonitorPorts, start: Signal) {
        let (lanes, level_bits) = (self.lanes, level_bits(self.levels));
        let quantizer = m.instance("u_quantizer", NonZeroQuantizer { lanes, tag_width: self.tag_width() });
        let (from, to) = (&monitor.result, &quantizer.tile);
        m.connect_handshake(to, from);
        m.connect(to.bits, from.bits);
        m.connect_each("monitored_index", to.index, from.index);
        m.connect_each("monitored_open", to.open, from.open);
        m.connect_each("monitored_x", to.x, from.x);
        m.connect_each("monitored_lo", to.lo, from.lo);
        m.connect_each("monitored_range", to.range, from.range);
        m.connect(to.tag, cat(&[from.level.packed(), from.overflow, from.tag]));

        let (from, to) = (&quantizer.result, &io.result);
        m.connect_handshake(to, from);
        m.connect(to.bits, from.bits);
        m.connect_each("quantized_index", to.index, from.index);
        m.connect_each("quantized_label", to.label, from.label);
        m.connect_each("quantized_open", to.open, from.open);
        m.connect_each("quantized_range", to.range, from.range);
        m.connect_each("quantized_zero", to.zero, from.zero);
        let compactor = m.instance("u_compactor", Compactor { lanes, width: 8 });
        m.connect_each("labels", compactor.mask_i, from.label);
        m.connect_each("quantized", compactor.data_i, from.q);
        m.connect_each("values", to.values, compactor.data_o);
        let tag = m.wire("tag", from.tag);
        m.connect(to.last, tag.bit(0));
        m.connect(to.initial, tag.bit(1));
        m.connect(to.overflow, tag.bit(2));
        m.connect(to.level.packed(), tag.slice(3..3 + lanes * level_bits));
        let overflow = m.reg_init("overflow_q", bit(), 0);
        overflow.next((overflow.q | (to.fire() & tag.bit(2))) & !start);
        m.connect(io.overflow_o, overflow.q | (to.valid & tag.bit(2)));
    }

    /// Tiles leave complete and in order: as many as entered, with the initial tiles before the tiles of a prefill.
    fn properties(&self, m: &mut Module, io: &QuantizationUnitPorts) {
        m.formal(|m| {
            let ty = uint(4);
            let entered = m.reg_init("formal_entered_q", ty, 0);
            let fresh = m.wire("formal_start", io.start.fire());
            entered.next(mux(fresh, ty.lit(0), entered.q.wrapping_add(io.tile.fire())));
            let left = m.reg_init("formal_left_q", ty, 0);
            let token = m.wire("formal_token", io.result.fire() & !io.result.initial);
            left.next(mux(fresh, ty.lit(0), left.q.wrapping_add(token)));
            let open = m.reg_init("formal_open_q", bit(), 0);
            open.next(fresh | (open.q & !(io.result.fire() & io.result.last)));
            m.assert_always("starts_wait_for_the_last_tile", !(open.q & io.start.ready));
            m.assert_always("tiles_belong_to_a_sequence", open.q | !(io.tile.ready | io.result.valid));
            let over = m.reg_init("formal_over_q", bit(), 0);
            let over_now = m.wire("formal_over", over.q | (io.result.valid & io.result.overflow));
            over.next(over_now & !fresh);
            m.assert_always("overflow_until_the_next_start", io.overflow_o.eq(over_now));
            let waiting = m.wire("formal_waiting", entered.q.wrapping_sub(left.q));
            let token_offered = io.result.valid & !io.result.initial;
            m.assert_always("no_tile_from_nowhere", !token_offered | waiting.ne(0));
            let ends = io.result.valid & io.result.last;
            m.assert_always("last_leaves_nothing_behind", !ends | waiting.eq(1));
            // One bit of the first lane follows each tile in a queue of its own.
            let depth = 4 + self.buffer_tiles();
            let queue = m.reg_init("formal_queue_q", uint(depth), 0);
            let bit_in = io.tile.index.at(0);
            let shifted = mux(io.tile.fire(), cat(&[queue.q.slice(0..depth - 1), bit_in]), queue.q);
            queue.next(shifted);
            let expected = queue.q.bit_at(waiting.wrapping_sub(1));
            let got = io.result.index.at(0);
            m.assert_always("tiles_in_order", !token_offered | got.eq(expected));
            let prefilled = m.reg_init("formal_prefilled_q", bit(), 0);
            prefilled.next_when(fresh, io.start.prefill.ne(0));
            m.cover("decode_after_prefill", prefilled.q & io.result.fire() & left.q.eq(2));
        });
    }
}

impl CatalogBlock for QuantizationUnit {
    // With one tile, one level and one token in the buffer most counters stand still.
    const SAMPLE: &'static [(&'static str, u32)] = &[("tiles", 2), ("levels", 2), ("buffer_tokens", 2)];

    fn configurations() -> Vec<Self> {
        let set = |lanes, tiles, levels, buffer_tokens, layers| Self { lanes, tiles, levels, buffer_tokens, layers };
        vec![set(2, 1, 1, 1, 1), set(5, 3, 4, 6, 3)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = Self { lanes: 2, tiles: 1, levels: 1, buffer_tokens: 1, layers: 1 };
        vec![Proof { block, depth: 3, cover_depth: 10, induction: true }]
    }
}
