//! Cache reader: rebuilds the tokens of a side of the cache, from whole blocks in memory and the tail that is still on
//! chip.
//!
//! Memory is not trusted. Whatever comes, there is one end, and by then all blocks that were asked for have been taken.
//! Never are more tiles given than there are tokens.

use super::cache_writer::{BLOCKS, TOKENS};
use super::format::demand_chunk_fits;
use super::{KvDecompressor, OpenTail, RebuiltTile};
use crate::blocks::common::stream::Word;
use crate::lang::{
    About, Block, CatalogBlock, Field, FieldArray, Fsm, In, InBundle, InStream, Module, Out, OutStream, Proof, Signal,
    Stream, Timing, bit, bundle, cat, index_width, mux, parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct CacheReader {
        /// Channels of a tile.
        lanes: u32 = 32, in 2..=64, tag "l";
        /// Tiles of a token.
        tiles: u32 = 2, in 1..=4096, tag "t";
        /// Levels that a channel may have.
        levels: u32 = 16, in 1..=256, tag "n";
        /// Bytes of a block.
        block_bytes: u32 = 64, in 3..=256,
            note "8 block_bytes at least 2 + 10 lanes and lanes + 18 ceil(lanes / 2)", tag "k";
    }
    rules = |p, rules| demand_chunk_fits(p.lanes, p.block_bytes, rules);
}

bundle! {
    /// Asks for a stream.
    pub struct CacheRead(_unit: ()) {
        /// Blocks that come from memory.
        blocks: Field = uint(BLOCKS),
        /// Tokens that it must have, from 1 on.
        tokens: Field = uint(TOKENS),
    }
}

bundle! {
    /// A tile of a token that was rebuilt.
    pub struct CachedTile(lanes: u32) {
        /// Values.
        x: FieldArray = sint(8).array(*lanes),
        /// The last tile of its token.
        token_last: Field = bit(),
        /// The last tile of the last token.
        last: Field = bit(),
    }
}

bundle! {
    /// How a read ended.
    pub struct CacheReadEnd(_unit: ()) {
        /// The stream is damaged, or has another number of tokens: the tiles that came are of no use.
        damaged: Field = bit(),
    }
}

ports! {
    /// Ports of [`CacheReader`].
    pub struct CacheReaderPorts(p: &CacheReader) {
        /// Gives up the read: nothing is taken in this cycle, and from the next one on no tile and no end is offered
        /// until another read began.
        clear_i: In = bit(),
        /// Nothing is being read, or given up: a read that is offered is taken at once.
        idle_o: Out = bit(),
        /// What to read.
        read: InStream<CacheRead> = (),
        /// The tail that follows the blocks; steady from the read to its end.
        tail: InBundle<OpenTail> = (p.block_bytes, true),
        /// Blocks from memory: as many as the read says.
        block: InStream<Word> = 8 * p.block_bytes,
        /// Tiles, token after token.
        tile: OutStream<CachedTile> = p.lanes,
        /// One for each read, when its last tile has been taken.
        end: OutStream<CacheReadEnd> = (),
    }
}

impl CacheReader {
    fn decompressor(&self) -> KvDecompressor {
        let Self { lanes, tiles, levels, block_bytes } = *self;
        KvDecompressor { lanes, tiles, levels, block_bytes, checksum: true }
    }
}

const STATES: [&str; 6] = ["Idle", "Blocks", "Tail", "Wait", "Tell", "Drop"];

impl Block for CacheReader {
    type Ports = CacheReaderPorts;
    const ABOUT: About = About {
        name: "cache_reader",
        summary: "rebuilds the tiles of a side of the cache from blocks in memory and the tail on chip",
        contract: "The tiles of kv_decompressor for the blocks and, unless it has no bits, the tail. The tail's\n\
            checksum is the checksum of the whole stream. damaged: kv_decompressor finds damage, or the stream has\n\
            another number of tokens than the read says. Tiles before the damage are given, at most as many as\n\
            these tokens have. The end comes when all blocks were taken, with or without damage. A read of no\n\
            blocks with an empty tail, or of no tokens, is damaged at once. Clear at any time.",
        reference: "Titanus, section 4.4",
    };

