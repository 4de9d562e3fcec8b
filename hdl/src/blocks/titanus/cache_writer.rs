//! Cache writer: the one open pair of streams of a layer, keys and values, as whole blocks with their places.
//!
//! The streams stay open while a text goes on: their levels, and the bits that do not fill a block, stay in the
//! compressor. To give a sequence up, the writer ends it with a tile of zeros and throws all its blocks away. So
//! nothing of the sequence remains anywhere.

use super::format::demand_chunk_fits;
use super::{ByteBlock, KvCompressor, KvCompressorPorts, OpenTail, bits_type};
use crate::lang::{
    About, Block, Bundle, CatalogBlock, Field, FieldArray, In, InStream, Module, Out, OutBundle, OutStream, Proof,
    Signal, Stream, Timing, Type, bit, bits_for, bundle, cat, index_width, mux, parameters, ports, sint, uint,
};

/// Bits of a number of blocks.
pub const BLOCKS: u32 = 32;

/// Bits of a number of tokens.
pub const TOKENS: u32 = 16;

parameters! {
    /// Elaboration parameters.
    pub struct CacheWriter {
        /// Channels of a tile.
        lanes: u32 = 32, in 2..=64, tag "l";
        /// Tiles of a token.
        tiles: u32 = 2, in 1..=4096, tag "t";
        /// Levels that a channel may have.
        levels: u32 = 16, in 1..=256, tag "n";
        /// Tokens that the quantization buffers hold.
        buffer_tokens: u32 = 32, in 1..=65_535, note "at most 65535 / tiles", tag "b";
        /// Bytes of a block.
        block_bytes: u32 = 64, in 3..=256,
            note "8 block_bytes at least 2 + 10 lanes and lanes + 18 ceil(lanes / 2)", tag "k";
    }
    rules = |p, rules| {
        demand_chunk_fits(p.lanes, p.block_bytes, rules);
        rules.part("buffer_tokens", &p.compressor());
    };
}

bundle! {
    /// Begins a sequence.
    pub struct CacheStart(_unit: ()) {
        /// Tokens of the prefill.
        prefill: Field = uint(TOKENS),
        /// Keys with a magnitude below this become 0.
        threshold_k: Field = uint(8),
        /// Values with a magnitude below this become 0.
        threshold_v: Field = uint(8),
        /// Width of quantized keys, 2 to 8.
        bits_k: Field = bits_type(),
        /// Width of quantized values, 2 to 8.
        bits_v: Field = bits_type(),
    }
}

bundle! {
    /// A tile of a token.
    pub struct CacheTile(lanes: u32) {
        /// Keys.
        k: FieldArray = sint(8).array(*lanes),
        /// Values.
        v: FieldArray = sint(8).array(*lanes),
    }
}

bundle! {
    /// A block for memory, of so many bytes.
    pub struct CacheBlock(block_bytes: u32) {
        /// It is a block of values.
        values: Field = bit(),
        /// Its number in its stream, from 0.
        number: Field = uint(BLOCKS),
        /// Bytes, byte 0 in the low bits.
        data: Field = uint(8 * *block_bytes),
    }
}

ports! {
    /// Ports of [`CacheWriter`].
    pub struct CacheWriterPorts(p: &CacheWriter) {
        /// Gives the sequence up: no tile is taken in this cycle, and from the next one on no block of it is offered.
        clear_i: In = bit(),
        /// No sequence is being given up, also not by clear_i in this cycle: a start is taken in the cycle in which it
        /// is offered.
        idle_o: Out = bit(),
        /// Begins a sequence. An open sequence is given up first. The start is taken at once, or when that is done.
        start: InStream<CacheStart> = (),
        /// Tiles of the sequence, token after token.
        tile: InStream<CacheTile> = p.lanes,
        /// Blocks that are full.
        block: OutStream<CacheBlock> = p.block_bytes,
        /// A sequence is open.
        open_o: Out = bit(),
        /// All tiles that were taken are in blocks that left and in the tails.
        settled_o: Out = bit(),
        /// Tokens of the open sequence that came whole.
        tokens_o: Out = uint(TOKENS),
        /// Blocks of keys that left.
        blocks_k_o: Out = uint(BLOCKS),
        /// Blocks of values that left.
        blocks_v_o: Out = uint(BLOCKS),
        /// The part of the keys that is in no block; it means something with settled_o.
        tail_k: OutBundle<OpenTail> = (p.block_bytes, true),
        /// The part of the values that is in no block.
        tail_v: OutBundle<OpenTail> = (p.block_bytes, true),
        /// A key of the open sequence was out of tolerance when its channel had no level left.
        overflow_k_o: Out = bit(),
        /// A value of the open sequence was out of tolerance when its channel had no level left.
        overflow_v_o: Out = bit(),
    }
}

