//! Brings tokens that `token_saver` wrote to memory back to a head, with their scores.

use super::attention_spec::AttentionSpec;
use super::token_saver::{FRONT_BITS, NUMBER};
use crate::accelerators::sizes::fit;
use crate::blocks::common::bus::RowBeat;
use crate::lang::{
    About, Block, In, InOption, InStream, Module, Out, OutOption, Signal, bit, bits_for, cat, mux, or_all, parameters,
    ports, select, uint,
};

/// Bits of the front that have a meaning, with one byte that is 0: the score, the number, the slot.
const MEANT: u32 = 64;

parameters! {
    /// Elaboration parameters.
    pub struct TokenRestorer {
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
    }
}

ports! {
    /// Ports of [`TokenRestorer`].
    pub struct TokenRestorerPorts(p: &TokenRestorer) {
        /// Drops everything.
        clear_i: In = bit(),
        /// An operation begins; the one before has ended.
        begin_i: In = bit(),
        /// Position of the first token: how many the head has. Steady from begin_i up to done_o, as the other sizes.
        first_i: In = p.spec.position(),
        /// Tokens; not 0.
        tokens_i: In = p.spec.count(),
        /// Slices of a vector; not 0.
        slices_i: In = uint(bits_for(p.spec.slices().into())),
        /// All tokens are in the head.
        done_o: Out = bit(),
        /// Rows of a token each, as token_saver writes them.
        rows: InStream<RowBeat> = p.spec.spec.axi.clone(),
        /// Read a position of the list.
        read_o: Out = bit(),
        /// The position.
        position_o: Out = p.spec.position(),
        /// A beat of the key or of the value comes.
        vector_valid_o: Out = bit(),
        /// It is of the value.
        vector_value_o: Out = bit(),
        /// Its place in the vector.
        vector_beat_o: Out = uint(bits_for(p.spec.vector_beats().into())),
        /// Its elements.
        vector_data_o: Out = uint(16 * p.spec.spec.lanes()),
        /// Slots in which the head has a token.
        held_i: InOption = uint(p.spec.recompute).when(p.spec.recompute > 0),
        /// The row is not one that this build saves: a score beyond the top, a bit that must be 0, a slot that does not
        /// exist or is in use. High until clear_i.
        wrong_o: Out = bit(),
        /// The token is to be written to the row of the cache that the position has, up to written_i. All of its vectors
        /// have come.
        write_o: Out = bit(),
        /// The write is done. The head has a token more in the next cycle.
        written_i: In = bit(),
        /// Score of the token; with write_o.
        score_o: Out = uint(p.spec.score_width),
        /// Its number; with write_o.
        number_o: OutOption = uint(NUMBER).when(p.spec.recompute > 0),
        /// For one cycle, right after the write: the token has a slot, so its key and value go.
        keep_o: OutOption = bit().when(p.spec.recompute > 0),
        /// The slot; with keep_o.
        slot_o: OutOption = p.spec.slot().when(p.spec.recompute > 0),
    }
}

const STATES: [&str; 6] = ["Idle", "Front", "Key", "Value", "Write", "Keep"];
/// States of a build without recomputation.
const FEWER: usize = 5;

impl Block for TokenRestorer {
    type Ports = TokenRestorerPorts;
    const ABOUT: About = About {
        name: "token_restorer",
        summary: "rows of memory as tokens of a head: score, key, value",
        contract: "Each row becomes the youngest token of the head. Its front is taken first, then its key and value,\n\
            a beat a cycle; then it is written. A row with wrong_o is not written, and nothing more is taken.",
        reference: "Kelle, section 5.1",
    };

