//! Heads, indices and outliers of tokens in their layout in memory.

use super::kllm_spec::COUNT;
use super::outlier_finder::TokenHead;
use super::quantizer_spec::{OUTLIERS, QuantizerSpec, RECORD};
use super::token_scanner::IndexBeats;
use crate::blocks::common::bus::AxiSpec;
use crate::blocks::common::stream::stream_width_converter::Part;
use crate::blocks::common::stream::{FifoStorage, StreamFifo, StreamWidthConverter, Word};
use crate::lang::{
    About, Block, CatalogBlock, In, InStream, Module, OutStream, Proof, Signal, Stream, bit, cat, mux, parameters,
    ports, select, uint,
};

/// Bits of a number of beats in the formal section.
const BITS: u32 = 7;
/// Bits of a token before its indices.
const HEAD: u32 = 512;

const STATES: [&str; 3] = ["Head", "Indices", "Outliers"];

parameters! {
    /// Elaboration parameters.
    pub struct TokenPacker {
        /// The quantizer.
        spec: QuantizerSpec = QuantizerSpec::default();
    }
    rules = |p, rules| {
        rules.part("spec.axi.data_width", &p.indices());
        rules.part("spec.axi.data_width", &p.records());
    };
}

impl TokenPacker {
    fn width(&self) -> u32 {
        self.spec.axi.data_width
    }

    fn indices(&self) -> StreamWidthConverter {
        let bits = 4 * self.spec.lanes();
        StreamWidthConverter { input_width: bits, output_width: self.width(), granule: bits }
    }

    fn records(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: RECORD, output_width: self.width(), granule: RECORD }
    }

    /// All outliers of a row: its indices leave before them.
    fn fifo(&self) -> StreamFifo {
        let depth = (2 * self.spec.kmax).min(self.spec.inner).max(2);
        StreamFifo { width: RECORD, depth, storage: FifoStorage::Memory, slack: 0 }
    }

    fn head_beats(&self) -> u32 {
        HEAD / self.width()
    }
}

ports! {
    /// Ports of [`TokenPacker`].
    pub struct TokenPackerPorts(p: &TokenPacker) {
        /// Drops everything, also beats offered in this cycle; the next head begins a token.
        clear_i: In = bit(),
        /// Beats of a token's indices, with the zeros after them, from 1 on; steady from clear_i on.
        index_beats_i: In = uint(COUNT),
        /// Beats for its outliers: room for all of them; as index_beats_i.
        outlier_beats_i: In = uint(COUNT),
        /// Indices have 3 bits; as index_beats_i.
        three_bits_i: In = bit(),
        /// Heads of tokens.
        heads: InStream<TokenHead> = (),
        /// Their indices.
        indices: InStream<IndexBeats> = p.spec.lanes(),
        /// Their outliers: for each token as many as its head says.
        records: InStream<Word> = RECORD,
        /// Tokens.
        write: OutStream<Word> = p.width(),
    }
}

impl Block for TokenPacker {
    type Ports = TokenPackerPorts;
    const ABOUT: About = About {
        name: "token_packer",
        summary: "heads, indices and outliers become tokens in memory",
        contract: "Token after token: 64 bytes of head (scale, outliers, bits of an index), then indices up to\n\
            their last beat and zeros, then outliers and zeros. Outliers of a token wait until its indices have\n\
            left: there is room for all.",
        reference: "KLLM, section III-D",
    };

