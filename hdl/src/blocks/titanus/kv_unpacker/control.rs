//! Which chunk is taken, and when a tile leaves.

use super::chunk::Chunk;
use super::window::Window;
use crate::lang::{Fsm, Module, Signal, bit};

/// Events of a cycle, and the state of the stream.
pub(super) struct Control {
    /// The chunk is taken.
    pub(super) cut: Signal,
    /// The beat of a damaged stream goes into the first stage.
    pub(super) close: Signal,
    /// That beat is the first one of its stream.
    pub(super) close_first: Signal,
    /// The tile that is cut is the first one of its stream.
    pub(super) fresh: Signal,
    /// The first stage holds a beat.
    pub(super) complete: Signal,
    /// It is known whether another beat of the stream follows the one in the first stage, and it is the last one.
    pub(super) known: Signal,
    pub(super) last: Signal,
    /// It is the beat of a damaged stream.
    pub(super) is_closing: Signal,
    /// Driven by the second stage, which takes that beat when it is known.
    pub(super) accepts: Signal,
    /// For the formal section: a beat with last that waits to go into the first stage, and the tile there is the last
    /// one.
    pub(super) closes: Signal,
    pub(super) ended: Signal,
}

impl Control {
    pub(super) fn new(m: &mut Module, fsm: &Fsm, window: &Window, chunk: &Chunk) -> Self {
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
