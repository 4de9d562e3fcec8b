//! From a sum, or an fp16 number, to a result: scale, bias, ReLU, and an fp16 number or an integer.

use crate::blocks::common::row::later;
use crate::blocks::common::{FloatAdd, FloatConvert, FloatFormat, FloatFromInt, FloatMul, FloatToInt};
use crate::lang::{
    About, Block, In, Module, Out, Signal, Timing, bit, cat, mux, parameters, ports, select, sint, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct TenderLane {
        /// Bits of a sum.
        width: u32 = 41, in 2..=64, tag "w";
        /// Ranks of registers where a sum becomes fp32.
        from_int_stages: u32 = 1, in 1..=32, tag "f";
        /// Ranks of registers in each product.
        mul_stages: u32 = 2, in 0..=32, tag "m";
        /// Ranks of registers in the sum with the bias.
        add_stages: u32 = 2, in 0..=32, tag "a";
        /// Ranks of registers where a number becomes an integer, or fp16.
        to_int_stages: u32 = 1, in 0..=32, tag "i";
    }
    rules = |p, rules| {
        rules.part("from_int_stages", &p.int_to_float());
        rules.part("mul_stages", &p.mul());
        rules.part("add_stages", &p.adder());
        rules.part("to_int_stages", &p.to_int());
        rules.part("to_int_stages", &p.half());
    };
}

impl TenderLane {
    /// A lane for sums of so many bits, with the registers of the default.
    #[must_use]
    pub fn of_sums(width: u32) -> Self {
        Self { width, ..Self::default() }
    }

    fn int_to_float(&self) -> FloatFromInt {
        let (format, width) = (FloatFormat::Fp32, self.width);
        FloatFromInt { format, width, stages: self.from_int_stages, ..FloatFromInt::default() }
    }

    fn mul(&self) -> FloatMul {
        FloatMul { format: FloatFormat::Fp32, stages: self.mul_stages, ..FloatMul::default() }
    }

    fn adder(&self) -> FloatAdd {
        FloatAdd { format: FloatFormat::Fp32, stages: self.add_stages, ..FloatAdd::default() }
    }

    fn to_int(&self) -> FloatToInt {
        // One more bit, so that a value that does not fit is seen, signed or not.
        let stages = self.to_int_stages;
        FloatToInt { format: FloatFormat::Fp32, width: 9, stages, flags: true, ..FloatToInt::default() }
    }

    fn half(&self) -> FloatConvert {
        FloatConvert { stages: self.to_int_stages, ..FloatConvert::default() }
    }

    /// Cycles from a sum to what is read and made of it.
    #[must_use]
    pub fn times(&self) -> LaneTimes {
        let bias = self.from_int_stages + self.mul_stages;
        let quantizer = bias + self.add_stages;
        let result = quantizer + self.mul_stages + self.to_int_stages + 1;
        LaneTimes { scale: self.from_int_stages, bias, quantizer, result }
    }

    /// Cycles from a sum to its result.
    #[must_use]
    pub fn latency(&self) -> u32 {
        self.times().result
    }
}

/// Cycles from a sum to each of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneTimes {
    /// To its scale.
    pub scale: u32,
    /// To its bias.
    pub bias: u32,
    /// To its quantizer.
    pub quantizer: u32,
    /// To its result.
    pub result: u32,
}

ports! {
    /// Ports of [`TenderLane`].
    pub struct TenderLanePorts(p: &TenderLane) {
        /// The number is value_i, not sum_i; steady while anything is inside, as all modes.
        from_value_i: In = bit(),
        /// Negative numbers become 0.
        relu_i: In = bit(),
        /// Integers have 8 bits, not 4.
        int8_i: In = bit(),
        /// Integers are unsigned.
        unsigned_i: In = bit(),
        /// The result is an integer, not fp16.
        integer_i: In = bit(),
        /// A sum.
        sum_i: In = sint(p.width),
        /// A number, fp16.
        value_i: In = uint(16),
        /// fp32; the times say for which sum.
        scale_i: In = uint(32),
        /// fp32.
        bias_i: In = uint(32),
        /// fp32.
        quantizer_i: In = uint(32),
        /// fp16, or an integer in the low bits.
        y_o: Out = uint(16),
        /// The result is infinite or a NaN, or an integer that is saturated or comes from a NaN.
        overflow_o: Out = bit(),
    }
}