    fn build(&self, m: &mut Module, io: &CacheReaderPorts) {
        let fsm = m.fsm("state", &STATES);
        let going = m.wire("going", !io.clear_i);
        let drops = m.wire("drops", fsm.is("Drop"));
        m.connect(io.idle_o, fsm.is("Idle"));
        m.connect(io.read.ready, fsm.is("Idle") & going);
        let begins = m.wire("begins", io.read.fire());
        let decompressor = m.instance("u_decompressor", self.decompressor());
        m.free_in_proofs("u_decompressor");

        m.comment("Blocks, then the tail.");
        m.unused(io.tail.valid);
        let tailed = m.wire("tailed", io.tail.used.any());
        let left = m.reg("blocks_left_q", uint(BLOCKS));
        let (to, moves) = (&decompressor.block, m.net("moves", bit()));
        let final_block = m.wire("final_block", left.q.eq(1));
        left.next_when(begins | moves, mux(begins, io.read.blocks, left.q.wrapping_sub(1)));
        let (blocks, tail) = (fsm.is("Blocks"), fsm.is("Tail"));
        m.connect(io.block.ready, blocks & going & to.ready);
        m.connect(moves, io.block.fire());
        m.comment("A stream that is given up ends with a block of anything.");
        let feeding = m.reg_init("feeding_q", bit(), 0);
        let offers = (blocks & io.block.valid & going) | (tail & going) | (drops & feeding.q);
        m.connect(to.valid, offers);
        m.connect(to.last, drops | tail | (final_block & !tailed));
        m.connect(to.data.data, mux(tail, io.tail.data, io.block.data.data));
        m.connect_option(to.crc, io.tail.crc);
        let fed = m.wire("fed", to.fire());
        feeding.next(mux(fed, !to.last, feeding.q));
        let owed = m.reg_init("owed_q", bit(), 0);
        let result = &decompressor.result;
        let closes = m.wire("closes", result.fire() & result.last);
        m.comment("The end may be known before the last block was taken, not before the first one.");
        owed.next(mux(fed & !feeding.q, bit().lit(1), owed.q & !closes));

        m.comment("Tiles, and not more than there are tokens.");
        let place = uint(index_width(self.tiles.into()));
        let at = m.reg("tile_q", place);
        let tokens_left = m.reg("tokens_left_q", uint(TOKENS));
        let whole = m.wire("whole", at.q.eq(self.tiles - 1));
        let some = m.wire("tokens_wanted", tokens_left.q.any());
        let shows = m.wire("shows", !result.error & some & !drops);
        m.connect(io.tile.valid, result.valid & shows);
        m.connect(result.ready, !shows | io.tile.ready);
        let given = m.wire("given", io.tile.fire());
        at.next_when(begins | given, mux(begins | whole, place.lit(0), at.q.wrapping_add(1)));
        let fewer = tokens_left.q.wrapping_sub((given & whole).extend(TOKENS));
        tokens_left.next_when(begins | given, mux(begins, io.read.tokens, fewer));
        m.connect_each("rebuilt", io.tile.x, result.x);
        m.connect(io.tile.token_last, whole);
        m.connect(io.tile.last, whole & tokens_left.q.eq(1));
        for array in [result.index, result.level] {
            m.unused(array.packed());
        }
        m.unused(result.first);

        m.comment("A stream is right when its last beat is the last tile of its last token.");
        let right = m.wire("right", given & io.tile.last);
        let damaged = m.reg("damaged_q", bit());
        damaged.next_when(begins | closes, begins | !right);
        let over = m.wire("over", closes | !owed.q);
        m.connect(io.end.valid, fsm.is("Tell"));
        m.connect(io.end.damaged, damaged.q);
        let inside = Inside {
            fsm,
            begins,
            begun: fed & !feeding.q,
            closes,
            owed: owed.q,
            tokens_left: tokens_left.q,
            place: at.q,
            blocks_left: left.q,
        };
        self.properties(m, io, result, &inside);

        for from in ["Blocks", "Tail", "Wait", "Tell"] {
            fsm.goto(from, io.clear_i, "Drop");
        }
        let none = m.wire("nothing", !tailed & !io.read.blocks.any());
        fsm.goto("Idle", begins & (none | !io.read.tokens.any()), "Tell");
        fsm.goto("Idle", begins & !io.read.blocks.any(), "Tail");
        fsm.goto("Idle", begins, "Blocks");
        fsm.goto("Blocks", moves & final_block & tailed, "Tail");
        fsm.goto("Blocks", moves & final_block, "Wait");
        fsm.goto("Tail", fed, "Wait");
        fsm.goto("Wait", over, "Tell");
        fsm.goto("Tell", io.end.ready, "Idle");
        fsm.goto("Drop", !feeding.q & !owed.q, "Idle");
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(5)
    }
}

/// Signals for the properties.
struct Inside {
    fsm: Fsm,
    begins: Signal,
    /// The first block of a stream goes in; the last beat of one comes out; one is inside.
    begun: Signal,
    closes: Signal,
    owed: Signal,
    tokens_left: Signal,
    /// The place of the next tile in its token.
    place: Signal,
    blocks_left: Signal,
}

