//! Probabilities become bytes: times 255, to the nearest integer.

use super::titanus_spec::used_bits;
use crate::blocks::common::arith::popcount;
use crate::blocks::common::bus::{AxiSpec, RowBeat};
use crate::blocks::common::row::{Section, later};
use crate::blocks::common::{FloatMul, FloatToInt};
use crate::lang::{
    About, Block, Field, FieldArray, In, InStream, Module, Out, OutStream, Timing, bit, bundle, cat, parameters, ports,
    uint,
};

/// 255 in fp16.
const SCALE: u32 = 0x5bf8;
/// Ranks of registers of the product, and of the conversion.
const STAGES: [u32; 2] = [2, 1];

parameters! {
    /// Elaboration parameters.
    pub struct ProbabilityLanes {
        /// The bus as a DMA sees it: a beat holds one number per lane.
        axi: AxiSpec = AxiSpec::default();
    }
}

impl ProbabilityLanes {
    /// Cycles from a number to its byte.
    #[must_use]
    pub fn latency(&self) -> u32 {
        STAGES[0] + STAGES[1]
    }

    /// Numbers of a beat.
    #[must_use]
    pub fn lanes(&self) -> u32 {
        self.axi.data_width / 16
    }
}

bundle! {
    /// Bytes of a row.
    pub struct ByteBeat(lanes: u32) {
        /// The bytes; 0 where there is none.
        values: FieldArray = uint(8).array(*lanes),
        /// How many there are; all but in a last beat.
        used: Field = uint(used_bits(*lanes)),
        /// The last beat of a row.
        last: Field = bit(),
    }
}

ports! {
    /// Ports of [`ProbabilityLanes`].
    pub struct ProbabilityLanesPorts(p: &ProbabilityLanes) {
        /// Drops all that is inside.
        clear_i: In = bit(),
        /// Rows of fp16 numbers.
        input: InStream<RowBeat> = p.axi.clone(),
        /// The same as bytes.
        output: OutStream<ByteBeat> = p.lanes(),
        /// Numbers of this cycle that were saturated, or a NaN.
        overflows_o: Out = uint(used_bits(p.lanes())),
    }
}

impl Block for ProbabilityLanes {
    type Ports = ProbabilityLanesPorts;
    const ABOUT: About = About {
        name: "probability_lanes",
        summary: "fp16 probabilities as bytes, 255 for 1",
        contract: "x times 255, rounded to fp16, then to the nearest integer, ties to even, saturated to 0 to 255;\n\
            a NaN gives 0. A beat a cycle.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &ProbabilityLanesPorts) {
        let (lanes, latency) = (self.lanes(), self.latency());
        let used_ty = uint(used_bits(lanes));
        let end = Section::new(m, "end", (latency, 8 * lanes + used_ty.width + 1), io.clear_i);
        m.connect(io.input.ready, end.room);
        let begins = m.wire("begins", io.input.fire());
        m.connect(end.enters, begins);
        m.unused(io.input.last);
        let used = io.input.bytes.slice(1..io.input.bytes.width());
        let late_used = later(m, "late_used", used, latency);
        let late_used = m.wire("used_now", late_used);
        let late_last = later(m, "late_last", io.input.row_last, latency);
        let numbers = m.split("number", io.input.data.data, uint(16).array(lanes));
        let values = m.nets("value", uint(8), lanes);
        let wrong = m.nets("wrong", bit(), lanes);
        m.for_each("lanes", lanes, |m, l| {
            let product = m.instance("u_product", FloatMul { stages: STAGES[0], ..FloatMul::default() });
            m.connect(product.valid_i, 1);
            m.connect(product.a_i, numbers.at(l));
            m.connect(product.b_i, SCALE);
            m.unused(product.valid_o);
            let to_int =
                FloatToInt { width: 8, signed: false, stages: STAGES[1], flags: true, ..FloatToInt::default() };
            let integer = m.instance("u_integer", to_int);
            m.connect(integer.valid_i, 1);
            m.connect(integer.a_i, product.result_o);
            m.unused(integer.valid_o);
            if let Some(inexact) = integer.flags.inexact_o {
                m.unused(inexact);
            }
            let mine = m.wire("mine", late_used.gt(l.value(used_ty.width)));
            m.connect(values.at(l), integer.result_o & mine.repeat(8));
            m.connect(wrong.at(l), integer.flags.invalid_o.unwrap_or(bit().lit(0)) & mine);
        });
        end.catch(m, "end", begins, cat(&[late_last, late_used, values.packed()]), io.clear_i);
        let overflows = popcount::ones(m, "overflows", &wrong.elements());
        m.connect(io.overflows_o, overflows & end.fifo.input.valid.repeat(used_ty.width));
        m.connect_handshake(&io.output, &end.fifo.output);
        m.connect(end.leaves, io.output.fire());
        let word = m.wire("result_word", end.fifo.output.data.data);
        m.connect(io.output.values.packed(), word.slice(0..8 * lanes));
        m.connect(io.output.used, word.slice(8 * lanes..8 * lanes + used_ty.width));
        m.connect(io.output.last, word.msb());
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency() + 1)
    }
}
