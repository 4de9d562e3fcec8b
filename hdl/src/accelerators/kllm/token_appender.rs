//! Puts the indices and the scale of a token into lines of panels and of their constants.

use super::append_spec::{AppendSize, AppendSpec, LINE};
use super::kllm_spec::KllmSpec;
use super::line_merger::LineMerger;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::row::later_valid;
use crate::blocks::common::stream::Word;
use crate::blocks::common::stream::stream_width_converter::StreamWidthConverterPorts;
use crate::blocks::common::{FloatConvert, FloatFormat, FloatMul};
use crate::lang::{
    About, Block, Bundle, CatalogBlock, In, InBundle, InStream, Module, Out, OutStream, Signal, Stream, bit, cat, mux,
    parameters, ports, uint,
};

/// Ranks of the multipliers.
const MUL_STAGES: u32 = 4;
/// Bits of a number of groups of indices in a line.
const GROUPS: u32 = 8;

parameters! {
    /// Elaboration parameters.
    pub struct TokenAppender {
        /// The panels.
        spec: AppendSpec = AppendSpec::default();
    }
    rules = |p, rules| rules.part("spec", &p.spec);
}

ports! {
    /// Ports of [`TokenAppender`].
    pub struct TokenAppenderPorts(p: &TokenAppender) {
        /// Drops everything; a head comes next.
        clear_i: In = bit(),
        /// Place of the token; steady from clear_i on.
        size: InBundle<AppendSize> = (),
        /// The token: head and indices, one row.
        token: InStream<RowBeat> = p.spec.axi.clone(),
        /// Lines of panels, one command; then the line of constants or scales.
        lines: InStream<RowBeat> = p.spec.axi.clone(),
        /// The same lines, changed.
        write: OutStream<Word> = p.spec.axi.data_width,
        /// The head does not belong to a token without outliers; up to clear_i.
        error_o: Out = bit(),
        /// A line changes in this cycle.
        moves_o: Out = bit(),
    }
}

impl Block for TokenAppender {
    type Ports = TokenAppenderPorts;
    const ABOUT: About = About {
        name: "token_appender",
        summary: "a token's indices and scale go into lines of panels and of their constants",
        contract: "Head first: indices of 3 or 4 bits, no outliers, else error_o and nothing leaves. Then a line\n\
            leaves for each that comes, as line_merger says. For a channel each line takes the positions of a beat,\n\
            for a position an index for each run of positions. Zeros follow the last index of the token. The line\n\
            after the last one of the first command gets the scale; for a channel, the scale times its factors\n\
            (fp32, rounded to nearest).",
        reference: "KLLM, section IV-A",
    };

