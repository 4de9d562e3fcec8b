//! Tokens from memory to the lanes: heads, indices and outliers come side by side and become beats. Rows of 8-bit
//! integers have no heads and no outliers; a beat of their high nibbles goes before a beat of the low ones.

mod properties;

use super::kllm_spec::{BYTES, COUNT, KllmSpec, ProductSize};
use crate::accelerators::rows::starts_to_words;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::stream::{StreamWidthConverter, Word};
use crate::blocks::kllm::ActivationBeat;
use crate::lang::{
    About, Block, In, InBundle, InStream, Module, Out, OutStream, Signal, Timing, bit, cat, mux, parameters, ports,
    uint,
};

/// Bytes of a head that mean something, and a few more: scale, outliers, bits.
const HEAD: u32 = 8;
/// The scale of integers: 1, fp16.
const ONE: u32 = 0x3c00;
/// Bits of an outlier: position and value.
const OUTLIER: u32 = 32;

parameters! {
    /// Elaboration parameters.
    pub struct TokenReader {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
        /// The lanes.
        spec: KllmSpec = KllmSpec::default();
    }
    rules = |p, rules| {
        for width in [8 * HEAD, OUTLIER, 4 * p.spec.inputs] {
            rules.part("axi.data_width", &p.words(width));
        }
    };
}

impl TokenReader {
    fn words(&self, output_width: u32) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width, granule: 8 }
    }
}

ports! {
    /// Ports of [`TokenReader`].
    pub struct TokenReaderPorts(p: &TokenReader) {
        /// Forgets all rows; the next rows belong to the first token.
        clear_i: In = bit(),
        /// The product; steady from clear_i on.
        size: InBundle<ProductSize> = (),
        /// Tokens may begin: the lanes have their codebooks.
        go_i: In = bit(),
        /// Heads of tokens, a row each; integers have none.
        heads: InStream<RowBeat> = p.axi.clone(),
        /// Their indices.
        indices: InStream<RowBeat> = p.axi.clone(),
        /// Their outliers; no rows if there is no room for any.
        outliers: InStream<RowBeat> = p.axi.clone(),
        /// To the lanes.
        beats: OutStream<ActivationBeat> = p.spec.lane(),
        /// The scale of each token, no later than its first beat.
        scale: OutStream<Word> = 16,
        /// For one cycle: a head or an outlier means nothing.
        error_o: Out = bit(),
    }
}

/// The outliers of a token.
struct Outliers {
    /// None is left.
    none: Signal,
    /// The next one is known, or there is none.
    known: Signal,
    /// It is in this beat.
    here: Signal,
    /// It is known whether the next one after it is there too.
    sure: Signal,
    /// It is.
    more: Signal,
    position: Signal,
    value: Signal,
}

impl Block for TokenReader {
    type Ports = TokenReaderPorts;
    const ABOUT: About = About {
        name: "token_reader",
        summary: "heads, indices and outliers of tokens as beats for the lanes",
        contract: "Token after token, panel after panel: beats of indices, without indices at outliers and after\n\
            the last position. A beat with r outliers leaves max(1, r) times, all but the last time with again and\n\
            without indices. error_o rises for a head with other bits than 3 or 4, or with more outliers than there\n\
            is room for. It also rises for outliers whose positions do not ascend or do not exist. From then on the\n\
            beats mean nothing, up to clear_i.\n\
            Integers: a beat of high nibbles with again, then a beat of low ones; their scale is 1.",
        reference: "KLLM, sections III-D and IV-A",
    };

