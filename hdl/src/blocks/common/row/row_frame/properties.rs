//! What is proved of the frame: rows that leave are the rows that came, with their lengths, answers and errors.

use super::{Gate, RowFrame, RowFramePorts};
use crate::lang::{Module, Signal, bit, bits_for, cat, mux, uint};

/// A FIFO.
#[derive(Clone, Copy)]
pub(super) struct Fifo {
    /// A beat goes in.
    pub push: Signal,
    pub room: Signal,
    /// Beats in it.
    pub level: Signal,
}

/// What the properties see in addition to the ports.
pub(super) struct Inside<'a> {
    /// The FIFO of beats that wait.
    pub beats: Fifo,
    /// The FIFO of answers.
    pub answers: Fifo,
    /// The FIFO of results.
    pub results: Fifo,
    /// Beats that were let in and have not started.
    pub waiting: Signal,
    /// Places of the output that are taken.
    pub taken: Signal,
    /// The beat that came last.
    pub gate: &'a Gate,
}

impl RowFrame {
    /// The environment numbers the beats that are not dropped, and the answers. The frame never looks at data, so the
    /// proof with numbers holds for all data.
    pub(super) fn properties(&self, m: &mut Module, io: &RowFramePorts, inside: &Inside) {
        let (w, rw) = (self.width, self.result_width);
        m.formal(|m| {
            let fifos = [("beats_fit", inside.beats), ("answers_fit", inside.answers), ("results_fit", inside.results)];
            for (name, fifo) in fifos {
                m.assert_always(name, !fifo.push | fifo.room | io.clear_i);
            }
            m.assert_always("waiting_are_counted", (inside.waiting + 0).ge(inside.beats.level));
            m.assert_always("taken_are_counted", (inside.taken + 0).ge(inside.results.level));
            let waits = m.reg_init("formal_waits_q", bit(), 0);
            waits.next(io.output.valid & !io.output.ready & !io.clear_i);
            m.assert_always("offer_stays", !waits.q | io.output.valid);
            m.assert_always("nothing_taken_while_cleared", !(io.clear_i & io.input.fire()));
            m.cover("cleared_while_waiting", io.clear_i & waits.q);
            m.cover("drops", inside.gate.dropping & io.input.fire());
            // Small enough for a solver, and wide enough for the numbers.
            if w != 3 || rw != 2 || self.output_width != w + rw || self.row_width != 1 {
                return;
            }
            self.numbered(m, io);
        });
    }

    fn numbered(&self, m: &mut Module, io: &RowFramePorts) {
        let used = bits_for(self.lanes.into());
        let clear = io.clear_i;
        let step = |count: Signal, moves: Signal| count.wrapping_add(moves.extend(count.width()));
        // Beats: as data they carry a number of two bits, and whether the beat ends a row.
        let beats = m.reg_init("formal_beats_q", uint(2), 0);
        let place = m.reg_init("formal_place_q", uint(bits_for(self.max_beats.into())), 0);
        // From the ports alone: which beats belong to a row, and where it ends.
        let fire = m.wire("formal_fire", io.input.fire());
        let dropping = m.reg_init("formal_dropping_q", bit(), 0);
        let store = m.wire("formal_store", fire & !dropping.q);
        let last = m.wire("formal_last", io.input.last | place.q.eq(self.max_beats - 1));
        dropping.next(mux(fire, (dropping.q | last) & !io.input.last, dropping.q) & !clear);
        let none = place.q.ty().lit(0);
        place.next(mux(clear | (store & last), none, step(place.q, store)));
        let came = m.wire("formal_came", step(beats.q, store));
        beats.next(came);
        m.assume("beats_are_numbered", io.input.data.data.eq(cat(&[last, beats.q])));
        // Answers: the parity of the row, and its error.
        let wrong = io.input.used.eq(0) | io.input.used.gt(self.lanes);
        let error = m.wire("formal_error", mux(io.input.last, wrong, place.q.eq(self.max_beats - 1)));
        let rows = m.reg_init("formal_rows_q", bit(), 0);
        let rows_came = m.wire("formal_rows_came", rows.q ^ (store & last));
        rows.next(rows_came);
        m.assume("rows_are_numbered", !store | io.row_i.unwrap_or(rows.q).eq(rows.q));
        let shown = m.reg("formal_answer_q", uint(2));
        let gate_error = m.reg("formal_gate_error_q", bit());
        gate_error.next(error);
        shown.next(cat(&[gate_error.q, io.beat_row_o.unwrap_or(rows.q)]));
        m.assume("answers_are_numbered", io.result_i.eq(shown.q));
        let lane = m.reg("formal_lane_q", uint(5));
        lane.next(cat(&[io.lane_result_o, io.lane_data_o]));
        m.assume("lanes_pass", io.lane_i.eq(lane.q));

        let left = m.reg_init("formal_left_q", uint(2), 0);
        left.next(mux(clear, came, step(left.q, io.output.fire())));
        let rows_left = m.reg_init("formal_rows_left_q", bit(), 0);
        rows_left.next(mux(clear, rows_came, rows_left.q ^ (io.output.fire() & io.output.last)));
        let word = io.output.data.data;
        let shown = |m: &mut Module, name: &str, holds: Signal| m.assert_always(name, !io.output.valid | holds);
        shown(m, "beats_in_order", word.slice(0..2).eq(left.q));
        shown(m, "rows_end_where_they_did", word.bit(2).eq(io.output.last));
        shown(m, "answer_of_its_row", word.bit(3).eq(rows_left.q));
        shown(m, "error_of_its_row", word.bit(4).eq(io.output.error));
        let whole = io.output.used.eq(uint(used).lit(self.lanes));
        shown(m, "whole_but_at_the_end", io.output.last | whole);
        shown(m, "used_is_legal", io.output.used.ge(1) & io.output.used.le(self.lanes));
        shown(m, "error_means_whole", !io.output.error | !io.output.last | whole);
        m.cover("second_row_leaves", io.output.fire() & io.output.last & rows_left.q);
        m.cover("wrong_row_leaves", io.output.fire() & io.output.error);
    }
}