    fn build(&self, m: &mut Module, io: &TokenRestorerPorts) {
        let spec = &self.spec;
        let lanes = spec.spec.lanes();
        let states = if spec.recompute > 0 { &STATES[..] } else { &STATES[..FEWER] };
        let state = m.fsm("state", states);
        let (front, key, value) = (state.is("Front"), state.is("Key"), state.is("Value"));
        let wrong = m.net("wrong", bit());

        m.comment("Beats of the part of the row that comes.");
        let front_beats = FRONT_BITS / spec.spec.axi.data_width;
        let beat_ty = uint(bits_for(spec.vector_beats().max(front_beats).into()));
        let beat = m.reg("beat_q", beat_ty);
        m.connect(io.rows.ready, front | ((key | value) & !wrong));
        let takes = m.wire("takes", io.rows.fire());
        let per_slice = (spec.spec.columns / lanes).trailing_zeros();
        let vector = fit(io.slices_i.shl(per_slice), beat_ty.width);
        let length = m.wire("length", mux(front, beat_ty.lit(front_beats), vector));
        let next = m.wire("next_beat", beat.q.wrapping_add(1));
        let ends = m.wire("part_ends", takes & next.eq(length));
        beat.next(select(&[(io.begin_i | ends, beat_ty.lit(0)), (takes, next)], beat.q));
        for signal in [io.rows.bytes, io.rows.row_last, io.rows.last] {
            m.unused(signal);
        }
        m.connect_pairs([
            (io.vector_valid_o, takes & (key | value)),
            (io.vector_value_o, value),
            (io.vector_beat_o, fit(beat.q, io.vector_beat_o.width())),
            (io.vector_data_o, io.rows.data.data),
        ]);

        let found = self.front(m, io, (takes & front, beat.q));
        m.connect(wrong, key & found.wrong);
        m.connect(io.wrong_o, wrong);
        m.connect(io.score_o, found.score);

        m.comment("The next token has the row after the youngest one.");
        let written = m.wire("written", state.is("Write") & io.written_i);
        let kept = io.keep_o.map(|_| state.is("Keep"));
        let token_ends = match (kept, found.has_slot) {
            (Some(kept), Some(has)) => kept | (written & !has),
            _ => written,
        };
        let token_ends = m.wire("token_ends", token_ends);
        let position = m.reg("position_q", spec.position());
        position.next(select(&[(io.begin_i, io.first_i), (token_ends, position.q.wrapping_add(1))], position.q));
        let left = m.reg("left_q", spec.count());
        left.next(select(&[(io.begin_i, io.tokens_i), (token_ends, left.q.wrapping_sub(1))], left.q));
        m.connect(io.read_o, front);
        m.connect(io.position_o, position.q);
        m.connect(io.write_o, state.is("Write"));
        m.connect_option(io.number_o, found.number);
        m.connect_option(io.keep_o, kept);
        m.connect_option(io.slot_o, found.slot);
        m.connect(io.done_o, state.is("Idle"));

        for &from in states {
            state.goto(from, io.clear_i, "Idle");
        }
        state.goto("Idle", io.begin_i, "Front");
        for (from, to) in [("Front", "Key"), ("Key", "Value"), ("Value", "Write")] {
            state.goto(from, ends, to);
        }
        if let Some(has) = found.has_slot {
            state.goto("Write", written & has, "Keep");
        }
        for &from in &states[FEWER - 1..] {
            state.goto(from, token_ends & left.q.eq(1), "Idle");
            state.goto(from, token_ends, "Front");
        }
    }
}

/// What the front of a row says.
struct Front {
    wrong: Signal,
    score: Signal,
    number: Option<Signal>,
    has_slot: Option<Signal>,
    slot: Option<Signal>,
}

impl TokenRestorer {
    /// The front of the row, which comes beat by beat with `takes`.
    fn front(&self, m: &mut Module, io: &TokenRestorerPorts, (takes, beat): (Signal, Signal)) -> Front {
        m.comment("The front of the row: what is meant, and that all else is 0.");
        let spec = &self.spec;
        let bus = spec.spec.axi.data_width;
        let part = bus.min(MEANT);
        let parts: Vec<Signal> = (0..MEANT / part)
            .map(|k| {
                let kept = m.reg(&format!("front_{k}_q"), uint(part));
                kept.next_when(takes & beat.eq(k), io.rows.data.data.slice(0..part));
                kept.q
            })
            .collect();
        let all: Vec<Signal> = parts.into_iter().rev().collect();
        let all = m.wire("front", cat(&all));
        let meant = m.wire("meant_beat", beat.lt(MEANT / part));
        let beyond = if bus > MEANT { io.rows.data.data.slice(MEANT..bus).any() } else { bit().lit(0) };
        let other = m.wire("not_zero", mux(meant, beyond, io.rows.data.data.any()));
        let strange = m.reg_init("strange_q", bit(), 0);
        strange.next(!io.clear_i & !io.begin_i & (strange.q | (takes & other)));
        let [number, slot, zero] = [(32, 48), (48, 56), (56, 64)].map(|(from, to)| all.slice(from..to));
        let mut wrong = vec![strange.q, zero.any()];
        if spec.score_width < 32 {
            wrong.push(all.slice(spec.score_width..32).any());
        }
        let mut front = Front {
            wrong: bit().lit(0),
            score: all.slice(0..spec.score_width),
            number: io.number_o.map(|_| number),
            has_slot: None,
            slot: None,
        };
        if let (Some(held), Some(slot_o)) = (io.held_i, io.slot_o) {
            wrong.push(slot.gt(spec.recompute));
            wrong.extend((0..spec.recompute).map(|k| held.bit(k) & slot.eq(k + 1)));
            front.has_slot = Some(m.wire("has_slot", slot.any()));
            front.slot = Some(fit(slot.wrapping_sub(1), slot_o.width()));
        } else {
            wrong.extend([number.any(), slot.any()]);
        }
        front.wrong = m.wire("front_is_wrong", or_all(bit(), &wrong));
        front
    }
}