    fn build(&self, m: &mut Module, io: &TokenAppenderPorts) {
        let clear = io.clear_i;
        m.comment("The head.");
        let words = m.instance("u_token", self.spec.to_lines());
        Self::lines(m, clear, &io.token, &words);
        let comes = m.wire("token_comes", words.output.fire());
        let begun = m.reg_init("begun_q", bit(), 0);
        begun.next((begun.q | comes) & !clear);
        let head = m.wire("head_comes", comes & !begun.q);
        let word = words.output.data.data;
        let scale = m.reg("scale_q", uint(16));
        scale.next_when(head, word.slice(0..16));
        let bits = word.slice(32..40);
        let wrong = m.wire("wrong_head", word.slice(16..32).any() | !(bits.eq(3) | bits.eq(4)));
        let error = m.reg_init("error_q", bit(), 0);
        error.next((error.q | (head & wrong)) & !clear);
        m.connect(io.error_o, error.q);
        let constants = self.constants(m, io, scale.q);
        let there = m.reg_init("constants_there_q", bit(), 0);
        // The scale is there a cycle after the head.
        let through = later_valid(m, "head", head, MUL_STAGES + 1, clear);
        there.next((there.q | through) & !clear);

        m.comment("Indices, group by group; then zeros.");
        let indices = m.reg("indices_q", uint(LINE));
        let left = m.reg_init("groups_left_q", uint(GROUPS), 0);
        let ended = m.reg_init("token_ended_q", bit(), 0);
        ended.next((ended.q | (comes & words.output.data.last)) & !clear);
        m.connect(words.output.ready, !left.q.any() & !error.q);
        let some = m.wire("some_indices", left.q.any() | ended.q);

        m.comment("Lines.");
        let old = m.instance("u_lines", self.spec.to_lines());
        Self::lines(m, clear, &io.lines, &old);
        let new = m.instance("u_write", self.spec.to_beats());
        m.connect(new.clear_i, clear);
        let is_scale = m.reg_init("is_scale_q", bit(), 0);
        let goes = m.wire("line_goes", begun.q & !error.q & mux(is_scale.q, there.q, some));
        m.connect(new.input.valid, old.output.valid & goes);
        m.connect(old.output.ready, new.input.ready & goes);
        let moves = m.wire("line_moves", new.input.fire());
        m.connect(io.moves_o, moves);
        is_scale.next((is_scale.q | (moves & old.output.data.last)) & !clear);
        let merger = m.instance("u_merger", LineMerger { spec: self.spec.clone() });
        merger.size.drive(m, "merger_size", &io.size);
        m.connect_pairs([
            (merger.is_scale_i, is_scale.q),
            (merger.line_i, old.output.data.data),
            (merger.indices_i, indices.q),
            (merger.scale_i, scale.q),
            (merger.constants_i, constants),
        ]);
        m.connect(new.input.data.data, merger.line_o);
        m.connect(new.input.data.strobe, bit().lit(1).repeat(LINE / self.spec.axi.data_width));
        m.connect(new.input.data.last, 0);
        m.connect_handshake(&io.write, &new.output);
        m.connect(io.write.data.data, new.output.data.data);
        m.unused(new.output.data.strobe);
        m.unused(new.output.data.last);

        let (runs, inputs) = (self.spec.runs(), self.spec.product.inputs);
        let shifted = |by: u32| {
            if by == LINE { uint(LINE).lit(0) } else { indices.q.shr(by).extend(LINE) }
        };
        let rest = m.wire("indices_behind", mux(io.size.position, shifted(4 * runs), shifted(4 * inputs)));
        let takes = m.wire("takes_indices", comes & begun.q);
        indices.next_when(clear | takes | moves, mux(clear, uint(LINE).lit(0), mux(takes, word, rest)));
        let groups = mux(io.size.position, uint(GROUPS).lit(inputs), uint(GROUPS).lit(runs));
        let used = m.wire("uses_indices", moves & !is_scale.q & left.q.any());
        let fewer = left.q.wrapping_sub(used.extend(GROUPS));
        left.next(mux(clear, uint(GROUPS).lit(0), mux(takes, groups, fewer)));
    }
}

impl TokenAppender {
    /// Rows of whole lines; `last` marks the last line of a command.
    fn lines(m: &mut Module, clear: Signal, rows: &Stream<RowBeat>, words: &StreamWidthConverterPorts) {
        m.connect(words.clear_i, clear);
        m.connect_handshake(&words.input, rows);
        m.connect(words.input.data.data, rows.data.data);
        m.connect(words.input.data.strobe, 1);
        m.connect(words.input.data.last, rows.data.last);
        m.unused(words.output.data.strobe);
        m.unused(rows.data.bytes);
        m.unused(rows.data.row_last);
    }

    /// The scale times both factors.
    fn constants(&self, m: &mut Module, io: &TokenAppenderPorts, scale: Signal) -> Signal {
        m.comment("Constants of a channel.");
        let widen = FloatConvert { from: FloatFormat::Fp16, to: FloatFormat::Fp32, ..FloatConvert::default() };
        let widen = m.instance("u_widen", widen);
        m.connect(widen.valid_i, 1);
        m.connect(widen.a_i, scale);
        m.unused(widen.valid_o);
        let products: Vec<Signal> = [("u_dense", io.size.dense), ("u_outliers", io.size.outliers)]
            .into_iter()
            .map(|(name, factor)| {
                let mul = FloatMul { format: FloatFormat::Fp32, stages: MUL_STAGES, ..FloatMul::default() };
                let mul = m.instance(name, mul);
                m.connect(mul.valid_i, 1);
                m.connect(mul.a_i, widen.result_o);
                m.connect(mul.b_i, factor);
                m.unused(mul.valid_o);
                mul.result_o
            })
            .collect();
        m.wire("constants", cat(&[products[1], products[0]]))
    }
}

impl CatalogBlock for TokenAppender {
    fn configurations() -> Vec<Self> {
        let set = |data_width, [lanes, columns, inputs]: [u32; 3], depth| Self {
            spec: AppendSpec {
                axi: AxiSpec { address_width: 32, data_width, id_width: 1 },
                product: KllmSpec { lanes, columns, inputs, depth, kmax: 2, outputs: 2, ..KllmSpec::default() },
            },
        };
        // Tokens with fewer indices than a panel has channels, and a line in a cycle.
        vec![set(32, [1, 64, 2], 90), set(128, [4, 64, 8], 40), set(512, [1, 32, 64], 6)]
    }
}
