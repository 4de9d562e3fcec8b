//! Proofs of the dequantization unit: beats carry the end and the levels of the tiles that they come from.

use super::{DequantizationUnit, DequantizationUnitPorts};
use crate::lang::{Module, Signal, bit, mux, uint};

/// Tiles whose expectations the queue holds; the design has two stages.
const PLACES: u32 = 4;

impl DequantizationUnit {
    /// Against a reference that counts the levels of lane 0 for each tile of a token by itself, as tiles enter.
    pub(super) fn prove_levels(&self, m: &mut Module, io: &DequantizationUnitPorts) {
        if self.tiles > 2 {
            return;
        }
        let tile = &io.tile;
        let enters = m.wire("formal_enters", tile.fire());
        let leaves = m.wire("formal_leaves", io.result.fire());
        let between = m.reg_init("formal_between_q", bit(), 1);
        between.next_when(enters, tile.last);
        let begins = m.wire("formal_begins", tile.first | between.q);
        let is_second = if self.tiles == 1 {
            bit().lit(0)
        } else {
            let second = m.reg_init("formal_second_q", bit(), 0);
            let is_second = m.wire("formal_is_second", second.q & !begins);
            second.next_when(enters, !is_second);
            is_second
        };
        // Levels of lane 0 in each tile of a token.
        let ty = uint(crate::lang::bits_for(u64::from(self.levels) + 1));
        let counts: Vec<_> = (0..self.tiles).map(|t| m.reg_init(&format!("formal_count_{t}_q"), ty, 0)).collect();
        let here = |t: usize| if t == 1 { is_second } else { !is_second };
        let before = if self.tiles == 1 { counts[0].q } else { mux(is_second, counts[1].q, counts[0].q) };
        let opened = mux(begins, ty.lit(0), before).wrapping_add(tile.open.at(0));
        let opened = m.wire("formal_opened", opened);
        let too_many = m.wire("formal_too_many", opened.gt(self.levels));
        let counted = mux(too_many, ty.lit(self.levels), opened);
        for (t, count) in counts.iter().enumerate() {
            let after = mux(here(t), counted, mux(begins, ty.lit(0), count.q));
            count.next_when(enters, after);
        }
        let half = if self.tiles == 1 { bit().lit(0) } else { tile.last & !is_second };
        let bad = too_many | half | tile.error | tile.bits.lt(2) | tile.bits.gt(8);
        let missing = tile.index.at(0) & opened.eq(0);
        let failed = m.reg_init("formal_failed_q", bit(), 0);
        let fails = m.wire("formal_fails", bad | missing | (failed.q & !begins));
        failed.next_when(enters, fails);
        // The lowest bit of opened - 1, and 0 without a level.
        let level = opened.any() & !opened.bit(0);

        let waiting = m.reg_init("formal_waiting_q", uint(3), 0);
        waiting.next(waiting.q.wrapping_add(enters).wrapping_sub(leaves));
        let oldest = m.wire("formal_oldest", waiting.q.wrapping_sub(1));
        let expected = |m: &mut Module, name: &str, value: Signal| {
            let queue = m.reg_init(&format!("formal_{name}_queue_q"), uint(PLACES), 0);
            let longer = crate::lang::cat(&[queue.q.slice(0..PLACES - 1), value]);
            queue.next_when(enters, longer);
            m.wire(&format!("formal_{name}"), queue.q.bit_at(oldest))
        };
        let last = expected(m, "last", tile.last);
        let fails = expected(m, "error", fails);
        let low = expected(m, "level", level);
        let index = expected(m, "index", tile.index.at(0));
        let result = &io.result;
        m.assert_always("beats_come_from_tiles", !result.valid | waiting.q.any());
        m.assert_always("last_as_it_came", !result.valid | result.last.eq(last));
        // Lane 1 may find more errors.
        m.assert_always("what_is_wrong_is_flagged", !(result.valid & fails) | result.error);
        let carries = result.valid & !result.error;
        m.assert_always("level_as_counted", !carries | result.level.at(0).bit(0).eq(low));
        m.assert_always("index_as_it_came", !carries | result.index.at(0).eq(index));
        m.cover("a_good_stream", carries & result.last);
    }
}
