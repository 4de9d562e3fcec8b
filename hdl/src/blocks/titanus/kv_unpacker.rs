//! KV unpacker: blocks from off-chip memory become quantized tiles again.
//!
//! Two blocks are held; a window of one chunk slides over them. The length of a chunk follows from the ones of its
//! index, of its labels and of its mask of opened levels. So one chunk a cycle is cut off. The first stage keeps chunks
//! as they came, until a tile is complete and it is known whether another beat follows it. The second stage brings the
//! tile's parts back to their lanes.
//!
//! The bytes are not trusted. The first damage that is met ends the stream for the consumer, with a beat of its own.
//! The rest is thrown away, up to the stream's last block.

mod chunk;
mod properties;
mod tile;
mod window;

use self::chunk::Chunk;
use self::window::Window;
use super::format::demand_chunk_fits;
use super::{ByteBlock, StoredTile};
use crate::lang::{
    About, Block, CatalogBlock, Fsm, InStream, Module, OutStream, Proof, Signal, Timing, bit, parameters, ports,
};

parameters! {
    /// Elaboration parameters.
    pub struct KvUnpacker {
        /// Channels of a tile.
        lanes: u32 = 32, in 2..=64, tag "l";
        /// Bytes of a block.
        block_bytes: u32 = 64, in 3..=256,
            note "8 block_bytes at least 2 + 10 lanes and lanes + 18 ceil(lanes / 2)", tag "b";
        /// Checks the CRC-32 that comes with the last block.
        checksum: bool = false, tag "crc";
    }
    rules = |p, rules| demand_chunk_fits(p.lanes, p.block_bytes, rules);
}

ports! {
    /// Ports of [`KvUnpacker`].
    pub struct KvUnpackerPorts(p: &KvUnpacker) {
        /// Blocks of streams, one stream after the other.
        block: InStream<ByteBlock> = (p.block_bytes, p.checksum),
        /// Tiles of the same streams.
        tile: OutStream<StoredTile> = p.lanes,
    }
}

impl Block for KvUnpacker {
    type Ports = KvUnpackerPorts;
    const ABOUT: About = About {
        name: "kv_unpacker",
        summary: "cuts blocks of bytes into quantized tiles, and flags damaged streams",
        contract: "The tiles of the stream of docs/blocks/titanus-format.md, in order; values from lane 0 on and 0\n\
            above, all else in its lane, range and zero 0 where open is 0. The format's page lists the ways in\n\
            which a stream can be damaged. A reader sees some of them without levels and sizes of tokens. A stream\n\
            with such damage gives the tiles before the damage, then one beat with error. So each stream, whatever\n\
            its bytes, gives one beat with last. The block after block_last is in step again. A tile takes 1 cycle,\n\
            one more when it opens levels, and one more when it opens more than half of its lanes (rounded up). A\n\
            stream takes one more for its header and one for each window of padding begun (2 + 10 lanes or lanes +\n\
            18 ceil(lanes / 2) bits). Latency 3 cycles from the block that holds the two bits after a tile. Reset\n\
            drops the stream: the next block begins a new one.",
        reference: "Titanus, section 4.4 (DQU reconstruction); this project's byte format",
    };

    fn build(&self, m: &mut Module, io: &KvUnpackerPorts) {
        let fsm = m.fsm("state", &["Header", "Token", "Levels", "MoreLevels", "Padding", "Skip"]);
        let window = self.window(m, io);
        let chunk = self.parse(m, &fsm, &window);
        let control = Control::new(m, &fsm, &window, &chunk);
        self.assemble(m, io, &fsm, &window, &chunk, &control);
        m.formal(|m| self.properties(m, io, &fsm, &window, &control));
    }

    fn timing(&self) -> Timing {
        Timing::new()
            .latency(3u32)
            .beat(1u32)
            .phase("opening_tile", 3u32, "from a tile that opens more than half of its lanes to the next tile")
            .phase("header", 1u32, "from the first block of a stream to its first tile")
    }
}

