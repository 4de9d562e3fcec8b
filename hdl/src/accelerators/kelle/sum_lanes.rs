//! Sums become fp16 numbers.

use crate::blocks::common::arith::popcount;
use crate::blocks::common::row::{Section, later};
use crate::blocks::common::{FloatAdd, FloatConvert, FloatFormat, FloatFromInt, FloatMul};
use crate::lang::{
    About, Block, Field, FieldArray, In, InStream, Module, Out, OutStream, Signal, Timing, bit, bits_for, bundle, cat,
    parameters, ports, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct SumLane {
        /// Bits of a sum.
        width: u32 = 48, in 2..=64, tag "w";
        /// Ranks of registers where a sum becomes fp32.
        from_int_stages: u32 = 1, in 1..=32, tag "f";
        /// Ranks of registers in the product.
        mul_stages: u32 = 2, in 0..=32, tag "m";
        /// Ranks of registers in the sum with the bias.
        add_stages: u32 = 2, in 0..=32, tag "a";
        /// Ranks of registers where a number becomes fp16.
        half_stages: u32 = 1, in 0..=32, tag "h";
    }
    rules = |p, rules| {
        rules.part("from_int_stages", &p.int_to_float());
        rules.part("mul_stages", &p.mul());
        rules.part("add_stages", &p.adder());
        rules.part("half_stages", &p.half());
    };
}

impl SumLane {
    fn int_to_float(&self) -> FloatFromInt {
        let stages = self.from_int_stages;
        FloatFromInt { format: FloatFormat::Fp32, width: self.width, stages, ..FloatFromInt::default() }
    }

    fn mul(&self) -> FloatMul {
        FloatMul { format: FloatFormat::Fp32, stages: self.mul_stages, ..FloatMul::default() }
    }

    fn adder(&self) -> FloatAdd {
        FloatAdd { format: FloatFormat::Fp32, stages: self.add_stages, ..FloatAdd::default() }
    }

    fn half(&self) -> FloatConvert {
        FloatConvert { stages: self.half_stages, ..FloatConvert::default() }
    }

    /// Cycles from a sum to what is read and made of it.
    #[must_use]
    pub fn times(&self) -> SumTimes {
        let bias = self.from_int_stages + self.mul_stages;
        SumTimes { scale: self.from_int_stages, bias, result: bias + self.add_stages + self.half_stages }
    }
}

/// Cycles from a sum to each of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SumTimes {
    /// To its scale.
    pub scale: u32,
    /// To its bias.
    pub bias: u32,
    /// To its result.
    pub result: u32,
}

ports! {
    /// Ports of [`SumLane`].
    pub struct SumLanePorts(p: &SumLane) {
        /// A sum.
        sum_i: In = sint(p.width),
        /// fp32; the times say for which sum.
        scale_i: In = uint(32),
        /// fp32.
        bias_i: In = uint(32),
        /// fp16.
        y_o: Out = uint(16),
        /// It is infinite or a NaN.
        overflow_o: Out = bit(),
    }
}

impl Block for SumLane {
    type Ports = SumLanePorts;
    const ABOUT: About = About {
        name: "sum_lane",
        summary: "a sum of products becomes an fp16 number: scale and bias in fp32",
        contract: "y_o = fp16(fp32(sum_i) * scale_i + bias_i), each step rounded to nearest, ties to even. scale_i\n\
            and bias_i come from_int_stages and mul_stages more cycles after their sum.",
        reference: "Kelle, section 5",
    };

    fn build(&self, m: &mut Module, io: &SumLanePorts) {
        let sum = m.instance("u_sum", self.int_to_float());
        m.connect(sum.valid_i, 1);
        m.connect(sum.a_i, io.sum_i);
        m.unused(sum.valid_o);
        let product = m.instance("u_scale", self.mul());
        m.connect(product.valid_i, 1);
        m.connect(product.a_i, sum.result_o);
        m.connect(product.b_i, io.scale_i);
        m.unused(product.valid_o);
        let total = m.instance("u_bias", self.adder());
        m.connect(total.valid_i, 1);
        m.connect(total.a_i, product.result_o);
        m.connect(total.b_i, io.bias_i);
        m.unused(total.valid_o);
        let half = m.instance("u_half", self.half());
        m.connect(half.valid_i, 1);
        m.connect(half.a_i, total.result_o);
        m.unused(half.valid_o);
        let y = m.wire("y", half.result_o);
        m.connect(io.y_o, y);
        m.connect(io.overflow_o, y.slice(10..15).all());
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.times().result)
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct SumLanes {
        /// Sums of a beat.
        lanes: u32 = 8, in 1..=64, tag "l";
        /// One of them.
        lane: SumLane = SumLane::default();
    }
}