impl CacheWriter {
    fn compressor(&self) -> KvCompressor {
        let Self { lanes, tiles, levels, buffer_tokens, block_bytes } = *self;
        KvCompressor { lanes, tiles, levels, buffer_tokens, layers: 1, block_bytes, checksum: true, spare_blocks: 0 }
    }

    /// Type of a number of blocks of one stream: as many as the most tokens can have.
    fn number(&self) -> Type {
        uint(bits_for(self.compressor().most_blocks((1 << TOKENS) - 1)).min(BLOCKS))
    }
}

const STATES: [&str; 5] = ["Closed", "Configure", "Begin", "Open", "Drop"];

impl Block for CacheWriter {
    type Ports = CacheWriterPorts;
    const ABOUT: About = About {
        name: "cache_writer",
        summary: "keeps the open streams of keys and values of a layer and gives whole blocks with their numbers",
        contract: "The blocks of kv_compressor, with checksums, of a sequence that is never ended. Keys and values\n\
            come in the order in which they become full, each side's in its own order. settled_o comes a few cycles\n\
            after the last tile of a token, and, in a sequence with a prefill, not before all tokens of the prefill\n\
            came. With it, blocks and tail of a side are a whole stream. clear_i at any time, also beside a start,\n\
            which then begins nothing. Tiles wait until a sequence is open. A sequence has at most 65535 tokens;\n\
            the numbers of its blocks are as wide as these need. A start with a width outside of 2 to 8\n\
            begins a sequence with the widths and thresholds of the one before: the sender of the start checks it.",
        reference: "Titanus, section 4.3",
    };