impl CacheReader {
    /// Every tile that was rebuilt is given once, in order, up to the number of tokens. All blocks are taken before the
    /// one end. A read that is given up gives nothing more. This is proved for a decompressor that gives each stream
    /// one last beat, and holds beats until they are taken.
    fn properties(&self, m: &mut Module, io: &CacheReaderPorts, result: &Stream<RebuiltTile>, inside: &Inside) {
        if self.lanes > 2 || !self.tiles.is_power_of_two() {
            return;
        }
        let Inside { fsm, begins, begun, closes, owed, tokens_left, place, blocks_left } = *inside;
        let [idle, blocks, tail, wait, tell, drops] = STATES.map(|state| fsm.is(state));
        let shift = self.tiles.trailing_zeros();
        m.formal(|m| {
            let stream = m.reg_init("formal_stream_q", bit(), 0);
            stream.next(begun | (stream.q & !closes));
            m.assume("beats_of_a_stream", !result.valid | stream.q);
            let held = m.reg_init("formal_held_q", bit(), 0);
            held.next(result.valid & !result.ready);
            let shown = cat(&[result.last, result.error, result.x.packed()]);
            let kept = m.reg("formal_kept_q", shown.ty());
            kept.next(shown);
            m.assume("beats_stay", !held.q | (result.valid & shown.eq(kept.q)));

            let wide = uint(TOKENS + shift);
            let given = m.wire("formal_given", io.tile.fire());
            let tiles = m.reg_init("formal_tiles_q", wide, 0);
            tiles.next(mux(begins, wide.lit(0), tiles.q.wrapping_add(given.extend(wide.width))));
            let asked = m.reg("formal_asked_q", uint(TOKENS));
            asked.next_when(begins, io.read.tokens);
            let open = m.reg_init("formal_open_q", bit(), 0);
            open.next((begins | (open.q & !io.end.fire())) & !io.clear_i);
            m.assert_always("one_state", idle | blocks | tail | wait | tell | drops);
            if shift == 0 {
                m.assert_always("a_token_is_a_tile", !open.q | !place.any());
            }
            m.assert_always("open_up_to_the_end", open.q.eq(!idle & !drops));
            m.assert_always("streams_are_owed", owed.eq(stream.q) & !((idle | tell) & owed));
            let scaled = |tokens: Signal| tokens.extend(wide.width).shl(shift).slice(0..wide.width);
            let rest = m.wire("formal_rest", scaled(asked.q).wrapping_sub(tiles.q));
            let due = if shift == 0 { tokens_left } else { scaled(tokens_left).wrapping_sub(place.extend(wide.width)) };
            m.assert_always("what_is_left", !open.q | rest.eq(due));
            m.assert_always("nothing_behind_the_last", !open.q | tokens_left.any() | !rest.any());
            m.assert_always("no_more_tiles_than_asked", !given | rest.any());
            m.assert_always("the_last_tile", !given | io.tile.last.eq(rest.eq(1)));
            let turn = tiles.q.wrapping_add(1);
            let ends = if shift == 0 { bit().lit(1) } else { !turn.slice(0..shift).any() };
            m.assert_always("the_last_tile_of_a_token", !given | io.tile.token_last.eq(ends));
            let rebuilt = result.fire() & !result.error & rest.any() & !drops;
            m.assert_always("no_tile_lost_or_doubled", given.eq(rebuilt));
            m.assert_always("tiles_as_they_are", !given | io.tile.x.packed().eq(result.x.packed()));
            let count = uint(BLOCKS);
            let left = m.reg("formal_left_q", count);
            let taken = io.block.fire();
            left.next_when(begins | taken, mux(begins, io.read.blocks, left.q.wrapping_sub(1)));
            m.assert_always("blocks_are_counted", !blocks | (left.q.eq(blocks_left) & left.q.any()));
            m.assert_always("no_blocks_behind_the_last", !(tail | wait) | !left.q.any());
            m.assert_always("no_more_blocks_than_asked", !taken | (open.q & left.q.any()));
            m.assert_always("an_end_behind_all_blocks", !io.end.valid | !left.q.any() | !asked.q.any());
            m.assert_always("an_end_for_a_read", !io.end.valid | open.q);
            m.assert_always("tiles_of_a_read", !io.tile.valid | open.q);
            m.assert_always("one_read_at_a_time", !begins | !open.q);
            let right = m.reg_init("formal_right_q", bit(), 0);
            right.next(!begins & mux(closes, given & io.tile.last, right.q));
            m.assert_always("right_behind_the_last_tile", !(open.q & right.q) | !rest.any());
            m.assert_always("damaged_unless_right", !open.q | io.end.damaged.eq(!right.q));
            m.assert_always("a_right_end", !(io.end.valid & !io.end.damaged) | (right.q & !rest.any()));
            m.cover("a_right_read", io.end.fire() & !io.end.damaged);
            m.cover("a_read_behind_another", begins & tiles.q.any());
        });
    }
}

impl CatalogBlock for CacheReader {
    fn configurations() -> Vec<Self> {
        vec![
            Self { lanes: 5, tiles: 3, levels: 4, block_bytes: 8 },
            Self { lanes: 2, tiles: 1, levels: 3, block_bytes: 3 },
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let block = |tiles| Self { lanes: 2, tiles, levels: 1, block_bytes: 3 };
        // For all time the solver does not come to an end.
        let proof = |tiles| Proof { block: block(tiles), depth: 10, cover_depth: 14, induction: false };
        vec![proof(1), proof(2)]
    }
}