    fn build(&self, m: &mut Module, io: &TokenReaderPorts) {
        let (clear, inputs, size) = (io.clear_i, self.spec.inputs, &io.size);
        let ty = uint(COUNT);
        m.comment("Heads.");
        let heads = m.instance("u_heads", self.words(8 * HEAD));
        m.connect(heads.clear_i, clear);
        starts_to_words(m, "head", &io.heads, (uint(BYTES).lit(HEAD), clear), &heads);
        m.unused(heads.output.strobe);
        m.unused(heads.output.last);
        let head = m.wire("head", heads.output.data.data);
        let count = m.wire("count", head.slice(16..32) & (!size.integers).repeat(16));
        let bits = head.slice(32..40);
        m.unused(head.slice(40..64));
        let open = m.reg_init("open_q", bit(), 0);
        // Its outliers are still being dropped.
        let behind = m.reg_init("behind_q", bit(), 0);
        let may = m.wire("may_open", !open.q & !behind.q & io.go_i & !clear);
        // Integers begin with their first word.
        let first_word = m.net("first_word", bit());
        let there = m.wire("head_there", mux(size.integers, first_word, heads.output.valid));
        m.connect(io.scale.valid, there & may);
        m.connect(io.scale.data.data, mux(size.integers, uint(16).lit(ONE), head.slice(0..16)));
        m.connect(heads.output.ready, io.scale.ready & may);
        let opens = m.wire("opens", io.scale.fire());
        let strange = m.wire("strange", count.extend(COUNT).gt(size.outliers) | !(bits.eq(3) | bits.eq(4)));
        let wrong_head = opens & strange & !size.integers;

        m.comment("Indices.");
        let indices = m.instance("u_indices", self.words(4 * inputs));
        m.connect(indices.clear_i, clear);
        let nibbles = size.inner.wrapping_add(1).shr(1).extend(BYTES);
        let bytes = m.wire("index_bytes", mux(size.integers, size.inner.extend(BYTES), nibbles));
        starts_to_words(m, "index", &io.indices, (bytes, clear), &indices);
        m.unused(indices.output.strobe);
        m.unused(indices.output.last);
        let rest = m.reg("rest_q", ty);
        let base = m.reg("base_q", ty);
        let last = m.wire("last", rest.q.le(inputs));
        m.connect(first_word, indices.output.valid);
        m.comment(
            "Integers: the first word of a beat waits for the second one, if there is one; high nibbles go first.",
        );
        let half = m.reg_init("half_q", bit(), 0);
        let kept = m.reg("half_word_q", uint(4 * inputs));
        let waits = m.wire("waits", size.integers & !half.q & rest.q.gt(inputs / 2));
        let keeps = m.wire("keeps", open.q & indices.output.valid & waits);
        kept.next_when(keeps, indices.output.data.data);
        let low = m.reg_init("low_q", bit(), 0);
        let high = m.wire("high", size.integers & !low.q);

        m.comment("Outliers.");
        let leaves = m.wire("leaves", io.beats.fire());
        let (outliers, wrong_outlier) = self.outliers(m, io, (opens, count), (behind, base.q, leaves));

        m.comment("Beats.");
        let repeats = m.wire("repeats", outliers.here & outliers.more);
        let again = m.wire("again", repeats | high);
        let whole = (outliers.none | outliers.known) & (!outliers.here | outliers.sure);
        m.connect(io.beats.valid, open.q & indices.output.valid & whole & !waits);
        let moves = m.wire("moves", leaves & !again);
        m.connect(indices.output.ready, moves | keeps);
        half.next((keeps | (half.q & !moves)) & !clear);
        low.next(mux(leaves, high, low.q) & !clear);
        let ends = m.wire("ends", moves & last);
        open.next((opens | (open.q & !ends)) & !clear);
        base.next_when(opens | moves, mux(opens, ty.lit(0), base.q.wrapping_add(inputs)));
        rest.next_when(opens | moves, mux(opens, size.inner, rest.q.wrapping_sub(inputs)));
        let token = m.reg("token_q", uint(16));
        let token_last = m.wire("token_last", token.q.wrapping_add(1).eq(size.tokens));
        let next = mux(token_last, uint(16).lit(0), token.q.wrapping_add(1));
        token.next(mux(clear, uint(16).lit(0), mux(ends, next, token.q)));
        // Outliers of this beat that were sent before.
        let gone = m.regs_init("gone", bit(), inputs, 0);
        let nibbles = m.split("nibble", indices.output.data.data, uint(4).array(inputs));
        let first = m.wire("first_half", mux(half.q, kept.q, indices.output.data.data));
        let words = m.wire("halves", cat(&[indices.output.data.data, first]));
        let halves = m.split("byte_half", words, uint(4).array(2 * inputs));
        let Some(port) = io.beats.position else { return };
        let position = m.wire("position", outliers.position.slice(0..port.width()));
        m.for_each("inputs", inputs, |m, i| {
            let here = m.wire("here", outliers.here & position.eq(i.value(position.width())));
            let absent = m.wire("absent", here | gone.q.at(i));
            let there = rest.q.gt(i.value(COUNT));
            let of_byte = mux(high, halves.at(i * 2 + 1), halves.at(i * 2));
            m.connect(io.beats.index.at(i), mux(size.integers, of_byte, nibbles.at(i)));
            m.connect(io.beats.present.at(i), there & !absent & !repeats);
            gone.next(m, i, mux(leaves, absent & repeats, gone.q.at(i)) & !clear);
        });
        m.connect(io.beats.high, high);
        m.connect(io.beats.end, 0);
        m.connect(io.beats.keep, size.fits & !token_last);
        m.connect(io.beats.last, last & !again);
        for (to, from) in [
            (io.beats.outlier, outliers.here),
            (io.beats.position, position),
            (io.beats.value, outliers.value),
            (io.beats.again, again),
        ] {
            if let Some(to) = to {
                m.connect(to, from);
            }
        }
        m.connect(io.error_o, wrong_head | wrong_outlier);
        for unused in [size.channels, size.beats, size.add] {
            m.unused(unused);
        }
        self.properties(m, io);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(3).phase(
            "token",
            3,
            "from the last beat of a token to the first one of the next; 2 without outliers",
        )
    }
}