    fn build(&self, m: &mut Module, io: &TokenPackerPorts) {
        let clear = io.clear_i;
        let state = m.fsm("state", &STATES);
        let [at_head, at_indices, at_outliers] = STATES.map(|name| state.is(name));
        let head_ends = m.net("head_ends", bit());
        let indices = self.index_words(m, io);
        let records = self.record_words(m, io, head_ends);

        m.comment("One part of a token after the other, each with zeros up to its end.");
        let (ty, width) = (uint(COUNT), self.width());
        // Beats of the part, this one counted.
        let left = m.reg_init("left_q", ty, self.head_beats());
        // Its bytes have left, and zeros follow.
        let over = m.reg_init("over_q", bit(), 0);
        let of_indices = m.wire("of_indices", at_indices & !over.q);
        let of_records = m.wire("of_records", at_outliers & !over.q);
        let offers = [(at_head, io.heads.valid), (of_indices, indices.valid), (of_records, records.valid)];
        m.connect(io.write.valid, select(&offers, bit().lit(1)));
        let words = [
            (at_head, self.head_word(m, io, left.q)),
            (of_indices, indices.data.data),
            (of_records, records.data.data),
        ];
        m.connect(io.write.data.data, select(&words, uint(width).lit(0)));
        m.connect(indices.ready, of_indices & io.write.ready);
        m.connect(records.ready, of_records & io.write.ready);
        let moves = m.wire("moves", io.write.fire());
        let ends = m.wire("part_ends", moves & left.q.eq(1));
        // The head stays until all of its beats have left.
        m.connect(head_ends, ends & at_head);
        m.connect(io.heads.ready, at_head & io.write.ready & left.q.eq(1));

        let room = m.wire("room", io.outlier_beats_i.any());
        let next = [(at_head, io.index_beats_i), (at_indices & room, io.outlier_beats_i)];
        let first = ty.lit(self.head_beats());
        let beats = mux(ends, select(&next, first), left.q.wrapping_sub(moves.extend(COUNT)));
        left.next(mux(clear, first, beats));
        let none = m.reg_init("no_outliers_q", bit(), 0);
        none.next_when(head_ends, !io.heads.outliers.any());
        let last = m.wire(
            "last_word",
            moves & select(&[(of_indices, indices.data.last), (of_records, records.data.last)], bit().lit(0)),
        );
        over.next(mux(ends, at_indices & none.q, over.q | last) & !clear);
        for from in STATES {
            state.goto(from, clear, "Head");
        }
        state.goto("Head", ends, "Indices");
        state.goto("Indices", ends & room, "Outliers");
        state.goto("Indices", ends, "Head");
        state.goto("Outliers", ends, "Head");
        self.properties(m, io);
    }
}

impl TokenPacker {
    /// The beat of a head with `left` beats from it to the end.
    fn head_word(&self, m: &mut Module, io: &TokenPackerPorts, left: Signal) -> Signal {
        let bits = mux(io.three_bits_i, uint(32).lit(3), uint(32).lit(4));
        let head = m.wire("head", cat(&[bits, io.heads.outliers, io.heads.scale]));
        let (width, beats) = (self.width(), self.head_beats());
        let word = |k: u32| {
            let (low, high) = (k * width, ((k + 1) * width).min(head.width()));
            (left.eq(beats - k), head.slice(low..high).extend(width))
        };
        let words: Vec<(Signal, Signal)> = (0..head.width().div_ceil(width)).map(word).collect();
        select(&words, uint(width).lit(0))
    }

    /// Indices in beats of the bus.
    fn index_words(&self, m: &mut Module, io: &TokenPackerPorts) -> Stream<Part> {
        m.comment("Indices.");
        let words = m.instance("u_indices", self.indices());
        m.connect(words.clear_i, io.clear_i);
        m.connect_handshake(&words.input, &io.indices);
        m.connect(words.input.data.data, io.indices.indices);
        m.connect(words.input.data.strobe, 1);
        m.connect(words.input.data.last, io.indices.last);
        m.unused(words.output.strobe);
        words.output
    }

    /// Outliers in beats of the bus; outliers of a token come when its head has left.
    fn record_words(&self, m: &mut Module, io: &TokenPackerPorts, head_ends: Signal) -> Stream<Part> {
        m.comment("Outliers.");
        let fifo = m.instance("u_kept", self.fifo());
        m.connect(fifo.clear_i, io.clear_i);
        m.connect_stream(&fifo.input, &io.records);
        m.unused(fifo.level_o);
        m.unused(fifo.almost_full_o);
        // Outliers of the token that are still to come.
        let due = m.reg_init("due_q", uint(OUTLIERS), 0);
        let words = m.instance("u_records", self.records());
        m.connect(words.clear_i, io.clear_i);
        let some = m.wire("some_due", due.q.any());
        m.connect(words.input.valid, fifo.output.valid & some);
        m.connect(fifo.output.ready, words.input.ready & some);
        m.connect(words.input.data.data, fifo.output.data.data);
        m.connect(words.input.data.strobe, 1);
        m.connect(words.input.data.last, due.q.eq(1));
        let comes = m.wire("record_comes", words.input.fire());
        let fewer = due.q.wrapping_sub(comes.extend(OUTLIERS));
        due.next(mux(io.clear_i, uint(OUTLIERS).lit(0), mux(head_ends, io.heads.outliers, fewer)));
        m.unused(words.output.strobe);
        words.output
    }
}