    fn build(&self, m: &mut Module, io: &CacheWriterPorts) {
        let fsm = m.fsm("state", &STATES);
        let going = m.wire("going", !io.clear_i);
        let compressor = m.instance("u_compressor", self.compressor());
        m.free_in_proofs("u_compressor");
        let leaves = io.clear_i & (fsm.is("Begin") | fsm.is("Open"));
        m.connect(io.idle_o, !(fsm.is("Drop") | leaves));
        m.connect(io.open_o, fsm.is("Open"));
        m.connect(io.start.ready, fsm.is("Closed") & going);
        let started = m.wire("started", io.start.fire());
        let start = io.start.hold(m, "start", started);
        m.connect(compressor.config_write_i, fsm.is("Configure"));
        m.connect(compressor.config_layer_i, 0);
        m.connect_pairs([
            (compressor.threshold_k_i, start.threshold_k),
            (compressor.threshold_v_i, start.threshold_v),
            (compressor.bits_k_i, start.bits_k),
            (compressor.bits_v_i, start.bits_v),
            (compressor.start.prefill, start.prefill),
        ]);
        m.unused(compressor.config_refused_o);
        m.connect(compressor.start.layer, 0);
        m.connect(compressor.start.valid, fsm.is("Begin"));

        m.comment("Tiles; a last one of zeros ends a sequence that is given up.");
        let ends = m.reg_init("ended_q", bit(), 0);
        let drops = m.wire("drops", fsm.is("Drop"));
        let tile = &compressor.tile;
        let takes = m.wire("takes", fsm.is("Open") & going & tile.ready);
        m.connect(io.tile.ready, takes);
        let taken = m.wire("taken", io.tile.fire());
        m.connect(tile.valid, mux(drops, !ends.q, fsm.is("Open") & going & io.tile.valid));
        ends.next(drops & (ends.q | tile.ready));
        m.connect(tile.layer, 0);
        m.connect(tile.length, mux(drops, tile.length.ty().lit(0), tile.length.ty().lit(self.lanes)));
        m.connect_each("keys", tile.k, io.tile.k);
        m.connect_each("values", tile.v, io.tile.v);
        m.connect(tile.last, drops);
        let (token, place) = self.tokens(m, io, started, taken);
        m.connect(io.tokens_o, token);

        let offered = self.blocks(m, io, &compressor, (started, drops));
        let inside = Inside { started, taken, place, closed: fsm.is("Closed"), opened: fsm.is("Open"), drops };
        self.properties(m, io, &compressor, &inside);
        let over = [("k", &compressor.k), ("v", &compressor.v)].map(|(name, side)| {
            let register = m.reg_init(&format!("{name}_over_q"), bit(), 0);
            let now = m.wire(&format!("{name}_over"), register.q | (side.fire() & side.last));
            register.next(drops & now);
            now
        });
        let dropped = m.wire("dropped", drops & ends.q & over[0] & over[1]);
        let (tail_k, tail_v) = (&compressor.tail_k, &compressor.tail_v);
        io.tail_k.drive(m, "k", tail_k);
        io.tail_v.drive(m, "v", tail_v);
        m.connect(io.settled_o, fsm.is("Open") & tail_k.valid & tail_v.valid & !offered);
        m.connect(io.overflow_k_o, fsm.is("Open") & compressor.overflow_k_o);
        m.connect(io.overflow_v_o, fsm.is("Open") & compressor.overflow_v_o);

        fsm.goto("Closed", started, "Configure");
        fsm.goto("Configure", io.clear_i, "Closed");
        fsm.goto("Configure", true, "Begin");
        fsm.goto("Begin", compressor.start.ready & io.clear_i, "Drop");
        fsm.goto("Begin", io.clear_i, "Closed");
        fsm.goto("Begin", compressor.start.ready, "Open");
        fsm.goto("Open", io.clear_i | io.start.valid, "Drop");
        fsm.goto("Drop", dropped, "Closed");
    }

    fn timing(&self) -> Timing {
        Timing::new().phase("begin", 3, "from a start to the first tile, when no sequence is open")
    }
}

impl CacheWriter {
    /// Whole tokens since the start, and the place of the next tile in its token.
    fn tokens(&self, m: &mut Module, io: &CacheWriterPorts, started: Signal, taken: Signal) -> (Signal, Signal) {
        let (place, count) = (uint(index_width(self.tiles.into())), uint(TOKENS));
        let tile = m.reg("tile_q", place);
        let whole = m.wire("whole", tile.q.eq(self.tiles - 1));
        let next = mux(started | whole, place.lit(0), tile.q.wrapping_add(1));
        tile.next_when(started | taken, next);
        let tokens = m.reg_init("tokens_q", count, 0);
        let more = tokens.q.wrapping_add((taken & whole).extend(TOKENS));
        tokens.next(mux(io.clear_i | started, count.lit(0), more));
        (tokens.q, tile.q)
    }

