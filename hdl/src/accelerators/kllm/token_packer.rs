//! Heads, indices and outliers of tokens as they lie in memory.

use super::kllm_spec::COUNT;
use super::outlier_finder::TokenHead;
use super::quantizer_spec::{OUTLIERS, QuantizerSpec, RECORD};
use super::token_scanner::IndexBeats;
use crate::blocks::common::stream::stream_width_converter::Part;
use crate::blocks::common::stream::{FifoStorage, StreamFifo, StreamWidthConverter, Word};
use crate::lang::{
    About, Block, In, InStream, Module, OutStream, Signal, Stream, Timing, bit, cat, mux, parameters, ports, select,
    uint,
};

/// Bits of a token ahead of its indices.
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

    /// All outliers of a row: its indices leave ahead of them.
    fn fifo(&self) -> StreamFifo {
        let depth = (2 * self.spec.kmax).min(self.spec.inner).max(2);
        StreamFifo { width: RECORD, depth, storage: FifoStorage::Memory, slack: 0, proved: false }
    }

    fn head_beats(&self) -> u32 {
        HEAD / self.width()
    }
}

ports! {
    /// Ports of [`TokenPacker`].
    pub struct TokenPackerPorts(p: &TokenPacker) {
        /// Drops everything; the next head begins a token.
        clear_i: In = bit(),
        /// Beats of a token's indices, with the zeros behind them, from 1 on; steady from clear_i on.
        index_beats_i: In = uint(COUNT),
        /// Beats that there are for its outliers: room for all of them; as index_beats_i.
        outlier_beats_i: In = uint(COUNT),
        /// Indices have 3 bits; as index_beats_i.
        three_bits_i: In = bit(),
        /// Heads of tokens.
        heads: InStream<TokenHead> = (),
        /// Their indices.
        indices: InStream<IndexBeats> = p.spec.lanes(),
        /// Their outliers: of each as many as its head says.
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
        contract: "Token after token: 64 bytes of head (scale, outliers, bits of an index), indices up to their last beat and zeros behind them,\n\
            outliers and zeros behind them. Outliers of a token wait until its indices have left: there is room for all.",
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
    }

    fn timing(&self) -> Timing {
        Timing::new()
    }
}

impl TokenPacker {
    /// The beat of a head ahead of which are all but `left` of them.
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
        m.connect(words.input.valid, io.indices.valid);
        m.connect(io.indices.ready, words.input.ready);
        m.connect(words.input.data.data, io.indices.indices);
        m.connect(words.input.data.strobe, 1);
        m.connect(words.input.data.last, io.indices.last);
        m.unused(words.output.strobe);
        words.output
    }

    /// Outliers in beats of the bus; those of a token come when its head has left.
    fn record_words(&self, m: &mut Module, io: &TokenPackerPorts, head_ends: Signal) -> Stream<Part> {
        m.comment("Outliers.");
        let fifo = m.instance("u_kept", self.fifo());
        m.connect(fifo.clear_i, io.clear_i);
        m.connect_stream(&fifo.input, &io.records);
        m.unused(fifo.level_o);
        m.unused(fifo.almost_full_o);
        // Those of the token that are still to come.
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
