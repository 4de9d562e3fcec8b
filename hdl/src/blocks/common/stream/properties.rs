//! What is proved of everything that stores beats: no beat is lost, doubled or reordered.

use super::Word;
use crate::lang::{Module, Signal, Stream, uint};

/// The environment numbers the beats that it offers; they must come out in that order, and as many must be inside as
/// `inside` says. Blocks never look at data and never change it, so the proof with numbers holds for all data.
#[track_caller]
pub(super) fn assert_queue(
    m: &mut Module,
    width: u32,
    input: &Stream<Word>,
    output: &Stream<Word>,
    clear: Signal,
    inside: Signal,
) {
    let ty = uint(width);
    let entered = m.reg_init("formal_entered_q", ty, 0);
    let left = m.reg_init("formal_left_q", ty, 0);
    let next = |count: Signal, moves: Signal| count.wrapping_add(moves.extend(width));
    let came = m.wire("formal_came", next(entered.q, input.fire()));
    entered.next(came);
    // Dropped beats will not come out.
    left.next(crate::lang::mux(clear, came, next(left.q, output.fire())));
    m.assume("beats_are_numbered", input.data.data.eq(entered.q));
    m.assert_always("in_order", !output.valid | output.data.data.eq(left.q));
    let number = entered.q.wrapping_sub(left.q);
    m.assert_always("none_lost", number.eq(inside.extend(width)));
    m.assert_always("nothing_taken_while_cleared", !(clear & input.fire()));
    let waits = m.reg_init("formal_waits_q", crate::lang::bit(), 0);
    waits.next(output.valid & !output.ready & !clear);
    m.assert_always("valid_stays", !waits.q | output.valid);
    m.cover("several_passed", left.q.eq(3));
    m.cover("cleared_while_full", clear & inside.any() & !input.ready);
}