    /// Blocks of both sides, keys first; a block that is shown stays until it is taken. Returns whether there is one.
    fn blocks(
        &self,
        m: &mut Module,
        io: &CacheWriterPorts,
        from: &KvCompressorPorts,
        (started, drops): (Signal, Signal),
    ) -> Signal {
        let sides: [&Stream<ByteBlock>; 2] = [&from.k, &from.v];
        let held = m.reg_init("held_q", bit(), 0);
        let side = m.reg("side_q", bit());
        let values = m.wire("values_turn", mux(held.q, side.q, !from.k.valid));
        let offered = m.wire("offered", from.k.valid | from.v.valid);
        m.connect(io.block.valid, offered & !drops);
        let waits = io.block.valid & !io.block.ready & !io.clear_i;
        held.next(waits);
        side.next(values);
        let gone = m.wire("gone", io.block.fire());
        let mut numbers = Vec::new();
        for (k, (name, side)) in ["k", "v"].into_iter().zip(sides).enumerate() {
            let turn = if k == 0 { !values } else { values };
            m.connect(side.ready, drops | (io.block.ready & turn));
            let count = self.number();
            let number = m.reg_init(&format!("{name}_blocks_q"), count, 0);
            let more = number.q.wrapping_add((gone & turn).extend(count.width));
            number.next(mux(started, count.lit(0), more));
            numbers.push(number.q.extend(BLOCKS));
            if let Some(crc) = side.crc {
                m.unused(crc);
            }
        }
        m.connect(io.blocks_k_o, numbers[0]);
        m.connect(io.blocks_v_o, numbers[1]);
        m.connect(io.block.values, values);
        m.connect(io.block.number, mux(values, numbers[1], numbers[0]));
        m.connect(io.block.data.data, mux(values, from.v.data.data, from.k.data.data));
        offered
    }
}

/// What the properties see in addition to the ports.
struct Inside {
    /// A start is taken.
    started: Signal,
    /// A tile is taken.
    taken: Signal,
    /// The place of the next tile in its token.
    place: Signal,
    /// There is no sequence.
    closed: Signal,
    /// Tiles of a sequence are taken.
    opened: Signal,
    /// A sequence is given up.
    drops: Signal,
}

/// Blocks of a side, and their known properties: whose they are, which number they must have, which block is due.
struct Watched<'a> {
    name: &'static str,
    blocks: &'a Stream<ByteBlock>,
    mine: Signal,
    number: Signal,
}

impl CacheWriter {
    /// Every tile that is taken goes to the compressor once, in order, and nothing else does but the tile that ends a
    /// sequence. Every block of a sequence gets the next number of its side and stays until it is taken. A sequence
    /// that is given up offers nothing.
    fn properties(&self, m: &mut Module, io: &CacheWriterPorts, compressor: &KvCompressorPorts, inside: &Inside) {
        let Inside { started, taken, place, closed, opened: _, drops } = *inside;
        if self.lanes > 2 || !self.tiles.is_power_of_two() {
            return;
        }
        let shift = self.tiles.trailing_zeros();
        m.formal(|m| {
            let goes = compressor.tile.fire();
            m.assert_always("no_tile_lost_or_doubled", taken.eq(goes & !drops));
            let same =
                compressor.tile.k.packed().eq(io.tile.k.packed()) & compressor.tile.v.packed().eq(io.tile.v.packed());
            m.assert_always("tiles_as_they_are", !taken | (same & !compressor.tile.last));
            let wide = uint(TOKENS + shift);
            let tiles = m.reg_init("formal_tiles_q", wide, 0);
            let more = tiles.q.wrapping_add(taken.extend(wide.width));
            tiles.next(mux(started | io.clear_i, wide.lit(0), more));
            m.assert_always("tokens_that_came", io.tokens_o.eq(tiles.q.slice(shift..wide.width)));
            if shift > 0 {
                let right = place.eq(tiles.q.slice(0..shift));
                m.assert_always("the_place_in_a_token", closed | drops | right);
            }
            let ended = m.reg_init("formal_ended_q", bit(), 0);
            let begins = m.wire("formal_begins", compressor.start.fire());
            ended.next(!begins & (ended.q | (goes & compressor.tile.last)));
            let sides = [
                Watched { name: "keys", blocks: &compressor.k, mine: !io.block.values, number: io.blocks_k_o },
                Watched { name: "values", blocks: &compressor.v, mine: io.block.values, number: io.blocks_v_o },
            ];
            let open = sides.map(|side| self.blocks_of(m, io, &side, (begins, ended.q), inside));
            m.assume("starts_wait_for_both_ends", !(compressor.start.ready & (open[0] | open[1])));
            let waits = io.block.valid & !io.block.ready & !io.clear_i & !(io.open_o & io.start.valid);
            let waited = m.reg_init("formal_waited_q", bit(), 0);
            waited.next(waits);
            let shown = cat(&[io.block.values, io.block.number, io.block.data.data]);
            let kept = m.reg("formal_kept_q", shown.ty());
            kept.next(shown);
            m.assert_always("a_block_stays", !waited.q | (io.block.valid & shown.eq(kept.q)));
            let gone = m.reg_init("formal_gone_q", bit(), 1);
            gone.next((gone.q | io.clear_i) & !started);
            m.assert_always("nothing_of_what_was_given_up", !(gone.q & io.block.valid));
            m.cover("a_block_that_waits", waited.q & io.block.fire());
            m.cover("a_second_sequence", started & tiles.q.any());
        });
    }