/// Events of a cycle, and the state of the stream.
struct Control {
    /// The chunk is taken.
    cut: Signal,
    /// The beat of a damaged stream goes into the first stage.
    close: Signal,
    /// That beat is the first one of its stream.
    close_first: Signal,
    /// The tile that is cut is the first one of its stream.
    fresh: Signal,
    /// The first stage holds a beat.
    complete: Signal,
    /// It is known whether another beat of the stream follows the one in the first stage, and it is the last one.
    known: Signal,
    last: Signal,
    /// It is the beat of a damaged stream.
    is_closing: Signal,
    /// Driven by the second stage, which takes that beat when it is known.
    accepts: Signal,
    /// For the formal section: a beat with last that waits to go into the first stage, and the tile there is the last
    /// one.
    closes: Signal,
    ended: Signal,
}

impl Control {
    fn new(m: &mut Module, fsm: &Fsm, window: &Window, chunk: &Chunk) -> Self {
        let complete = m.reg_init("complete_q", bit(), 0);
        let closes = m.reg_init("closes_q", bit(), 0);
        let ended = m.reg_init("ended_q", bit(), 0);
        let fresh = m.reg_init("fresh_q", bit(), 1);
        let close_first = m.reg("close_first_q", bit());
        let accepts = m.net("stage_accepts", bit());
        let moves = m.net("stage_moves", bit());

        m.comment("A chunk that belongs to a tile waits until the first stage is free.");
        let free = m.wire("stage_free", !complete.q | moves);
        let judged = m.wire("judged", window.enough & !fsm.is("Skip"));
        let damaged = m.wire("damaged", judged & chunk.damaged & !closes.q);
        let cut = m.wire("cut", judged & !chunk.damaged & (!chunk.of_tile | (free & !closes.q)));
        m.connect(window.cut, cut);
        m.connect(window.length, chunk.length);
        m.connect(window.skip, fsm.is("Skip") & window.present);
        let done = m.wire("tile_done", cut & chunk.completes);
        let over = m.wire("stream_over", window.over);

        m.comment("A beat for damage: found in a chunk, or, when the stream ends with its last tile, after that tile.");
        let bad_end = m.wire("bad_end", done & over & chunk.bad_end);
        let close = m.wire("close", closes.q & free);
        closes.next(damaged | bad_end | (closes.q & !close));
        close_first.next_when(damaged | bad_end, fresh.q & damaged);
        fresh.next(over | (fresh.q & !done));

        m.comment(
            "The tile in the first stage is the last one when the stream ends well; otherwise something follows it.",
        );
        let good_end = m.wire("good_end", window.enough & chunk.padding_ends);
        let is_closing = m.reg("is_closing_q", bit());
        is_closing.next_when(done | close, close);
        let follows = m.wire("follows", fsm.is("Token") & window.two & chunk.kind.any());
        let last = m.wire("stage_last", ended.q | good_end | is_closing.q);
        let known = m.wire("stage_known", last | closes.q | follows);
        m.connect(moves, complete.q & known & accepts);
        complete.next(done | close | (complete.q & !moves));
        ended.next((done & over & !bad_end) | ((ended.q | good_end) & !moves));

        for state in ["Header", "Token", "Levels", "MoreLevels", "Padding"] {
            fsm.goto(state, damaged, "Skip");
        }
        for state in ["Header", "Token", "Levels", "MoreLevels", "Padding", "Skip"] {
            fsm.goto(state, over, "Header");
        }
        fsm.goto("Header", cut, "Token");
        fsm.goto("Token", cut & !chunk.kind.any(), "Padding");
        fsm.goto("Token", cut & chunk.kind.bit(1), "Levels");
        fsm.goto("Levels", cut & chunk.more, "MoreLevels");
        fsm.goto("Levels", cut, "Token");
        fsm.goto("MoreLevels", cut, "Token");
        let (fresh, close_first, complete, is_closing) = (fresh.q, close_first.q, complete.q, is_closing.q);
        let (closes, ended) = (closes.q, ended.q);
        Self { cut, close, close_first, fresh, complete, known, last, is_closing, accepts, closes, ended }
    }
}

impl KvUnpacker {
    fn block_bits(&self) -> u32 {
        8 * self.block_bytes
    }
}

impl CatalogBlock for KvUnpacker {
    fn configurations() -> Vec<Self> {
        let set = |lanes, block_bytes, checksum| Self { lanes, block_bytes, checksum };
        vec![set(2, 3, true), set(5, 8, false)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        vec![Proof {
            block: Self { lanes: 2, block_bytes: 3, checksum: false },
            depth: 4,
            cover_depth: 12,
            induction: true,
        }]
    }
}
