//! A token's thresholds: midpoints of the codebook times its scale.

use super::kllm_spec::BYTES;
use crate::accelerators::rows::starts_to_words;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::float::RoundingDirection;
use crate::blocks::common::row::{later, later_valid};
use crate::blocks::common::stream::{StreamWidthConverter, Word};
use crate::blocks::common::{FloatConvert, FloatFormat, FloatMul};
use crate::lang::{About, Block, In, InStream, Module, Out, Timing, bit, mux, parameters, ports, uint};

/// Midpoints of a codebook, and one that means nothing.
const MIDPOINTS: u32 = 15;
/// Midpoints where indices have 3 bits.
const FEW: u32 = 7;
/// Ranks of the multiplier and of the conversion after it.
const MUL_STAGES: u32 = 4;
const CONVERT_STAGES: u32 = 2;
/// A NaN of fp16: nothing is above it.
const NAN: u32 = 0x7e00;

parameters! {
    /// Elaboration parameters.
    pub struct ThresholdUnit {
        /// The bus.
        axi: AxiSpec = AxiSpec::default();
    }
    rules = |p, rules| rules.part("axi.data_width", &p.words());
}

ports! {
    /// Ports of [`ThresholdUnit`].
    pub struct ThresholdUnitPorts(p: &ThresholdUnit) {
        /// Drops everything; the next row is a codebook.
        clear_i: In = bit(),
        /// A codebook: one row.
        codebook: InStream<RowBeat> = p.axi.clone(),
        /// Indices have 3 bits; steady from clear_i on.
        three_bits_i: In = bit(),
        /// A token's scale: taken when the codebook is there and the thresholds before are not used any more.
        scale: InStream<Word> = 16,
        /// A threshold is written at this edge.
        write_o: Out = bit(),
        /// Its number.
        index_o: Out = uint(4),
        /// The threshold, fp16.
        threshold_o: Out = uint(16),
        /// All thresholds of the scale taken last are written; up to used_i.
        there_o: Out = bit(),
        /// They are not used any more.
        used_i: In = bit(),
    }
}

impl ThresholdUnit {
    fn words(&self) -> StreamWidthConverter {
        StreamWidthConverter { input_width: self.axi.data_width, output_width: 32, granule: 8 }
    }

    /// Cycles from a scale to its thresholds.
    #[must_use]
    pub fn cycles(&self) -> u32 {
        MIDPOINTS + MUL_STAGES + CONVERT_STAGES + 1
    }
}

impl Block for ThresholdUnit {
    type Ports = ThresholdUnitPorts;
    const ABOUT: About = About {
        name: "threshold_unit",
        summary: "midpoints of a codebook times a token's scale",
        contract: "The first 15 numbers of a codebook, fp32, are midpoints. threshold = fp16(fp32(scale x\n\
            midpoint)), both rounded towards minus infinity, which is rounding once: x is above it if and only if x\n\
            is above the exact product, for any x of fp16. With 3 bits, the thresholds from the eighth one on are\n\
            NaNs, and nothing is above a NaN.",
        reference: "KLLM, section III-A",
    };

    fn build(&self, m: &mut Module, io: &ThresholdUnitPorts) {
        let clear = io.clear_i;
        m.comment("Midpoints.");
        let words = m.instance("u_words", self.words());
        m.connect(words.clear_i, clear);
        starts_to_words(m, "row", &io.codebook, (uint(BYTES).lit(4 * MIDPOINTS), clear), &words);
        m.unused(words.output.strobe);
        let kept = m.reg_init("midpoints_q", uint(4), 0);
        let loaded = m.reg_init("loaded_q", bit(), 0);
        m.connect(words.output.ready, !loaded.q & !clear);
        let comes = m.wire("comes", words.output.fire());
        kept.next(mux(clear, uint(4).lit(0), kept.q.wrapping_add(comes.extend(4))));
        loaded.next((loaded.q | (comes & words.output.last)) & !clear);
        let midpoints = m.memory("midpoints", MIDPOINTS + 1, 32, 32);
        midpoints.write(comes, kept.q, words.output.data.data);

        m.comment("A threshold a cycle.");
        let there = m.reg_init("there_q", bit(), 0);
        let busy = m.reg_init("busy_q", bit(), 0);
        let scale = m.reg("scale_q", uint(16));
        let number = m.reg_init("number_q", uint(4), 0);
        m.connect(io.scale.ready, loaded.q & !busy.q & !there.q & !clear);
        let begins = m.wire("begins", io.scale.fire());
        scale.next_when(begins, io.scale.data.data);
        let sends = m.wire("sends", busy.q & number.q.ne(MIDPOINTS));
        let next = mux(sends, number.q.wrapping_add(1), number.q);
        number.next(mux(begins | clear, uint(4).lit(0), next));
        let midpoint = m.wire("midpoint", midpoints.read_async("midpoint_word", number.q));
        let widen = FloatConvert { from: FloatFormat::Fp16, to: FloatFormat::Fp32, ..FloatConvert::default() };
        let widen = m.instance("u_widen", widen);
        m.connect(widen.valid_i, 1);
        m.connect(widen.a_i, scale.q);
        m.unused(widen.valid_o);
        let rounding = RoundingDirection::Down;
        let mul = FloatMul { format: FloatFormat::Fp32, stages: MUL_STAGES, rounding, ..FloatMul::default() };
        let mul = m.instance("u_mul", mul);
        m.connect(mul.valid_i, 1);
        m.connect(mul.a_i, widen.result_o);
        m.connect(mul.b_i, midpoint);
        m.unused(mul.valid_o);
        let narrow =
            m.instance("u_narrow", FloatConvert { stages: CONVERT_STAGES, rounding, ..FloatConvert::default() });
        m.connect(narrow.valid_i, 1);
        m.connect(narrow.a_i, mul.result_o);
        m.unused(narrow.valid_o);
        let latency = MUL_STAGES + CONVERT_STAGES;
        let index = later(m, "index", number.q, latency);
        let write = later_valid(m, "write", sends, latency, clear);
        m.connect(io.write_o, write);
        m.connect(io.index_o, index);
        let none = m.wire("none", io.three_bits_i & index.ge(FEW));
        m.connect(io.threshold_o, mux(none, uint(16).lit(NAN), narrow.result_o));
        let last = m.wire("last", write & index.eq(MIDPOINTS - 1));
        busy.next((begins | (busy.q & !last)) & !clear);
        there.next((last | (there.q & !io.used_i)) & !clear);
        m.connect(io.there_o, there.q);
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(self.cycles())
    }
}
