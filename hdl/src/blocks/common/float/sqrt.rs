//! Floating-point square root.
//!
//! Each row gives a digit, as on paper: the remainder with two more bits of the radicand, less four times the root and
//! one. No root lies half way between two numbers. So the digit after the last place alone decides how it is rounded,
//! and the last row only compares. No root is subnormal or too large.

use super::digits::{Rows, depths, digits, for_a_root};
use super::exceptions::Exception;
use super::format::{FloatFormat, Subnormals};
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded};
use super::seen::{Seen, implies};
use super::shape::{Shape, demand_stages};
use super::unit::{FloatUnit, UnaryPorts, proof};
use crate::lang::{About, CatalogBlock, Module, Proof, Signal, bit, cat, mux, parameters, uint};

parameters! {
    /// Elaboration parameters.
    pub struct FloatSqrt {
        /// Format of operand and result.
        format: FloatFormat = FloatFormat::Fp16, tag "";
        /// Ranks of registers inside, the latency in cycles; 0 is combinational.
        stages: u32 = 0, in 0..=25, note "at most the bits of the fraction and 2", tag "s";
        /// Subnormal numbers, or zeros instead.
        subnormals: Subnormals = Subnormals::Ieee, tag "";
        /// Outputs for IEEE 754's exceptions.
        flags: bool = false, tag "flags";
    }
    rules = |p, rules| demand_stages(rules, p.format, p.stages, p.format.fraction_bits() + 2);
}

impl FloatUnit for FloatSqrt {
    type Ports = UnaryPorts;
    const ABOUT: About = About {
        name: "float_sqrt",
        summary: "floating-point square root",
        contract: "result_o = square root of a_i of `stages` cycles ago, rounded to nearest, ties to even (within\n\
            1/2 ulp). -0 gives -0. Other negative numbers, minus infinity and NaNs give the canonical quiet NaN. No\n\
            root overflows or underflows, so there are no such flags.",
        reference: "IEEE 754-2019, section 5.4.1",
    };

    fn shape(&self) -> Shape {
        let parts = depths(&[19], self.format.fraction_bits() + 1, &[14]);
        Shape::new(self.format, self.stages, parts).raising(self.flags, &[Exception::Invalid, Exception::Inexact])
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &UnaryPorts) {
        let format = self.format;
        let (e, f) = (format.exponent_bits(), format.fraction_bits());
        let a = Operand::new(m, "a", io.a_i, format, self.subnormals);

        m.comment("Negative numbers, infinities and NaNs.");
        let zero = m.wire("zero", a.zero);
        let nan = m.wire("nan_operand", a.nan);
        let undefined = m.wire("undefined", io.a_i.msb() & !(nan | zero));
        let sign = pipe.keep(m, "sign", io.a_i.msb());
        let nan = pipe.keep(m, "nan", nan | undefined);
        let special = pipe.keep(m, "special", a.special | undefined);
        let zero = pipe.carry("zero", zero);
        pipe.raise(m, Exception::Invalid, a.signalling | undefined);

        let (significand, biased) = for_a_root(m, &a, format, self.subnormals);
        let mut exponent = m.wire("exponent", biased.slice(1..e + 1));
        let radicand = m.wire("radicand", mux(biased.bit(0), significand.shl(1), significand.extend(f + 2)));
        let mut rest = Some(m.wire("radicand_rest", radicand.slice(0..f)));
        let top = m.wire("radicand_top", radicand.slice(f..f + 2));
        // Less one; the result for zero does not matter.
        let first = cat(&[top.all(), top.msb() & !top.bit(0)]);
        let mut rows = Rows::new(uint(1).lit(1), m.wire("remainder_1", first));
        let data = [("remainder", &mut rows.remainder), ("exponent", &mut exponent)];
        pipe.cut(m, data.into_iter().chain(rest.as_mut().map(|rest| ("rest", rest))));

        m.comment("A digit of the root a row.");
        for row in 2..=digits(format) {
            let next;
            (next, rest) = take_two(rest);
            let data = [("exponent", &mut exponent)].into_iter().chain(rest.as_mut().map(|rest| ("rest", rest)));
            if row == digits(format) && !self.flags {
                rows.root_last(m, next);
                pipe.cut(m, data.chain([("digits", &mut rows.digits)]));
            } else {
                rows.root(m, next);
                rows.cut(m, pipe, data);
            }
        }

        m.comment("Rounded.");
        let number = !pipe.now(zero);
        let guard = rows.digits.bit(0);
        let inexact = if self.flags { guard | rows.remainder.any() } else { guard };
        let unrounded = Unrounded {
            sign: pipe.now(sign),
            exponent: exponent & number.repeat(e),
            fraction: rows.digits.slice(1..f + 1) & number.repeat(f),
            up: guard & number,
            inexact: inexact & number,
            special: pipe.now(special),
            nan: pipe.now(nan),
            too_large: TooLarge::Never,
        };
        unrounded.finish(m, pipe, (format, Subnormals::Ieee), (io.result_o, &io.flags));
    }

    /// Specials, signs, and that a root is a normal number.
    fn properties(&self, m: &mut Module, io: &UnaryPorts) {
        let [a, result] = Seen::all(m, [("a", io.a_i), ("result", io.result_o)], self.format, self.subnormals);
        let undefined = m.wire("seen_undefined", a.nan | (a.sign & !a.zero));
        result.is_nan_where(m, undefined);
        m.assert_always("zero_keeps_its_sign", implies(a.zero, result.is_zero(a.sign)));
        m.assert_always("infinity", implies(a.infinite & !a.sign, result.is_infinity(a.sign)));
        let number = m.wire("seen_number", !(undefined | a.zero | a.infinite));
        m.assert_always("root_is_normal", implies(number, result.is_normal() & !result.sign));
        m.cover("root_of_a_number", number);
    }
}

/// The next two bits of the rest of the radicand, with zeros after its end, and the bits after these two.
fn take_two(rest: Option<Signal>) -> (Signal, Option<Signal>) {
    let Some(rest) = rest else { return (uint(2).lit(0), None) };
    match rest.width() {
        1 => (cat(&[rest, bit().lit(0)]), None),
        2 => (rest, None),
        width => (rest.slice(width - 2..width), Some(rest.slice(0..width - 2))),
    }
}

impl CatalogBlock for FloatSqrt {
    fn configurations() -> Vec<Self> {
        let set = |format, stages, subnormals| Self { format, stages, subnormals, flags: true };
        vec![
            set(FloatFormat::E3m2, 1, Subnormals::Ieee),
            set(FloatFormat::E5m2, 2, Subnormals::Flush),
            set(FloatFormat::Fp16, 12, Subnormals::Flush),
            set(FloatFormat::Fp16, 3, Subnormals::Ieee),
            set(FloatFormat::Bf16, 1, Subnormals::Ieee),
            set(FloatFormat::Fp32, 5, Subnormals::Ieee),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |format, subnormals| proof(Self { format, stages: 0, subnormals, flags: true });
        vec![prove(FloatFormat::Fp16, Subnormals::Ieee), prove(FloatFormat::Bf16, Subnormals::Flush)]
    }
}
