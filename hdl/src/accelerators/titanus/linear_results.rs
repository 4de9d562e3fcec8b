//! Sums become results: bias, scale, ReLU, fp16 or int8, a lane for each sum of a beat.

use super::titanus_spec::{COUNT, SumBeat, TitanusSpec, used_bits};
use crate::accelerators::tender::{TenderLane, TenderLanePorts};
use crate::blocks::common::arith::popcount;
use crate::blocks::common::row::{Section, later};
use crate::lang::{
    About, Block, Field, FieldArray, In, InArray, InStream, Module, Out, OutStream, Signal, Timing, bit, bundle, cat,
    mux, parameters, ports, sint, uint,
};

/// 1.0 in fp32: integers of results are scaled by their constants alone.
const ONE: u32 = 0x3f80_0000;

/// Bits of a sum with its bias.
const BIASED: u32 = 33;

parameters! {
    /// Elaboration parameters.
    pub struct LinearResults {
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
}

impl LinearResults {
    /// The arithmetic on a sum.
    #[must_use]
    pub fn lane(&self) -> TenderLane {
        TenderLane { width: BIASED, ..TenderLane::default() }
    }

    /// Cycles from a sum to its result.
    #[must_use]
    pub fn latency(&self) -> u32 {
        2 + self.lane().latency()
    }
}

bundle! {
    /// Results of a row.
    pub struct ResultBeat(lanes: u32) {
        /// fp16 numbers, or int8 in the low bits; 0 where there is none.
        values: FieldArray = uint(16).array(*lanes),
        /// How many there are, from 1 on; all but in a last beat.
        used: Field = uint(used_bits(*lanes)),
        /// The last beat of a row.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`LinearResults`].
    pub struct LinearResultsPorts(p: &LinearResults) {
        /// Drops all that is inside.
        clear_i: In = bit(),
        /// The next beat is the first one of a row; nothing is inside.
        begin_i: In = bit(),
        /// Results of a row, from 1 on; this and the following inputs are steady from begin_i on up to the last one.
        results_i: In = uint(COUNT),
        /// First constant.
        first_constant_i: In = p.spec.constant(),
        /// It is the constant of all results.
        single_i: In = bit(),
        /// Results are int8, not fp16.
        int8_i: In = bit(),
        /// Negative results become 0.
        relu_i: In = bit(),
        /// Sums, row by row.
        sum: InStream<SumBeat> = p.spec.results(),
        /// To the table: constants are read.
        read_o: Out = bit(),
        /// Number of the first one.
        read_index_o: Out = p.spec.constant(),
        /// The scales read.
        scale_i: InArray = uint(32).array(p.spec.results()),
        /// The biases read.
        bias_i: InArray = sint(32).array(p.spec.results()),
        /// Results, row by row.
        result: OutStream<ResultBeat> = p.spec.results(),
        /// Results of this cycle that are infinite, a NaN, saturated or from a NaN.
        overflows_o: Out = uint(used_bits(p.spec.results())),
    }
}

impl Block for LinearResults {
    type Ports = LinearResultsPorts;
    const ABOUT: About = About {
        name: "linear_results",
        summary: "sums of products become fp16 numbers or int8",
        contract: "Result j of a row: y = fp32(sum + bias) x scale, rounded twice, to nearest; ReLU; fp16(y), or\n\
            the nearest integer, saturated. The constants belong to the row's first result and its neighbours, or\n\
            one constant is for all. Sums after the last result are dropped. A beat a cycle.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &LinearResultsPorts) {
        let lanes = self.spec.results();
        let (lane, latency) = (self.lane(), self.latency());
        let used_ty = uint(used_bits(lanes));
        let width = 16 * lanes + used_ty.width + 1;
        let end = Section::new(m, "end", (latency, width), io.clear_i);

        m.comment("The results of a beat.");
        let at = m.reg("at_q", uint(COUNT));
        let left = m.wire("left", io.results_i.wrapping_sub(at.q));
        let some = m.wire("some", at.q.lt(io.results_i));
        let more = m.wire("more", left.gt(lanes));
        let used = m.wire("used", mux(more, used_ty.lit(lanes), left.slice(0..used_ty.width)));
        m.connect(io.sum.ready, end.room);
        let taken = m.wire("taken", io.sum.fire());
        let begins = m.wire("begins", taken & some);
        m.connect(end.enters, begins);
        let row_ends = m.wire("row_ends", io.begin_i | (taken & io.sum.last));
        let next = mux(some, at.q.wrapping_add(lanes), at.q);
        at.next_when(row_ends | taken, mux(row_ends, uint(COUNT).lit(0), next));
        let index = self.spec.constant().width;
        let place = if index < COUNT { at.q.truncate(index) } else { at.q.extend(index) };
        let first = io.first_constant_i;
        m.connect(io.read_index_o, mux(io.single_i, first, first.wrapping_add(place)));
        m.connect(io.read_o, begins);

        m.comment("Constants are there a cycle later.");
        let late_used = later(m, "late_used", used, latency);
        let late_used = m.wire("used_now", late_used);
        let late_last = later(m, "late_last", !more, latency);
        let valid = m.reg_init("summed_q", bit(), 0);
        valid.next(begins & !io.clear_i);
        let values = m.nets("value", uint(16), lanes);
        let wrong = m.nets("wrong", bit(), lanes);
        m.for_each("lanes", lanes, |m, l| {
            let sum = m.reg("sum_q", sint(32));
            sum.next_when(begins, io.sum.sums.at(l));
            let biased = m.reg("biased_q", sint(BIASED));
            biased.next_when(valid.q, sum.q + io.bias_i.at(l));
            let scale = later(m, "scale", io.scale_i.at(l), 1 + lane.times().scale);
            let unit: TenderLanePorts = m.instance("u_lane", lane.clone());
            self.modes(m, io, &unit);
            m.connect(unit.sum_i, biased.q);
            m.connect(unit.scale_i, scale);
            let mine = m.wire("mine", late_used.gt(l.value(used_ty.width)));
            m.connect(values.at(l), unit.y_o & mine.repeat(16));
            m.connect(wrong.at(l), unit.overflow_o & mine);
        });

        m.comment("Results that leave.");
        let word = cat(&[late_last, late_used, values.packed()]);
        end.catch(m, "end", begins, word, io.clear_i);
        let overflows = popcount::ones(m, "overflows", &wrong.elements());
        m.connect(io.overflows_o, overflows & end.fifo.input.valid.repeat(used_ty.width));
        m.connect_handshake(&io.result, &end.fifo.output);
        m.connect(end.leaves, io.result.fire());
        let word = m.wire("result_word", end.fifo.output.data.data);
        m.connect(io.result.values.packed(), word.slice(0..16 * lanes));
        m.connect(io.result.used, word.slice(16 * lanes..16 * lanes + used_ty.width));
        m.connect(io.result.last, word.msb());
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency() + 1)
    }
}

impl LinearResults {
    fn modes(&self, m: &mut Module, io: &LinearResultsPorts, unit: &TenderLanePorts) {
        let constants: [(Signal, u32); 6] = [
            (unit.from_value_i, 0),
            (unit.int8_i, 1),
            (unit.unsigned_i, 0),
            (unit.value_i, 0),
            (unit.bias_i, 0),
            (unit.quantizer_i, ONE),
        ];
        for (port, value) in constants {
            m.connect(port, value);
        }
        m.connect(unit.relu_i, io.relu_i);
        m.connect(unit.integer_i, io.int8_i);
    }
}
