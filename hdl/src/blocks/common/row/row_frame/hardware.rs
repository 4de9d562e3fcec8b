//! The frame put together.

use super::super::pipe::{later, later_valid};
use super::properties::{Fifo, Inside};
use super::{RowFrame, RowFramePorts, count};
use crate::lang::{About, Block, Module, Timing, bit, bits_for, cat, uint};

impl Block for RowFrame {
    type Ports = RowFramePorts;
    const ABOUT: About = About {
        name: "row_frame",
        summary: "keeps rows while they are analysed, and hands out their beats with the answer",
        contract: "Rows enter in beats of `lanes` elements. All elements are used, except in the beat with\n\
            input_last_i, which uses the first input_used_i elements. beat_* shows each beat one cycle after it\n\
            came. result_i answers a row `analysis` cycles after its last beat was shown. With `preparation` kept_i\n\
            is the prepared beat, `preparation` cycles after its beat. Then lane_* shows the row's beats with the\n\
            answer, and lane_i is the changed beat `scaling` cycles later. Changed beats leave in order.\n\
            Broken rules are repaired and told by output_error_o in all beats of the row: input_used_i of 0 or more\n\
            than `lanes` counts as `lanes`, and the beats of a row after the first max_beats are taken and dropped.\n\
            clear_i drops all rows inside, even a row that has not ended: the next beat begins a row.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &RowFramePorts) {
        let (used, clear) = (bits_for(self.lanes.into()), io.clear_i);
        let start = m.net("start", bit());
        let waiting = m.reg_init("waiting_q", uint(bits_for(self.buffer.into())), 0);
        let room = m.wire("room", waiting.q.lt(self.buffer));
        let gate = self.gate(m, io, room);
        count(waiting, gate.store, start, clear);

        m.comment("A beat waits here for the answer to its row.");
        let kept = m.instance("u_kept", self.fifo(self.kept() + used + 1, self.buffer));
        let stored = later_valid(m, "stored", gate.valid, self.preparation, clear);
        let beside = later(m, "stored_beside", cat(&[gate.last, gate.used]), self.preparation);
        let data = io.kept_i.unwrap_or(gate.data);
        m.connect(kept.clear_i, clear);
        m.connect(kept.input.valid, stored);
        m.connect(kept.input.data.data, cat(&[beside, data]));
        m.unused(kept.input.ready);
        m.unused(kept.almost_full_o);

        m.connect(io.beat_valid_o, gate.valid);
        m.connect(io.beat_first_o, gate.first);
        m.connect(io.beat_last_o, gate.last);
        m.connect(io.beat_used_o, gate.used);
        m.connect(io.beat_count_o, gate.count);
        m.connect(io.beat_data_o, gate.data);
        m.connect_option(io.beat_row_o, gate.row);

        m.comment("The answers. There are never more answers than waiting beats.");
        let ends = later_valid(m, "ends", gate.valid & gate.last, self.analysis, clear);
        let error = later(m, "error", gate.error, self.analysis);
        let answers = m.instance("u_answers", self.fifo(self.result_width + 1, self.buffer));
        m.connect(answers.clear_i, io.clear_i);
        m.connect(answers.input.valid, ends);
        m.connect(answers.input.data.data, cat(&[error, io.result_i]));
        m.unused(answers.input.ready);
        m.unused(answers.level_o);
        m.unused(answers.almost_full_o);

        m.comment("A beat starts when its place at the output is free.");
        let depth = self.places();
        let taken = m.reg_init("taken_q", uint(bits_for(depth.into())), 0);
        m.connect(start, kept.output.valid & answers.output.valid & taken.q.lt(depth));
        count(taken, start, io.output.fire(), clear);
        let (beat, width) = (kept.output.data.data, self.kept());
        let (data, beat_used) = (beat.slice(0..width), beat.slice(width..width + used));
        let ends_row = m.wire("ends_row", beat.msb());
        m.connect(kept.output.ready, start);
        m.connect(answers.output.ready, start & ends_row);
        let answer = answers.output.data.data;
        let lane_valid = later_valid(m, "lane_valid", start, 1, io.clear_i);
        m.connect(io.lane_valid_o, lane_valid);
        let data = later(m, "lane_data", data, 1);
        m.connect(io.lane_data_o, data);
        let result = later(m, "lane_result", answer.slice(0..self.result_width), 1);
        m.connect(io.lane_result_o, result);

        let leaves = later_valid(m, "leaves", lane_valid, self.scaling, io.clear_i);
        let beside = cat(&[answer.msb(), ends_row, beat_used]);
        let beside = later(m, "beside", beside, 1 + self.scaling);
        let output = m.instance("u_output", self.fifo(self.output_width + used + 2, depth));
        m.connect(output.clear_i, io.clear_i);
        m.connect(output.input.valid, leaves);
        m.connect(output.input.data.data, cat(&[beside, io.lane_i]));
        m.unused(output.input.ready);
        m.unused(output.almost_full_o);
        m.connect_handshake(&io.output, &output.output);
        let word = output.output.data.data;
        let ow = self.output_width;
        m.connect(io.output.data.data, word.slice(0..ow));
        m.connect(io.output.used, word.slice(ow..ow + used));
        m.connect(io.output.last, word.bit(ow + used));
        m.connect(io.output.error, word.bit(ow + used + 1));

        let inside = Inside {
            beats: Fifo { push: stored, room: kept.input.ready, level: kept.level_o },
            answers: Fifo { push: ends, room: answers.input.ready, level: answers.level_o },
            results: Fifo { push: leaves, room: output.input.ready, level: output.level_o },
            waiting: waiting.q,
            taken: taken.q,
            gate: &gate,
        };
        self.properties(m, io, &inside);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}