    /// The blocks of one side. The compressor is assumed to offer blocks in a sequence only, and to hold them until
    /// they are taken. It ends each sequence with a last block, after the last tile. Returns whether a sequence of it
    /// is open.
    fn blocks_of(
        &self,
        m: &mut Module,
        io: &CacheWriterPorts,
        side: &Watched<'_>,
        (begins, ended): (Signal, Signal),
        inside: &Inside,
    ) -> Signal {
        let Inside { started, opened, drops, .. } = *inside;
        let Watched { name, blocks, mine, number } = *side;
        let named = |what: &str| format!("formal_{name}_{what}");
        let open = m.reg_init(&named("open_q"), bit(), 0);
        let over = m.wire(&named("over"), blocks.fire() & blocks.last);
        open.next(begins | (open.q & !over));
        m.assume(&format!("{name}_of_a_sequence"), !blocks.valid | open.q);
        m.assume(&format!("{name}_end_behind_the_last_tile"), !(blocks.valid & blocks.last) | ended);
        let waited = m.reg_init(&named("waited_q"), bit(), 0);
        waited.next(blocks.valid & !blocks.ready);
        let shown = cat(&[blocks.last, blocks.data.data]);
        let kept = m.reg(&named("kept_q"), shown.ty());
        kept.next(shown);
        m.assume(&format!("{name}_stay"), !waited.q | (blocks.valid & shown.eq(kept.q)));

        let count = self.number();
        let left = m.reg_init(&named("left_q"), count, 0);
        let leaves = m.wire(&named("leave"), blocks.fire() & !drops);
        left.next(mux(started, count.lit(0), left.q.wrapping_add(leaves.extend(count.width))));
        m.assert_always(&format!("blocks_of_{name}_are_counted"), number.eq(left.q.extend(BLOCKS)));
        let right = io.block.number.eq(left.q.extend(BLOCKS)) & io.block.data.data.eq(blocks.data.data);
        m.assert_always(&format!("blocks_of_{name}_in_order"), !(io.block.valid & mine) | right);
        m.assert_always(&format!("{name}_leave_as_offered"), leaves.eq(io.block.fire() & mine));
        m.assert_always(&format!("{name}_end_when_given_up"), !over | drops);
        m.assert_always(&format!("{name}_while_open"), !open.q | opened | drops);
        open.q
    }
}

impl CatalogBlock for CacheWriter {
    fn configurations() -> Vec<Self> {
        vec![
            Self { lanes: 5, tiles: 3, levels: 4, buffer_tokens: 6, block_bytes: 8 },
            Self { lanes: 2, tiles: 1, levels: 2, buffer_tokens: 2, block_bytes: 3 },
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = |tiles| Self { lanes: 2, tiles, levels: 1, buffer_tokens: 1, block_bytes: 3 };
        let proof = |tiles| Proof { block: block(tiles), depth: 10, cover_depth: 14, induction: true };
        vec![proof(1), proof(2)]
    }
}