impl Block for TenderLane {
    type Ports = TenderLanePorts;
    const ABOUT: About = About {
        name: "tender_lane",
        summary: "a sum of products, or an fp16 number, becomes a result: scale, bias, ReLU, fp16 or integer",
        contract: "f = fp32(number), p = f * scale, y = p + bias, each rounded to nearest, ties to even. relu_i:\n\
            y = 0 where it is negative (or -0). The result is fp16(y), or y * quantizer, rounded to fp32, then to an\n\
            integer, saturated; a NaN gives 0. scale_i, bias_i and quantizer_i come from_int_stages, mul_stages\n\
            more, and add_stages more cycles after their number.",
        reference: "Tender, sections III-B and IV-A",
    };

    fn build(&self, m: &mut Module, io: &TenderLanePorts) {
        let latency = self.latency();
        let quantize = self.mul_stages + self.to_int_stages + 1;
        let sum = m.instance("u_sum", self.int_to_float());
        m.connect(sum.valid_i, 1);
        m.connect(sum.a_i, io.sum_i);
        m.unused(sum.valid_o);
        let convert = FloatConvert { from: FloatFormat::Fp16, to: FloatFormat::Fp32, ..FloatConvert::default() };
        let wide = m.instance("u_value", convert);
        m.connect(wide.valid_i, 1);
        m.connect(wide.a_i, io.value_i);
        m.unused(wide.valid_o);
        let value = m.wire("value", wide.result_o);
        let value = later(m, "value", value, self.from_int_stages);
        let number = m.wire("number", mux(io.from_value_i, value, sum.result_o));

        let product = m.instance("u_scale", self.mul());
        m.connect(product.valid_i, 1);
        m.connect(product.a_i, number);
        m.connect(product.b_i, io.scale_i);
        m.unused(product.valid_o);
        let total = m.instance("u_bias", self.adder());
        m.connect(total.valid_i, 1);
        m.connect(total.a_i, product.result_o);
        m.connect(total.b_i, io.bias_i);
        m.unused(total.valid_o);
        let y = m.wire("y", total.result_o);
        let nan = y.slice(23..31).all() & y.slice(0..23).any();
        let zero = m.wire("zero", io.relu_i & y.msb() & !nan);
        let y = m.wire("y_now", y & (!zero).repeat(32));

        let scaled = m.instance("u_quantizer", self.mul());
        m.connect(scaled.valid_i, 1);
        m.connect(scaled.a_i, y);
        m.connect(scaled.b_i, io.quantizer_i);
        m.unused(scaled.valid_o);
        let integer = m.instance("u_integer", self.to_int());
        m.connect(integer.valid_i, 1);
        m.connect(integer.a_i, scaled.result_o);
        m.unused(integer.valid_o);
        if let Some(inexact) = integer.flags.inexact_o {
            m.unused(inexact);
        }
        let invalid = m.wire("invalid", integer.flags.invalid_o.unwrap_or(bit().lit(0)));
        let half = m.instance("u_half", self.half());
        m.connect(half.valid_i, 1);
        m.connect(half.a_i, y);
        m.unused(half.valid_o);
        let half = later(m, "half", half.result_o, quantize - 1 - self.to_int_stages);

        let whole = m.wire("whole", integer.result_o.as_uint());
        let limits = |m: &mut Module, name: &str, bits: u32| -> (Signal, Signal) {
            let (low, rest) = (whole.slice(0..bits), whole.slice(bits - 1..9));
            let sign = whole.msb();
            let fits = m.wire(
                &format!("fits_{name}"),
                mux(io.unsigned_i, !whole.slice(bits..9).any(), rest.all() | !rest.any()),
            );
            let limit = mux(io.unsigned_i, (!sign).repeat(bits), cat(&[sign, (!sign).repeat(bits - 1)]));
            (m.wire(name, mux(fits, low, limit)), fits)
        };
        let (byte, byte_fits) = limits(m, "low_byte", 8);
        let (nibble, nibble_fits) = limits(m, "low_nibble", 4);
        let short = [(io.int8_i, byte.extend(16)), (bit().lit(1), nibble.extend(16))];
        let result = mux(io.integer_i, select(&short, uint(16).lit(0)), half);
        let fits = mux(io.int8_i, byte_fits, nibble_fits);
        let overflow = mux(io.integer_i, invalid | !fits, half.slice(10..15).all());
        let result = m.wire("result", result);
        let result = later(m, "y", result, 1);
        m.connect(io.y_o, result);
        let overflow = m.wire("overflow", overflow);
        let overflow = later(m, "overflow", overflow, 1);
        m.connect(io.overflow_o, overflow);
        debug_assert_eq!(latency, self.times().quantizer + quantize);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}
