//! Logistic function of a float: 1 / (1 + e^-x).
//!
//! For a negative operand the result is a smooth number up to 1/2: parabolas give it, with a scale for each segment.
//! For a positive operand the result is 1 less the result for the negated operand.

use super::format::{FloatFormat, Subnormals};
use super::place::place;
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded, connect_option, is_signalling, round};
use super::segments::{Factor, factor};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, OutOption, Proof, Signal, Timing, bit, parameters, ports, uint,
};

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
    rules = |p, rules| {
        rules.demand(p.format.width() <= 16, "format", p.format.name(), "a format of at most 16 bits");
    };
}

ports! {
    /// Ports of [`FloatSigmoid`].
    pub struct FloatSigmoidPorts(p: &FloatSigmoid) {
        /// The operand is valid: one result for each such cycle.
        valid_i: In = bit(),
        /// The operand.
        a_i: In = p.format.ty(),
        /// The outputs are valid: they belong to the operand of `stages` cycles ago. Low after reset.
        valid_o: Out = bit(),
        /// 1 / (1 + e to the power of -a).
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
/// value (four), its distance from 1, normalise, place, round.
const DEPTHS: &[u32] = &[15, 13, 18, 12, 13, 17, 14, 14, 14, 19, 17, 8, 12];

impl Block for FloatSigmoid {
    type Ports = FloatSigmoidPorts;
    const ABOUT: About = About {
        name: "float_sigmoid",
        summary: "floating-point logistic function",
        contract: "result_o = 1 / (1 + e to the power of -a_i) of `stages` cycles ago, within 0.59 ulp (bf16: 0.73),\n\
            and never falling while a_i rises. A zero gives exactly 1/2, minus infinity +0, infinity 1, a NaN the\n\
            canonical quiet NaN.\n\
            underflow_o and inexact_o describe the exact result. valid_o is valid_i of `stages` cycles ago;\n\
            a reset may come at any time and drops the operations inside.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &FloatSigmoidPorts) {
        let format = self.format;
        let (e, w) = (format.exponent_bits(), format.width());
        let mut pipe = Ranks::new(io.valid_i, self.stages, DEPTHS);
        let a = Operand::new(m, "a", io.a_i.slice(0..w - 1), format, self.subnormals);
        let nan = pipe.carry("nan", m.wire("nan", a.nan));
        let positive = pipe.carry("positive", m.wire("positive", !io.a_i.msb()));
        let raised = self.flags.then(|| {
            let invalid = m.wire("invalid", is_signalling(io.a_i, format));
            (pipe.carry("invalid", invalid), pipe.carry("inexact", m.wire("number", !(a.special | a.zero))))
        });

        let part = factor(m, &mut pipe, &a, Factor::Logistic, format);
        m.comment("For a positive operand, 1 less the value.");
        let mut result = part.flipped(m, pipe.now(positive));
        pipe.end(positive);
        pipe.cut(m, &mut [("value", &mut result.value), ("scale", &mut result.scale)]);
        let width = e.max(result.scale.width()) + 2;
        let exponent = uint(width).lit(format.bias()).wrapping_sub(result.scale.extend(width));
        let exponent = m.wire("top_exponent", exponent);
        let placed = place(m, &mut pipe, result.value, exponent, format);

        m.comment("Rounded.");
        let unrounded = Unrounded {
            sign: bit().lit(0),
            exponent: placed.exponent,
            fraction: placed.fraction,
            up: m.wire("up", placed.half),
            inexact: raised.map_or(bit().lit(0), |(_, inexact)| pipe.now(inexact)),
            special: pipe.now(nan),
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

impl FloatSigmoid {
    /// What is proved (`ifdef FORMAL`): specials, the range, and on which side of 1/2 the result is.
    fn properties(&self, m: &mut Module, io: &FloatSigmoidPorts) {
        let format = self.format;
        let (f, w) = (format.fraction_bits(), format.width());
        m.formal(|m| {
            let infinity = (1u64 << (w - 1)) - (1 << f);
            let quiet = infinity + (1 << (f - 1));
            let one = u64::from(format.bias()) << f;
            let half = one - (1 << f);
            let magnitude = m.wire("seen_magnitude", io.a_i.slice(0..w - 1));
            let result = m.wire("seen_result", io.result_o);
            let nan = m.wire("seen_nan", magnitude.gt(infinity));
            let sign = io.a_i.msb();
            let implies = |condition: Signal, conclusion: Signal| !condition | conclusion;
            m.assert_always("nan_is_nan", implies(nan, result.eq(quiet)));
            m.assert_always("else_at_most_one", nan | !result.gt(one));
            m.assert_always("zero_gives_one_half", implies(magnitude.eq(0u64), result.eq(half)));
            m.assert_always("infinity_gives_one", implies(io.a_i.eq(infinity), result.eq(one)));
            let nothing = m.wire("seen_nothing", sign & magnitude.eq(infinity));
            m.assert_always("minus_infinity_gives_zero", implies(nothing, result.eq(0u64)));
            m.assert_always("at_least_one_half", nan | sign | result.ge(half));
            m.assert_always("at_most_one_half", nan | !sign | !result.gt(half));
            if self.subnormals == Subnormals::Flush {
                m.assert_always("no_subnormal_result", result.ge(1u64 << f) | result.eq(0u64));
            }
            m.cover("one_of_a_number", magnitude.lt(infinity) & result.eq(one));
        });
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
        let prove = |format, subnormals| Proof {
            block: Self { format, stages: 0, subnormals, flags: true },
            depth: 1,
            cover_depth: 1,
            induction: true,
        };
        vec![prove(FloatFormat::E5m2, Subnormals::Ieee), prove(FloatFormat::E3m2, Subnormals::Flush)]
    }
}