impl TokenReader {
    /// The next outlier in a register, and the following one as it comes.
    fn outliers(
        &self,
        m: &mut Module,
        io: &TokenReaderPorts,
        (opens, count): (Signal, Signal),
        (behind, base, leaves): (crate::lang::Reg, Signal, Signal),
    ) -> (Outliers, Signal) {
        let (clear, size, ty, inputs) = (io.clear_i, &io.size, uint(COUNT), self.spec.inputs);
        let words = m.instance("u_outliers", self.words(OUTLIER));
        m.connect(words.clear_i, clear);
        let bytes = m.wire("outlier_bytes", size.outliers.shl(2).extend(BYTES));
        starts_to_words(m, "outlier", &io.outliers, (bytes, clear), &words);
        m.unused(words.output.strobe);
        let record = m.wire("record", words.output.data.data);
        let place = |m: &mut Module, name: &str, record: Signal| {
            let far = m.wire(&format!("{name}_offset"), record.slice(0..16).extend(COUNT).wrapping_sub(base));
            (far, far.lt(inputs))
        };
        // Outliers that are still to come.
        let left = m.reg("outliers_left_q", uint(16));
        let some = m.wire("outliers_come", left.q.any());
        let valid = m.reg_init("outlier_valid_q", bit(), 0);
        let held = m.reg("outlier_q", uint(OUTLIER));
        let (offset, near) = place(m, "outlier", held.q);
        let here = m.wire("outlier_here", valid.q & near);
        let (_, next_near) = place(m, "next", record);
        let used = m.wire("outlier_used", leaves & here);
        m.connect(words.output.ready, behind.q & (!some | !valid.q | used));
        let comes = m.wire("record_comes", words.output.fire());
        let load = m.wire("outlier_loads", comes & some);
        left.next_when(opens | load, mux(opens, count, left.q.wrapping_sub(1)));
        behind.next(((opens & size.outliers.any()) | (behind.q & !(comes & words.output.last))) & !clear);
        valid.next((load | (valid.q & !used)) & !clear);
        held.next_when(load, record);
        let least = m.reg("least_q", ty);
        let position = record.slice(0..16).extend(COUNT);
        least.next_when(opens | load, mux(opens, ty.lit(0), position.wrapping_add(1)));
        let wrong = m.wire("wrong_outlier", load & (position.lt(least.q) | position.ge(size.inner)));
        let outliers = Outliers {
            none: !some,
            known: valid.q,
            here,
            sure: !some | words.output.valid,
            more: some & next_near,
            position: offset,
            value: held.q.slice(16..32),
        };
        (outliers, wrong)
    }
}
