//! Activation functions of a float by a table with interpolation: GELU in both forms, tanh, SiLU.
//!
//! All are the operand times a smooth factor of at most 1, so that small operands lose nothing. Parabolas give the
//! factor that GELU and SiLU have for negative operands; for positive ones it is 1 less this factor. The tangent of an
//! operand below 1 is the operand times a factor. From 1 on the tangent is 1 less the factor, and the operand is not
//! multiplied.

use super::format::{FloatFormat, Subnormals};
use super::parts::Parts;
use super::place::place;
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded, connect_option, is_signalling, round};
use super::segments::{Factor, factor};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, OutOption, Proof, Signal, Timing, bit, choices, mux, parameters,
    ports, uint,
};

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
    rules = |p, rules| {
        rules.demand(p.format.width() <= 16, "format", p.format.name(), "a format of at most 16 bits");
    };
}

ports! {
    /// Ports of [`FloatTable`].
    pub struct FloatTablePorts(p: &FloatTable) {
        /// The operand is valid: one result for each such cycle.
        valid_i: In = bit(),
        /// The operand.
        a_i: In = p.format.ty(),
        /// The outputs are valid: they belong to the operand of `stages` cycles ago. Low after reset.
        valid_o: Out = bit(),
        /// The function of a.
        result_o: Out = p.format.ty(),
        /// IEEE 754's invalid operation: a is a signalling NaN; present with `flags`.
        invalid_o: OutOption = bit().when(p.flags),
        /// The result is not zero by its operand, and below the smallest normal number before it is rounded; present with `flags`.
        underflow_o: OutOption = bit().when(p.flags),
        /// The result is not exact: always, except for zeros, infinities and NaNs; present with `flags`.
        inexact_o: OutOption = bit().when(p.flags),
    }
}

/// Levels of the parts between the places where registers may stand, about: shift, find the parabola, its slope (three), its
/// value (four), its distance from 1, multiply by parts, add them, add these, normalise, place, round.
const DEPTHS: &[u32] = &[15, 13, 18, 12, 13, 17, 14, 14, 14, 19, 17, 14, 14, 17, 8, 12];

impl Block for FloatTable {
    type Ports = FloatTablePorts;
    const ABOUT: About = About {
        name: "float_table",
        summary: "floating-point GELU, tanh or SiLU by a table with interpolation",
        contract: "result_o = `function` of a_i of `stages` cycles ago, within 0.79 ulp (tanh: 0.55, and never\n\
            falling while a_i rises). A zero gives a_i, a NaN the canonical quiet NaN. With tanh an infinity gives 1\n\
            of its sign; otherwise infinity gives infinity and minus infinity -0. underflow_o and inexact_o describe\n\
            the exact result. valid_o is valid_i of `stages` cycles ago; a reset may come at any time and drops the\n\
            operations inside.",
        reference: "Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv:1606.08415; IEEE 754-2019, section 9.2 (tanh)",
    };

