//! fp16 numbers become integers of 16 bits.

use super::kelle_spec::Numbers;
use crate::blocks::common::arith::popcount;
use crate::blocks::common::row::{Section, later};
use crate::blocks::common::{FloatConvert, FloatFormat, FloatMul, FloatToInt};
use crate::lang::{
    About, Block, Bundle, In, InStream, Module, Out, OutStream, Signal, Timing, bit, bits_for, cat, parameters, ports,
    uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct IntegerLane {
        /// Ranks of registers in the product.
        mul_stages: u32 = 2, in 0..=32, tag "m";
        /// Ranks of registers where a number becomes an integer.
        to_int_stages: u32 = 1, in 0..=32, tag "i";
        /// Integers are unsigned.
        unsigned: bool = false, tag "unsigned";
    }
    rules = |p, rules| {
        rules.part("mul_stages", &p.mul());
        rules.part("to_int_stages", &p.to_int());
    };
}

impl IntegerLane {
    fn mul(&self) -> FloatMul {
        FloatMul { format: FloatFormat::Fp32, stages: self.mul_stages, ..FloatMul::default() }
    }

    fn to_int(&self) -> FloatToInt {
        let stages = self.to_int_stages;
        let signed = !self.unsigned;
        FloatToInt { format: FloatFormat::Fp32, width: 16, signed, stages, flags: true, ..FloatToInt::default() }
    }

    /// Cycles from a number to its integer.
    #[must_use]
    pub fn latency(&self) -> u32 {
        self.mul_stages + self.to_int_stages
    }
}

ports! {
    /// Ports of [`IntegerLane`].
    pub struct IntegerLanePorts(p: &IntegerLane) {
        /// A number, fp16.
        x_i: In = uint(16),
        /// fp32; steady while anything is inside.
        quantizer_i: In = uint(32),
        /// The integer, two's complement or unsigned.
        y_o: Out = uint(16),
        /// It is saturated, or comes from a NaN.
        saturated_o: Out = bit(),
    }
}

impl Block for IntegerLane {
    type Ports = IntegerLanePorts;
    const ABOUT: About = About {
        name: "integer_lane",
        summary: "an fp16 number becomes an integer of 16 bits",
        contract: "y_o = the integer nearest to fp32(x_i) * quantizer_i, mul_stages + to_int_stages cycles later.\n\
            The product is rounded to fp32 first, ties to even; the integer is saturated, and 0 for a NaN.",
        reference: "Kelle, section 5",
    };

    fn build(&self, m: &mut Module, io: &IntegerLanePorts) {
        let convert = FloatConvert { from: FloatFormat::Fp16, to: FloatFormat::Fp32, ..FloatConvert::default() };
        let wide = m.instance("u_wide", convert);
        m.connect(wide.valid_i, 1);
        m.connect(wide.a_i, io.x_i);
        m.unused(wide.valid_o);
        let product = m.instance("u_product", self.mul());
        m.connect(product.valid_i, 1);
        m.connect(product.a_i, wide.result_o);
        m.connect(product.b_i, io.quantizer_i);
        m.unused(product.valid_o);
        let integer = m.instance("u_integer", self.to_int());
        m.connect(integer.valid_i, 1);
        m.connect(integer.a_i, product.result_o);
        m.unused(integer.valid_o);
        if let Some(inexact) = integer.flags.inexact_o {
            m.unused(inexact);
        }
        m.connect(io.y_o, integer.result_o.as_uint());
        m.connect(io.saturated_o, integer.flags.invalid_o.unwrap_or(bit().lit(0)));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct IntegerLanes {
        /// Numbers of a beat.
        lanes: u32 = 8, in 1..=64, tag "l";
        /// One of them.
        lane: IntegerLane = IntegerLane::default();
    }
}

ports! {
    /// Ports of [`IntegerLanes`].
    pub struct IntegerLanesPorts(p: &IntegerLanes) {
        /// Drops all that is inside at the coming edge.
        clear_i: In = bit(),
        /// fp32; steady while anything is inside.
        quantizer_i: In = uint(32),
        /// Rows of fp16 numbers.
        input: InStream<Numbers> = p.lanes,
        /// The same rows, integers.
        output: OutStream<Numbers> = p.lanes,
        /// Integers that leave in this cycle and are saturated, or come from a NaN.
        saturations_o: Out = uint(bits_for(p.lanes.into())),
    }
}

impl Block for IntegerLanes {
    type Ports = IntegerLanesPorts;
    const ABOUT: About = About {
        name: "integer_lanes",
        summary: "rows of fp16 numbers become rows of integers of 16 bits",
        contract: "Each number in use becomes an integer as in integer_lane, in order.",
        reference: "Kelle, section 5",
    };

    fn build(&self, m: &mut Module, io: &IntegerLanesPorts) {
        let (lanes, latency) = (self.lanes, self.lane.latency());
        let used_ty = io.input.used.ty();
        let width = 17 * lanes + used_ty.width + 1;
        let end = Section::new(m, "end", (latency, width), io.clear_i);
        m.connect(io.input.ready, end.room);
        let begins = m.wire("begins", io.input.fire());
        m.connect(end.enters, begins);
        let beside = later(m, "beside", cat(&[io.input.last, io.input.used]), latency);
        let beside = m.wire("beside", beside);
        let integers = m.nets("whole", uint(16), lanes);
        let flags = m.nets("flag", bit(), lanes);
        m.for_each("lane", lanes, |m, i| {
            let lane = m.instance("u_lane", self.lane.clone());
            m.connect(lane.x_i, io.input.values.at(i));
            m.connect(lane.quantizer_i, io.quantizer_i);
            m.connect(integers.at(i), lane.y_o);
            let mine = beside.slice(0..used_ty.width).gt(i.value(used_ty.width));
            m.connect(flags.at(i), lane.saturated_o & mine);
        });
        end.catch(m, "end", begins, cat(&[flags.packed(), beside, integers.packed()]), io.clear_i);
        let word = m.wire("word", end.fifo.output.data.data);
        m.connect_handshake(&io.output, &end.fifo.output);
        let leaves = m.wire("leaves", io.output.fire());
        m.connect(end.leaves, leaves);
        let parts = Numbers {
            values: m.split("values", word.slice(0..16 * lanes), uint(16).array(lanes)),
            used: word.slice(16 * lanes..16 * lanes + used_ty.width),
            last: word.bit(16 * lanes + used_ty.width),
        };
        io.output.data.drive(m, "output", &parts);
        let shown = word.slice(width - lanes..width);
        let ones: Vec<Signal> = (0..lanes).map(|i| shown.bit(i)).collect();
        let count = popcount::ones(m, "saturations", &ones);
        let most = io.saturations_o.width();
        let count = if count.width() > most { count.truncate(most) } else { count.extend(most) };
        m.connect(io.saturations_o, count & leaves.repeat(most));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.lane.latency() + 1)
    }
}