impl TokenPacker {
    /// A record and a beat of indices that the prover chooses are followed to where they leave. Beats of a token are
    /// counted at the ports.
    fn properties(&self, m: &mut Module, io: &TokenPackerPorts) {
        m.formal(|m| {
            // Enough for the few beats that are looked at.
            let ty = uint(BITS);
            let steady = |m: &mut Module, name: &str, value: Signal| {
                let held = m.reg(&format!("formal_{name}_q"), value.ty());
                held.next(value);
                let begun = m.reg_init(&format!("formal_{name}_begun_q"), bit(), 0);
                begun.next(1);
                m.assume(&format!("{name}_is_steady"), !begun.q | io.clear_i | value.eq(held.q));
                value.slice(0..BITS)
            };
            let index_beats = steady(m, "index_beats", io.index_beats_i);
            let outlier_beats = steady(m, "outlier_beats", io.outlier_beats_i);
            let (records, parts) = (self.width() / RECORD, self.indices().ratio());
            m.assume("few_beats", io.index_beats_i.any() & io.index_beats_i.le(2) & io.outlier_beats_i.le(1));
            let room = mux(outlier_beats.any(), ty.lit(records.min(2 * self.spec.kmax)), ty.lit(0));
            m.assume("there_is_room", io.heads.outliers.le(room.extend(OUTLIERS)));
            // Times a power of two, modulo the range of the counters.
            let times = |value: Signal, factor: u32| (0..factor.ilog2()).fold(value, |sum, _| sum.wrapping_add(sum));
            let cleared = m.reg_init("formal_cleared_q", bit(), 0);
            cleared.next(cleared.q | io.clear_i);
            m.assume("begins_with_a_clear", cleared.q | io.clear_i);
            let count = |m: &mut Module, name: &str, moves: Signal| {
                let counter = m.reg_init(&format!("formal_{name}_q"), ty, 0);
                let next = counter.q.wrapping_add(moves.extend(BITS));
                counter.next(mux(io.clear_i, ty.lit(0), next));
                counter.q
            };
            // Beats of indices in a token: as many as it has places for, or fewer.
            let row = m.reg("formal_row_q", ty);
            row.next(row.q);
            m.assume("a_row_fits", row.q.any() & row.q.le(times(index_beats, parts)));
            let of_row = m.reg_init("formal_of_row_q", ty, 0);
            let row_ends = m.wire("formal_row_ends", of_row.q.wrapping_add(1).eq(row.q));
            let index_moves = m.wire("formal_index_moves", io.indices.fire());
            let index_next = mux(row_ends, ty.lit(0), of_row.q.wrapping_add(1));
            of_row.next(mux(io.clear_i, ty.lit(0), mux(index_moves, index_next, of_row.q)));
            m.assume("last_ends_a_row", io.indices.last.eq(row_ends));

            // The writer's state: the beat of its token, tokens and outliers before it.
            let (at, ahead) = (m.reg_init("formal_at_q", ty, 0), m.reg_init("formal_ahead_q", ty, 0));
            let mine = m.reg_init("formal_mine_q", ty, 0);
            let moves = m.wire("formal_moves", io.write.fire());
            let heads = self.head_beats();
            let outliers_from = m.wire("formal_outliers_from", index_beats.wrapping_add(heads));
            let last = m.wire("formal_last", at.q.wrapping_add(1).eq(outliers_from.wrapping_add(outlier_beats)));
            at.next(mux(io.clear_i | (moves & last), ty.lit(0), at.q.wrapping_add(moves.extend(BITS))));
            mine.next_when(moves & at.q.eq(0), io.heads.outliers.slice(0..BITS));
            let all = ahead.q.wrapping_add(mine.q);
            ahead.next(mux(io.clear_i, ty.lit(0), mux(moves & last, all, ahead.q)));
            let token = count(m, "token", moves & last);
            let base = m.reg_init("formal_base_q", ty, 0);
            base.next(mux(io.clear_i, ty.lit(0), mux(moves & last, base.q.wrapping_add(row.q), base.q)));
            let follow = |m: &mut Module, name: &str, number: Signal, moves: Signal, data: Signal| {
                let chosen = m.reg(&format!("formal_{name}_chosen_q"), ty);
                chosen.next(chosen.q);
                let here = moves & number.eq(chosen.q);
                let (known, value) = (
                    m.reg_init(&format!("formal_{name}_known_q"), bit(), 0),
                    m.reg(&format!("formal_{name}_value_q"), data.ty()),
                );
                known.next((known.q | here) & !io.clear_i);
                value.next_when(here, data);
                (chosen.q, known.q, value.q)
            };
            // With a clear the numbers of beats may belong to the next tokens already.
            let word_counts = m.wire("formal_word_counts", io.write.valid & !io.clear_i);
            let record_moves = m.wire("formal_record_moves", io.records.fire());
            let record = count(m, "record", record_moves);
            let (chosen, known, value) = follow(m, "record", record, record_moves, io.records.data.data);
            let in_records = m.wire("formal_in_records", word_counts & at.q.ge(outliers_from));
            let word = at.q.wrapping_sub(outliers_from);
            let offset = times(word, records);
            let slots = m.split("formal_slot", io.write.data.data, uint(RECORD).array(records));
            let (lost, strange) = (m.nets("formal_lost", bit(), records), m.nets("formal_strange", bit(), records));
            m.for_each("formal_records", records, |m, k| {
                let number = m.wire("formal_number", offset.wrapping_add(k.value(BITS)));
                let is_one = number.lt(mine.q);
                let followed = m.wire("formal_followed", in_records & is_one & chosen.eq(ahead.q.wrapping_add(number)));
                let slot = slots.at(k);
                m.connect(lost.at(k), followed & !(known & slot.eq(value)));
                m.connect(strange.at(k), in_records & !is_one & slot.any());
            });
            m.assert_always("record_leaves_as_it_came", !lost.packed().any());
            m.assert_always("zeros_behind_the_records", !strange.packed().any());
            let index = count(m, "index", index_moves);
            let (chosen, known, value) = follow(m, "index", index, index_moves, io.indices.indices);
            let in_indices = m.wire("formal_in_indices", word_counts & at.q.ge(heads) & at.q.lt(outliers_from));
            let offset = times(at.q.wrapping_sub(heads), parts);
            let slots = m.split("formal_part", io.write.data.data, uint(self.width() / parts).array(parts));
            let (lost, strange) =
                (m.nets("formal_index_lost", bit(), parts), m.nets("formal_index_strange", bit(), parts));
            m.for_each("formal_indices", parts, |m, k| {
                let number = m.wire("formal_index_number", offset.wrapping_add(k.value(BITS)));
                let is_one = number.lt(row.q);
                let followed =
                    m.wire("formal_index_followed", in_indices & is_one & chosen.eq(base.q.wrapping_add(number)));
                let slot = slots.at(k);
                m.connect(lost.at(k), followed & !(known & slot.eq(value)));
                m.connect(strange.at(k), in_indices & !is_one & slot.any());
            });
            m.assert_always("index_leaves_as_it_came", !lost.packed().any());
            m.assert_always("zeros_behind_the_indices", !strange.packed().any());
            let head = m.wire("formal_head", word_counts & at.q.eq(0));
            let told = io.write.data.data.slice(0..32).eq(cat(&[io.heads.outliers, io.heads.scale]));
            m.assert_always("head_leaves_as_it_came", !head | (io.heads.valid & told));
            m.cover("second_token_with_outliers", in_records & token.eq(1) & mine.q.ge(2));
        });
    }
}

impl CatalogBlock for TokenPacker {
    fn configurations() -> Vec<Self> {
        let set = |data_width, kmax, inner| Self {
            spec: QuantizerSpec {
                axi: AxiSpec { address_width: 32, data_width, id_width: 1 },
                orizuru: 32,
                kmax,
                inner,
                ..QuantizerSpec::default()
            },
        };
        vec![set(32, 1, 6), set(64, 9, 300), set(512, 20, 416)]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let spec = QuantizerSpec {
            axi: AxiSpec { address_width: 32, data_width: 512, id_width: 1 },
            orizuru: 32,
            kmax: 2,
            inner: 96,
            ..QuantizerSpec::default()
        };
        // Outliers of a second token leave in the ninth cycle; each further one takes minutes.
        vec![Proof { block: Self { spec }, depth: 9, cover_depth: 12, induction: false }]
    }
}
