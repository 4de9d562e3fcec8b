//! Writes tokens of a head to memory, with their scores.

use super::attention_spec::AttentionSpec;
use crate::accelerators::sizes::fit;
use crate::blocks::common::stream::Word;
use crate::blocks::kelle::KvAccess;
use crate::lang::{
    About, Block, In, InArray, InOption, Module, Out, OutStream, bit, bits_for, cat, mux, parameters, ports, select,
    uint,
};

/// Bits before the key of a token.
pub(super) const FRONT_BITS: u32 = 512;
/// Bits of the number of a token.
pub(super) const NUMBER: u32 = 16;
/// Bits of its slot, counted from 1.
pub(super) const SLOT: u32 = 8;
/// Bytes before the key of a token.
pub(super) const FRONT_BYTES: u32 = FRONT_BITS / 8;

parameters! {
    /// Elaboration parameters.
    pub struct TokenSaver {
        /// Sizes.
        spec: AttentionSpec = AttentionSpec::default();
    }
}

impl TokenSaver {
    /// Beats before the key of a token.
    fn head_beats(&self) -> u32 {
        FRONT_BITS / self.spec.spec.axi.data_width
    }
}

ports! {
    /// Ports of [`TokenSaver`].
    pub struct TokenSaverPorts(p: &TokenSaver) {
        /// Drops everything.
        clear_i: In = bit(),
        /// An operation begins; the one before has ended.
        begin_i: In = bit(),
        /// Position of the first token; steady from begin_i up to done_o, as the other sizes.
        first_i: In = p.spec.position(),
        /// Tokens; not 0.
        tokens_i: In = p.spec.count(),
        /// Slices of a vector; not 0.
        slices_i: In = uint(bits_for(p.spec.slices().into())),
        /// All has left.
        done_o: Out = bit(),
        /// Read a position of the list.
        read_o: Out = bit(),
        /// The position.
        position_o: Out = p.spec.position(),
        /// Its row, from the next cycle on and up to the next read.
        row_i: In = p.spec.row(),
        /// Score of that row, a cycle later.
        score_i: In = uint(p.spec.score_width),
        /// Its number, from the cycle after its first access up to its end.
        number_i: InOption = uint(NUMBER).when(p.spec.recompute > 0),
        /// Its slot, counted from 1, or 0 if it has none; likewise.
        slot_i: InOption = uint(SLOT).when(p.spec.recompute > 0),
        /// To the cache.
        access: OutStream<KvAccess> = p.spec.cache(),
        /// The data of the read is here.
        data_valid_i: In = bit(),
        /// With data_valid_i.
        data_i: InArray = uint(16).array(p.spec.width),
        /// Rows: the score, number and slot where tokens have them, and zeros, 64 bytes, the key, the value.
        output: OutStream<Word> = p.spec.spec.axi.data_width,
    }
}

const STATES: [&str; 6] = ["Idle", "Find", "Ask", "Take", "Head", "Vector"];

impl Block for TokenSaver {
    type Ports = TokenSaverPorts;
    const ABOUT: About = About {
        name: "token_saver",
        summary: "tokens of a head as rows for memory: score, key, value",
        contract: "Tokens in order of age from first_i on. A token's key is read and leaves after the score, then\n\
            its value.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &TokenSaverPorts) {
        let spec = &self.spec;
        let lanes = spec.spec.lanes();
        let beats = spec.vector_beats();
        let state = m.fsm("state", &STATES);
        let position = m.reg("position_q", spec.position());
        let left = m.reg("left_q", spec.count());
        let value = m.reg("value_q", bit());
        let leaves = m.wire("leaves", io.output.fire());
        let beat_ty = uint(bits_for(beats.max(self.head_beats()).into()));
        let beat = m.reg("beat_q", beat_ty);
        let per_slice = (spec.spec.columns / lanes).trailing_zeros();
        let vector = fit(io.slices_i.shl(per_slice), beat_ty.width);
        let length = m.wire("length", mux(state.is("Head"), beat_ty.lit(self.head_beats()), vector));
        let next = m.wire("next_beat", beat.q.wrapping_add(1));
        let ends = m.wire("part_ends", leaves & next.eq(length));
        beat.next(select(&[(state.is("Take") | ends, beat_ty.lit(0)), (leaves, next)], beat.q));
        let token_ends = m.wire("token_ends", ends & state.is("Vector") & value.q);
        position.next(select(&[(io.begin_i, io.first_i), (token_ends, position.q.wrapping_add(1))], position.q));
        left.next(select(&[(io.begin_i, io.tokens_i), (token_ends, left.q.wrapping_sub(1))], left.q));
        let vector_ends = m.wire("vector_ends", ends & state.is("Vector"));
        value.next(mux(io.begin_i, bit().lit(0), value.q ^ vector_ends));

        m.comment("A key or a value, as it comes.");
        m.connect(io.read_o, state.is("Find"));
        m.connect(io.position_o, position.q);
        let one = bit().lit(1);
        m.connect_pairs([
            (io.access.valid, state.is("Ask")),
            (io.access.write, bit().lit(0)),
            (io.access.value, value.q),
            (io.access.high, one),
            (io.access.low, one),
            (io.access.row, io.row_i),
        ]);
        let kept = m.regs("kept", uint(16 * lanes), beats);
        let elements = m.split("elements", io.data_i.packed(), uint(16 * lanes).array(beats));
        m.for_each("kept_beats", beats, |m, k| kept.next_when(m, k, io.data_valid_i, elements.at(k)));
        let nothing = uint(16 * lanes).lit(0);
        let named = io.slot_i.zip(io.number_i).map(|(slot, number)| cat(&[slot, number]));
        let score = match named {
            None => mux(beat.q.any(), nothing, fit(io.score_i, 16 * lanes)),
            Some(named) if lanes == 2 => {
                let second = mux(beat.q.eq(1), fit(named, 32), nothing);
                mux(beat.q.any(), second, fit(io.score_i, 32))
            }
            Some(named) => {
                let both = cat(&[named, fit(io.score_i, 32)]);
                mux(beat.q.any(), nothing, fit(both, 16 * lanes))
            }
        };
        let score = m.wire("score", score);
        m.connect(io.output.valid, state.is("Head") | state.is("Vector"));
        let place = fit(beat.q, crate::lang::index_width(beats.into()));
        m.connect(io.output.data.data, mux(state.is("Head"), score, kept.q.at(place)));
        m.connect(io.done_o, state.is("Idle"));

        for from in STATES {
            state.goto(from, io.clear_i, "Idle");
        }
        state.goto("Idle", io.begin_i, "Find");
        state.goto("Find", bit().lit(1), "Ask");
        state.goto("Ask", io.access.ready, "Take");
        state.goto("Take", io.data_valid_i & !value.q, "Head");
        state.goto("Take", io.data_valid_i, "Vector");
        state.goto("Head", ends, "Vector");
        state.goto("Vector", ends & !value.q, "Ask");
        state.goto("Vector", ends & left.q.eq(1), "Idle");
        state.goto("Vector", ends, "Find");
    }
}
