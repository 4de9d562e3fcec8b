//! Activation functions of a float: GELU in both forms, tanh and SiLU by a table with interpolation; ReLU without one.
//!
//! Those of the table are the operand times a smooth factor of at most 1, so that small operands lose nothing. Parabolas give the
//! factor that GELU and SiLU have for negative operands; for positive ones it is 1 less this factor. The tangent of an
//! operand below 1 is the operand times a factor. From 1 on the tangent is 1 less the factor, and the operand is not
//! multiplied.

use super::exceptions::{Exception, Exceptions};
use super::format::{FloatFormat, Subnormals};
use super::parts::Parts;
use super::place::place;
use super::ranks::Ranks;
use super::round::{Class, Operand, TooLarge, Unrounded, is_signalling};
use super::seen::{Seen, implies};
use super::segments::{Factor, factor};
use super::shape::{Shape, demand_16_bits};
use super::unit::{FloatUnit, UnaryPorts, proof};
use crate::lang::{About, CatalogBlock, Module, Proof, choices, mux, parameters, select, uint};

choices! {
    /// A function.
    pub enum FloatFunction {
        /// x times the normal distribution's probability of less than x.
        GeluErf,
        /// x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
        GeluTanh,
        /// x / (1 + e^-x).
        Silu,
        /// Hyperbolic tangent.
        Tanh,
        /// The larger one of x and 0.
        Relu,
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct FloatTable {
        /// Format of operand and result.
        format: FloatFormat = FloatFormat::Fp16, note "of at most 16 bits", tag "";
        /// The function.
        function: FloatFunction = FloatFunction::GeluErf, tag "";
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
/// value (four), its distance from 1, multiply by parts, add them, add these, normalise, place, round.
const DEPTHS: &[u32] = &[15, 13, 18, 12, 13, 17, 14, 14, 14, 19, 17, 14, 14, 17, 8, 12];

impl FloatUnit for FloatTable {
    type Ports = UnaryPorts;
    const ABOUT: About = About {
        name: "float_table",
        summary: "floating-point GELU, tanh or SiLU by a table with interpolation, or ReLU",
        contract: "result_o = `function` of a_i of `stages` cycles ago, within 0.79 ulp (tanh: 0.55, and never\n\
            falling while a_i rises). A zero gives a_i, a NaN the canonical quiet NaN. With tanh an infinity gives 1\n\
            of its sign; otherwise infinity gives infinity and minus infinity -0. underflow_o and inexact_o describe\n\
            the exact result. ReLU is exact, never has these two ports, and gives +0 for zeros and negative numbers.",
        reference: "Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv:1606.08415; IEEE 754-2019, section 9.2 (tanh)",
    };

    fn shape(&self) -> Shape {
        let shape = Shape::new(self.format, self.stages, DEPTHS);
        let raised: Exceptions = match self.factor() {
            Some(_) => &[Exception::Invalid, Exception::Underflow, Exception::Inexact],
            None => &[Exception::Invalid],
        };
        shape.raising(self.flags, raised)
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &UnaryPorts) {
        let Some(wanted) = self.factor() else { return self.rectify(m, pipe, io) };
        let format = self.format;
        let (e, f) = (format.exponent_bits(), format.fraction_bits());
        let a = Operand::new(m, "a", io.a_i, format, self.subnormals);
        let negative = pipe.keep(m, "negative", io.a_i.msb());
        let nan = pipe.keep(m, "nan", a.nan);
        let tangent = self.function == FloatFunction::Tanh;
        let special = if tangent { a.nan } else { a.nan | (a.special & !io.a_i.msb()) };
        let special = pipe.keep(m, "special", special);
        pipe.raise(m, Exception::Invalid, a.signalling);
        pipe.raise(m, Exception::Inexact, !(a.special | a.zero));

        m.comment("The operand of the product, and whether the factor is 1 less the table's value.");
        let flip = if tangent { a.exponent.ge(format.bias()) } else { !io.a_i.msb() };
        let flip = m.wire("flip", flip);
        let (one, bias) = (uint(f + 1).lit(1u64 << f), uint(e).lit(format.bias()));
        let (operand, scale) = if tangent {
            (mux(flip, one, a.significand), mux(flip, bias, a.exponent))
        } else {
            (a.significand, a.exponent)
        };
        let operand = pipe.keep(m, "operand", operand);
        let scale = pipe.keep(m, "operand_exponent", scale);
        let flip = pipe.carry("flip", flip);

        let part = factor(m, pipe, &a, wanted, format);
        m.comment("1 less the table's value.");
        let mut result = part.flipped(m, pipe.now(flip));
        pipe.end(flip);
        pipe.cut(m, [("value", &mut result.value), ("scale", &mut result.scale)]);

        m.comment("Times the operand.");
        let mut product = Parts::new(m, pipe, "product", (result.value, pipe.now(operand)), 2);
        let width = e.max(result.scale.width()) + 2;
        let exponent = pipe.now(scale).extend(width).wrapping_sub(result.scale.extend(width));
        let mut exponent = m.wire("top_exponent", exponent);
        pipe.end(operand);
        pipe.end(scale);
        for _ in 0..2 {
            product.cut(m, pipe, [("exponent", &mut exponent)]);
        }
        let product = product.whole();
        // The factor is at most 1.
        let mut word = m.wire("word", product.slice(0..product.width() - 1));
        m.unused(product);
        pipe.cut(m, [("word", &mut word), ("exponent", &mut exponent)]);
        let placed = place(m, pipe, word, exponent, format);

        m.comment("Rounded.");
        let unrounded = Unrounded {
            sign: pipe.now(negative),
            exponent: placed.exponent,
            fraction: placed.fraction,
            up: m.wire("up", placed.half),
            inexact: pipe.raised(Exception::Inexact),
            special: pipe.now(special),
            nan: pipe.now(nan),
            too_large: TooLarge::Never,
        };
        unrounded.finish(m, pipe, (format, self.subnormals), (io.result_o, &io.flags));
    }

    /// Specials, signs, and that no result is further from zero than its operand.
    fn properties(&self, m: &mut Module, io: &UnaryPorts) {
        let tangent = self.function == FloatFunction::Tanh;
        let [a, result] = Seen::all(m, [("a", io.a_i), ("result", io.result_o)], self.format, self.subnormals);
        let one = Seen::power(self.format, 0);
        result.is_nan_where(m, a.nan);
        if self.factor().is_none() {
            let nothing = m.wire("seen_nothing", a.sign | a.zero);
            m.assert_always("none_of_negative_numbers", implies(nothing & !a.nan, !result.bits.any()));
            m.assert_always("positive_numbers_stay", nothing | a.nan | result.bits.eq(a.bits));
            m.cover("an_infinity_stays", a.infinite & result.infinite);
            return;
        }
        m.assert_always("sign_is_kept", a.nan | result.has_sign(a.sign));
        m.assert_always("no_further_from_zero", a.nan | result.magnitude.le(a.magnitude));
        let (upper, lower) = if tangent {
            (result.magnitude.eq(one), result.magnitude.eq(one))
        } else {
            (result.infinite, !result.magnitude.any())
        };
        m.assert_always("infinity", implies(a.infinite & !a.sign, upper));
        m.assert_always("minus_infinity", implies(a.infinite & a.sign, lower));
        if tangent {
            m.assert_always("at_most_one", a.nan | result.magnitude.le(one));
        }
        result.is_flushed(m);
        m.cover("some_normal_result", !(a.nan | a.infinite) & !(result.zero | result.subnormal));
    }
}

impl FloatTable {
    /// The factor of the operand, where a table gives it.
    fn factor(&self) -> Option<Factor> {
        match self.function {
            FloatFunction::GeluErf => Some(Factor::Normal),
            FloatFunction::GeluTanh => Some(Factor::NormalByTanh),
            FloatFunction::Silu => Some(Factor::LogisticTimes),
            FloatFunction::Tanh => Some(Factor::Tanh),
            FloatFunction::Relu => None,
        }
    }

    /// `ReLU`, which needs no table and no rounding.
    fn rectify(&self, m: &mut Module, pipe: &mut Ranks, io: &UnaryPorts) {
        let format = self.format;
        let a = Class::new(m, "a", io.a_i, format, self.subnormals);
        pipe.raise(m, Exception::Invalid, is_signalling(io.a_i, format));
        m.unused(a.special);
        let (w, f) = (format.width(), format.fraction_bits());
        let quiet = format.ty().lit((1u64 << (w - 1)) - (1 << (f - 1)));
        let cases = [(a.nan, quiet), (io.a_i.msb() | a.zero, format.ty().lit(0))];
        let mut rectified = m.wire("rectified", select(&cases, io.a_i));
        for _ in 1..DEPTHS.len() {
            pipe.cut(m, [("rectified", &mut rectified)]);
        }
        m.connect(io.result_o, rectified);
        io.flags.connect(m, |exception| pipe.raised(exception));
    }
}

impl CatalogBlock for FloatTable {
    fn configurations() -> Vec<Self> {
        use FloatFunction::{GeluErf, GeluTanh, Relu, Silu, Tanh};
        let set = |function, format, stages, subnormals| Self { format, function, stages, subnormals, flags: true };
        vec![
            set(GeluErf, FloatFormat::E3m2, 0, Subnormals::Ieee),
            set(Tanh, FloatFormat::E5m2, 2, Subnormals::Flush),
            set(GeluErf, FloatFormat::Fp16, 15, Subnormals::Ieee),
            set(GeluTanh, FloatFormat::Fp16, 1, Subnormals::Flush),
            set(Silu, FloatFormat::Fp16, 3, Subnormals::Ieee),
            set(Tanh, FloatFormat::Fp16, 0, Subnormals::Ieee),
            set(Silu, FloatFormat::Bf16, 0, Subnormals::Flush),
            set(Tanh, FloatFormat::Bf16, 4, Subnormals::Ieee),
            set(Silu, FloatFormat::E5m2, 15, Subnormals::Ieee),
            set(Relu, FloatFormat::Fp16, 2, Subnormals::Flush),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |function, format, subnormals| proof(Self { format, function, stages: 0, subnormals, flags: true });
        vec![
            prove(FloatFunction::GeluErf, FloatFormat::E5m2, Subnormals::Ieee),
            prove(FloatFunction::Tanh, FloatFormat::E5m2, Subnormals::Ieee),
            prove(FloatFunction::Silu, FloatFormat::E3m2, Subnormals::Flush),
            prove(FloatFunction::Relu, FloatFormat::Fp16, Subnormals::Ieee),
        ]
    }
}
