//! The order of tiles in a stream: the place of a tile in its token, and errors of the order.

use super::DequantizationUnitPorts;
use crate::lang::{Module, Signal, bit, index_width, mux, uint};

/// Where in its stream the offered tile is.
pub(super) struct Order {
    /// Number of the tile within its token, and of the one after it.
    pub(super) tile: Signal,
    pub(super) next: Signal,
    /// It is in the first round of tiles: channels have no level yet.
    pub(super) fresh: Signal,
    /// It is out of order, or its stream is damaged.
    pub(super) wrong: Signal,
    /// After the first stage: the first beat that the stream gives.
    pub(super) first: Signal,
    begins: Signal,
}

impl Order {
    pub(super) fn new(m: &mut Module, io: &DequantizationUnitPorts, tiles: u32, step: Signal) -> Self {
        let tile = &io.tile;
        let ty = uint(index_width(u64::from(tiles)));
        m.comment(
            "A stream begins with first, wherever the one before broke off, and after last and reset without it.",
        );
        let between = m.reg_init("between_q", bit(), 1);
        between.next_when(step, tile.last);
        let begins = m.wire("begins", tile.first | between.q);
        let counter = m.reg_init("tile_q", ty, 0);
        let number = m.wire("tile", mux(begins, ty.lit(0), counter.q));
        let closes = m.wire("tile_last", number.eq(tiles - 1));
        let next = m.wire("tile_next", mux(closes, ty.lit(0), number.wrapping_add(1)));
        counter.next_when(step, next);
        let round = m.reg_init("fresh_q", bit(), 0);
        let fresh = m.wire("fresh", begins | round.q);
        round.next_when(step, fresh & !closes);

        let initial = m.reg_init("after_initial_q", bit(), 0);
        initial.next_when(step, tile.initial);
        let after_initial = m.wire("after_initial", initial.q & !begins);
        let misplaced = tile.initial & !begins & !(after_initial & fresh);
        let incomplete = !tile.initial & after_initial & number.any();
        let cut = tile.last & (tile.initial | !closes);
        let width = tile.bits.lt(2) | tile.bits.gt(8);
        let wrong = m.wire("wrong_order", tile.error | width | misplaced | incomplete | cut);

        let due = m.reg_init("first_due_q", bit(), 0);
        let first_now = m.wire("first_now", begins | due.q);
        due.next_when(step, first_now & tile.initial & !tile.last);
        let first = m.reg("product_first_q", bit());
        first.next_when(step, first_now);
        Self { tile: number, next, fresh, wrong, first: first.q, begins }
    }

    /// After the first stage: the stream has met an error, `wrong` at the input or `late`, which is known here only.
    pub(super) fn failed(&self, m: &mut Module, step: Signal, wrong: Signal, late: Signal) -> Signal {
        let register = m.reg_init("failed_q", bit(), 0);
        // The first stage keeps the tile before, even when it has left.
        let failed = m.wire("failed", register.q | late);
        register.next_when(step, wrong | (failed & !self.begins));
        failed
    }
}