bundle! {
    /// Some sums, with the constants of each.
    pub struct Sums(p: SumLanes) {
        /// The sums.
        sum: FieldArray = sint(p.lane.width).array(p.lanes),
        /// fp32.
        scale: FieldArray = uint(32).array(p.lanes),
        /// fp32.
        bias: FieldArray = uint(32).array(p.lanes),
        /// Sums in use.
        used: Field = uint(bits_for(p.lanes.into())),
    }
}

bundle! {
    /// The numbers that they become.
    pub struct Halves(lanes: u32) {
        /// fp16.
        values: FieldArray = uint(16).array(*lanes),
    }
}

ports! {
    /// Ports of [`SumLanes`].
    pub struct SumLanesPorts(p: &SumLanes) {
        /// Drops all that is inside at the coming edge.
        clear_i: In = bit(),
        /// Sums.
        input: InStream<Sums> = p.clone(),
        /// Numbers.
        output: OutStream<Halves> = p.lanes,
        /// Numbers in use that leave in this cycle and are infinite or NaNs.
        overflows_o: Out = uint(bits_for(p.lanes.into())),
    }
}

impl Block for SumLanes {
    type Ports = SumLanesPorts;
    const ABOUT: About = About {
        name: "sum_lanes",
        summary: "sums of products become fp16 numbers, some lanes a beat",
        contract: "Each sum becomes a number as in sum_lane, in order.",
        reference: "Kelle, section 5",
    };

    fn build(&self, m: &mut Module, io: &SumLanesPorts) {
        let lanes = self.lanes;
        let SumTimes { scale: to_scale, bias: to_bias, result: latency } = self.lane.times();
        let used_ty = io.input.used.ty();
        let width = 17 * lanes;
        let end = Section::new(m, "end", (latency, width), io.clear_i);
        m.connect(io.input.ready, end.room);
        let begins = m.wire("begins", io.input.fire());
        m.connect(end.enters, begins);
        let scales = later(m, "scale", io.input.scale.packed(), to_scale);
        let scales = m.split("scale_now", scales, uint(32).array(lanes));
        let biases = later(m, "bias", io.input.bias.packed(), to_bias);
        let biases = m.split("bias_now", biases, uint(32).array(lanes));
        let used = later(m, "used", io.input.used, latency);
        let used = m.wire("used_now", used);
        let halves = m.nets("half", uint(16), lanes);
        let flags = m.nets("flag", bit(), lanes);
        m.for_each("lane", lanes, |m, i| {
            let lane = m.instance("u_lane", self.lane.clone());
            m.connect(lane.sum_i, io.input.sum.at(i));
            m.connect(lane.scale_i, scales.at(i));
            m.connect(lane.bias_i, biases.at(i));
            m.connect(halves.at(i), lane.y_o);
            m.connect(flags.at(i), lane.overflow_o & used.gt(i.value(used_ty.width)));
        });
        end.catch(m, "end", begins, cat(&[flags.packed(), halves.packed()]), io.clear_i);
        let word = m.wire("word", end.fifo.output.data.data);
        m.connect_handshake(&io.output, &end.fifo.output);
        let leaves = m.wire("leaves", io.output.fire());
        m.connect(end.leaves, leaves);
        let values = m.split("values", word.slice(0..16 * lanes), uint(16).array(lanes));
        m.connect_each("output_values", io.output.values, values);
        let shown = word.slice(16 * lanes..width);
        let ones: Vec<Signal> = (0..lanes).map(|i| shown.bit(i)).collect();
        let count = popcount::ones(m, "overflows", &ones);
        let most = io.overflows_o.width();
        let count = if count.width() > most { count.truncate(most) } else { count.extend(most) };
        m.connect(io.overflows_o, count & leaves.repeat(most));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.lane.times().result + 1)
    }
}
