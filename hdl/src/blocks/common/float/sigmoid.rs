//! Logistic function of a float: 1 / (1 + e^-x).
//!
//! For a negative operand the result is a smooth number up to 1/2: parabolas give it, with a scale for each segment.
//! For a positive operand the result is 1 less the result for the negated operand.

use super::exceptions::Exception;
use super::format::{FloatFormat, Subnormals};
use super::place::place;
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded};
use super::seen::{Seen, implies};
use super::segments::{Factor, factor};
use super::shape::{Shape, demand_16_bits};
use super::unit::{FloatUnit, UnaryPorts, proof};
use crate::lang::{About, CatalogBlock, Module, Proof, bit, parameters, uint};

parameters! {
    /// Elaboration parameters.
    pub struct FloatSigmoid {
        /// Format of operand and result.
        format: FloatFormat = FloatFormat::Fp16, note "of at most 16 bits", tag "";
        /// Ranks of registers inside, the latency in cycles; 0 is combinational.
        stages: u32 = 0, in 0..=DEPTHS.len() as u32 - 1, tag "s";
        /// Subnormal numbers, or zeros instead.
        subnormals: Subnormals = Subnormals::Ieee, tag "";
        /// Outputs for IEEE 754's exceptions.
        flags: bool = false, tag "flags";
    }
    rules = |p, rules| demand_16_bits(rules, p.format);
}

/// Levels of the parts between the places where registers may stand, about: shift, find the parabola, its slope (three), its
/// value (four), its distance from 1, normalise, place, round.
const DEPTHS: &[u32] = &[15, 13, 18, 12, 13, 17, 14, 14, 14, 19, 17, 8, 12];

impl FloatUnit for FloatSigmoid {
    type Ports = UnaryPorts;
    const ABOUT: About = About {
        name: "float_sigmoid",
        summary: "floating-point logistic function",
        contract: "result_o = 1 / (1 + e to the power of -a_i) of `stages` cycles ago, within 0.59 ulp (bf16: 0.73),\n\
            and never falling while a_i rises. A zero gives exactly 1/2, minus infinity +0, infinity 1, a NaN the\n\
            canonical quiet NaN.\n\
            underflow_o and inexact_o describe the exact result.",
        reference: "",
    };

    fn shape(&self) -> Shape {
        let shape = Shape::new(self.format, self.stages, DEPTHS);
        shape.raising(self.flags, &[Exception::Invalid, Exception::Underflow, Exception::Inexact])
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &UnaryPorts) {
        let format = self.format;
        let e = format.exponent_bits();
        let a = Operand::new(m, "a", io.a_i, format, self.subnormals);
        let nan = pipe.keep(m, "nan", a.nan);
        let positive = pipe.keep(m, "positive", !io.a_i.msb());
        pipe.raise(m, Exception::Invalid, a.signalling);
        pipe.raise(m, Exception::Inexact, !(a.special | a.zero));

        let part = factor(m, pipe, &a, Factor::Logistic, format);
        m.comment("For a positive operand, 1 less the value.");
        let mut result = part.flipped(m, pipe.now(positive));
        pipe.end(positive);
        pipe.cut(m, [("value", &mut result.value), ("scale", &mut result.scale)]);
        let width = e.max(result.scale.width()) + 2;
        let exponent = uint(width).lit(format.bias()).wrapping_sub(result.scale.extend(width));
        let exponent = m.wire("top_exponent", exponent);
        let placed = place(m, pipe, result.value, exponent, format);

        m.comment("Rounded.");
        let unrounded = Unrounded {
            sign: bit().lit(0),
            exponent: placed.exponent,
            fraction: placed.fraction,
            up: m.wire("up", placed.half),
            inexact: pipe.raised(Exception::Inexact),
            special: pipe.now(nan),
            nan: pipe.now(nan),
            too_large: TooLarge::Never,
        };
        unrounded.finish(m, pipe, (format, self.subnormals), (io.result_o, &io.flags));
    }

    /// Specials, the range, and on which side of 1/2 the result is.
    fn properties(&self, m: &mut Module, io: &UnaryPorts) {
        let [a, result] = Seen::all(m, [("a", io.a_i), ("result", io.result_o)], self.format, self.subnormals);
        let (half, one) = (Seen::power(self.format, -1), Seen::power(self.format, 0));
        result.is_nan_where(m, a.nan);
        m.assert_always("at_most_one", a.nan | result.bits.le(one));
        m.assert_always("zero_gives_one_half", implies(!a.magnitude.any(), result.bits.eq(half)));
        m.assert_always("infinity_gives_one", implies(a.infinite & !a.sign, result.bits.eq(one)));
        m.assert_always("minus_infinity_gives_zero", implies(a.infinite & a.sign, !result.bits.any()));
        m.assert_always("at_least_one_half", a.nan | a.sign | result.bits.ge(half));
        m.assert_always("at_most_one_half", a.nan | !a.sign | result.bits.le(half));
        result.is_flushed(m);
        m.cover("one_of_a_number", !(a.nan | a.infinite) & result.bits.eq(one));
    }
}

impl CatalogBlock for FloatSigmoid {
    fn configurations() -> Vec<Self> {
        let set = |format, stages, subnormals| Self { format, stages, subnormals, flags: true };
        vec![
            set(FloatFormat::E3m2, 0, Subnormals::Ieee),
            set(FloatFormat::E5m2, 2, Subnormals::Flush),
            set(FloatFormat::Fp16, 12, Subnormals::Ieee),
            set(FloatFormat::Fp16, 1, Subnormals::Flush),
            set(FloatFormat::Bf16, 3, Subnormals::Ieee),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |format, subnormals| proof(Self { format, stages: 0, subnormals, flags: true });
        vec![prove(FloatFormat::E5m2, Subnormals::Ieee), prove(FloatFormat::E3m2, Subnormals::Flush)]
    }
}