    fn build(&self, m: &mut Module, io: &FloatTablePorts) {
        let format = self.format;
        let (e, f, w) = (format.exponent_bits(), format.fraction_bits(), format.width());
        let mut pipe = Ranks::new(io.valid_i, self.stages, DEPTHS);
        let a = Operand::new(m, "a", io.a_i.slice(0..w - 1), format, self.subnormals);
        let negative = pipe.carry("negative", m.wire("negative", io.a_i.msb()));
        let nan = pipe.carry("nan", m.wire("nan", a.nan));
        let tangent = self.function == FloatFunction::Tanh;
        let special = if tangent { a.nan } else { a.nan | (a.special & !io.a_i.msb()) };
        let special = pipe.carry("special", m.wire("special", special));
        let raised = self.flags.then(|| {
            let invalid = m.wire("invalid", is_signalling(io.a_i, format));
            (pipe.carry("invalid", invalid), pipe.carry("inexact", m.wire("number", !(a.special | a.zero))))
        });

        m.comment("The operand of the product, and whether the factor is 1 less the table's value.");
        let flip = if tangent { a.exponent.ge(format.bias()) } else { !io.a_i.msb() };
        let flip = m.wire("flip", flip);
        let (one, bias) = (uint(f + 1).lit(1u64 << f), uint(e).lit(format.bias()));
        let (operand, scale) = if tangent {
            (mux(flip, one, a.significand), mux(flip, bias, a.exponent))
        } else {
            (a.significand, a.exponent)
        };
        let operand = pipe.carry("operand", m.wire("operand", operand));
        let scale = pipe.carry("operand_exponent", m.wire("operand_exponent", scale));
        let flip = pipe.carry("flip", flip);

        let part = factor(m, &mut pipe, &a, self.factor(), format);
        m.comment("1 less the table's value.");
        let mut result = part.flipped(m, pipe.now(flip));
        pipe.end(flip);
        pipe.cut(m, &mut [("value", &mut result.value), ("scale", &mut result.scale)]);

        m.comment("Times the operand.");
        let mut product = Parts::new(m, &pipe, "product", (result.value, pipe.now(operand)), 2);
        let width = e.max(result.scale.width()) + 2;
        let exponent = pipe.now(scale).extend(width).wrapping_sub(result.scale.extend(width));
        let mut exponent = m.wire("top_exponent", exponent);
        pipe.end(operand);
        pipe.end(scale);
        for _ in 0..2 {
            pipe.cut(m, &mut product.data().chain([("exponent", &mut exponent)]).collect::<Vec<_>>());
            product.behind(m, &pipe);
        }
        let product = product.whole();
        // The factor is at most 1.
        let mut word = m.wire("word", product.slice(0..product.width() - 1));
        m.unused(product);
        pipe.cut(m, &mut [("word", &mut word), ("exponent", &mut exponent)]);
        let placed = place(m, &mut pipe, word, exponent, format);

        m.comment("Rounded.");
        let unrounded = Unrounded {
            sign: pipe.now(negative),
            exponent: placed.exponent,
            fraction: placed.fraction,
            up: m.wire("up", placed.half),
            inexact: raised.map_or(bit().lit(0), |(_, inexact)| pipe.now(inexact)),
            special: pipe.now(special),
            nan: pipe.now(nan),
            too_large: TooLarge::Never,
        };
        let result = round(m, &unrounded, format, self.subnormals);
        m.connect(io.result_o, result.bits);
        m.connect(io.valid_o, pipe.valid());
        if let Some((invalid, _)) = raised {
            connect_option(m, io.invalid_o, pipe.now(invalid));
        }
        connect_option(m, io.underflow_o, result.underflow);
        connect_option(m, io.inexact_o, result.inexact);
        if self.stages == 0 {
            self.properties(m, io);
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(self.stages).beat(1u32)
    }
}

impl FloatTable {
    /// The factor of the operand.
    fn factor(&self) -> Factor {
        match self.function {
            FloatFunction::GeluErf => Factor::Normal,
            FloatFunction::GeluTanh => Factor::NormalByTanh,
            FloatFunction::Silu => Factor::LogisticTimes,
            FloatFunction::Tanh => Factor::Tanh,
        }
    }

    /// What is proved (`ifdef FORMAL`): specials, signs, and that no result is further from zero than its operand.
    fn properties(&self, m: &mut Module, io: &FloatTablePorts) {
        let format = self.format;
        let (f, w) = (format.fraction_bits(), format.width());
        let tangent = self.function == FloatFunction::Tanh;
        m.formal(|m| {
            let infinity = (1u64 << (w - 1)) - (1 << f);
            let quiet = infinity + (1 << (f - 1));
            let one = u64::from(format.bias()) << f;
            let magnitude = m.wire("seen_magnitude", io.a_i.slice(0..w - 1));
            let result = m.wire("seen_result", io.result_o.slice(0..w - 1));
            let nan = m.wire("seen_nan", magnitude.gt(infinity));
            let implies = |condition: Signal, conclusion: Signal| !condition | conclusion;
            m.assert_always("nan_is_nan", implies(nan, io.result_o.eq(quiet)));
            m.assert_always("sign_is_kept", nan | !(io.result_o.msb() ^ io.a_i.msb()));
            m.assert_always("no_further_from_zero", nan | !result.gt(magnitude));
            let infinite = m.wire("seen_infinite", magnitude.eq(infinity));
            let limit = if tangent { one } else { infinity };
            m.assert_always("infinity", implies(infinite & !io.a_i.msb(), result.eq(limit)));
            let limit = if tangent { one } else { 0 };
            m.assert_always("minus_infinity", implies(infinite & io.a_i.msb(), result.eq(limit)));
            if tangent {
                m.assert_always("at_most_one", nan | !result.gt(one));
            }
            if self.subnormals == Subnormals::Flush {
                m.assert_always("no_subnormal_result", result.ge(1u64 << f) | result.eq(0u64));
            }
            m.cover("some_normal_result", magnitude.lt(infinity) & result.ge(1u64 << f));
        });
    }
}

impl CatalogBlock for FloatTable {
    fn configurations() -> Vec<Self> {
        use FloatFunction::{GeluErf, GeluTanh, Silu, Tanh};
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
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |function, format, subnormals| Proof {
            block: Self { format, function, stages: 0, subnormals, flags: true },
            depth: 1,
            cover_depth: 1,
            induction: true,
        };
        vec![
            prove(FloatFunction::GeluErf, FloatFormat::E5m2, Subnormals::Ieee),
            prove(FloatFunction::Tanh, FloatFormat::E5m2, Subnormals::Ieee),
            prove(FloatFunction::Silu, FloatFormat::E3m2, Subnormals::Flush),
        ]
    }
}
