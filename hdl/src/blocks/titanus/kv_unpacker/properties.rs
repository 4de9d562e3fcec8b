//! Proofs of the unpacker: no block is lost, and each stream ends exactly once at the output, whatever its bytes.

use super::control::Control;
use super::window::Window;
use super::{KvUnpacker, KvUnpackerPorts};
use crate::lang::{Fsm, Module, bit, uint};

impl KvUnpacker {
    pub(super) fn properties(
        &self,
        m: &mut Module,
        io: &KvUnpackerPorts,
        fsm: &Fsm,
        window: &Window,
        control: &Control,
    ) {
        let (ty, tile) = (uint(3), &io.tile);
        let mut count = |name: &str, event| {
            let counter = m.reg_init(&format!("formal_{name}_q"), ty, 0);
            counter.next_when(event, counter.q.wrapping_add(1));
            counter.q
        };
        let came = count("came", io.block.fire());
        let gone = count("gone", window.freed);
        let ends_came = count("ends_came", io.block.fire() & io.block.last);
        let ends_gone = count("ends_gone", window.over);
        let ends_left = count("ends_left", tile.fire() & tile.last);
        m.assert_always("blocks_conserved", came.wrapping_sub(gone).eq(window.present + window.next));
        m.assert_always("blocks_in_order", window.present | !window.next);
        let held = (window.present & window.last) + (window.next & window.next_last);
        m.assert_always("ends_conserved", ends_came.wrapping_sub(ends_gone).eq(held));

        // A stream begins with first and ends with last, and nothing is between two streams.
        let begins = m.reg_init("formal_begins_q", bit(), 1);
        begins.next_when(tile.fire(), tile.last);
        m.assert_always("first_follows_last", !tile.valid | tile.first.eq(begins.q));
        let empty = !tile.index.packed().any() & !tile.open.packed().any();
        m.assert_always("error_carries_no_tile", !(tile.valid & tile.error) | (tile.last & empty));

        // As many streams end at the output as at the input. The end of a damaged one is on its way out from its damage
        // on, while its blocks still come.
        let closing = control.complete & control.is_closing;
        let inside = (control.closes + (control.ended | closing)) + (tile.valid & tile.last);
        let owed = ends_gone.wrapping_sub(ends_left).wrapping_add(fsm.is("Skip"));
        m.assert_always("each_stream_ends_once", owed.eq(inside));
        m.assert_always("ended_is_a_tile", !control.ended | (control.complete & !control.is_closing));
        // Where the next beat of the first stage is first: between streams, and in a stream that has given none yet.
        m.cover("a_good_stream", tile.valid & tile.last & !tile.error);
        m.cover("a_damaged_stream", tile.valid & tile.error & !tile.first);
    }
}
