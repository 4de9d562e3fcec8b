//! Floating-point reciprocal.
//!
//! The division of 2 by a significand, a digit a row, gives 1.x. Powers of two give digits that are all ones, and these
//! are rounded up to the right number. No other quotient ends with the computed digits: there is always a remainder
//! after the last digit. So the last digit alone decides how the result is rounded, and the last row only compares.
//! Results are at most two places below the smallest normal number.

use super::digits::{Rows, depths, digits, to_the_top, true_exponent};
use super::exceptions::Exception;
use super::format::{FloatFormat, Subnormals};
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded};
use super::seen::{Seen, implies};
use super::shape::{Shape, demand_stages};
use super::unit::{FloatUnit, UnaryPorts, proof};
use crate::lang::{About, CatalogBlock, Module, Proof, bit, cat, mux, parameters, select, uint};

parameters! {
    /// Elaboration parameters.
    pub struct FloatReciprocal {
        /// Format of operand and result.
        format: FloatFormat = FloatFormat::Fp16, tag "";
        /// Ranks of registers inside, the latency in cycles; 0 is combinational.
        stages: u32 = 0, in 0..=26, note "at most the bits of the fraction and 3", tag "s";
        /// Subnormal numbers, or zeros instead.
        subnormals: Subnormals = Subnormals::Ieee, tag "";
        /// Outputs for IEEE 754's exceptions.
        flags: bool = false, tag "flags";
    }
    rules = |p, rules| demand_stages(rules, p.format, p.stages, p.format.fraction_bits() + 3);
}

impl FloatUnit for FloatReciprocal {
    type Ports = UnaryPorts;
    const ABOUT: About = About {
        name: "float_reciprocal",
        summary: "floating-point reciprocal",
        contract: "result_o = 1 / a_i of `stages` cycles ago, rounded to nearest, ties to even (within 1/2\n\
            ulp). Result and flags are the same as in a division of 1 by a_i. A zero gives the infinity of its sign,\n\
            an infinity the zero of its sign, a NaN the canonical quiet NaN.",
        reference: "IEEE 754-2019, section 5.4.1 (division)",
    };

    fn shape(&self) -> Shape {
        let parts = depths(&[15, 12], self.format.fraction_bits() + 1, &[17]);
        Shape::new(self.format, self.stages, parts).raising(self.flags, Exception::ALL)
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &UnaryPorts) {
        let format = self.format;
        let (e, f) = (format.exponent_bits(), format.fraction_bits());
        let a = Operand::new(m, "a", io.a_i, format, self.subnormals);

        m.comment("Zeros, infinities and NaNs.");
        let zero = m.wire("zero", a.zero);
        let nan = m.wire("nan", a.nan);
        let sign = pipe.keep(m, "sign", io.a_i.msb());
        let special = pipe.keep(m, "special", zero | nan);
        let infinite = pipe.carry("infinite", m.wire("infinite_operand", a.special & !nan));
        let nan = pipe.carry("nan", nan);
        pipe.raise(m, Exception::Invalid, a.signalling);
        pipe.raise(m, Exception::DivisionByZero, zero);

        m.comment("2 divided by the significand is 1.x; of a power of two, 1.11 and so on.");
        let (mut denominator, count) = to_the_top(m, "normal", a.significand, self.subnormals);
        let power = m.wire("power_of_two", !denominator.slice(0..f).any());
        let power = self.flags.then(|| pipe.carry("power_of_two", power)).or_else(|| {
            m.unused(power);
            None
        });
        let width = e + 2;
        let mut scale = m.wire("scale", a.exponent);
        let mut places = count.map(|count| m.wire("places", count));
        let data = [("denominator", &mut denominator), ("scale", &mut scale)];
        pipe.cut(m, data.into_iter().chain(places.as_mut().map(|places| ("places", places))));
        let difference = uint(width).lit(2 * format.bias() - 1).wrapping_sub(true_exponent(scale, places, width));
        let mut exponent = m.wire("exponent", difference);
        let first = m.wire("remainder_1", uint(f + 1).lit(0).wrapping_sub(denominator));
        let mut rows = Rows::new(uint(1).lit(1), first);
        let data = [("remainder", &mut rows.remainder), ("denominator", &mut denominator), ("exponent", &mut exponent)];
        pipe.cut(m, data);

        m.comment("A digit of the quotient a row.");
        for row in 2..=digits(format) {
            if row < digits(format) {
                rows.divide(m, denominator);
                rows.cut(m, pipe, [("denominator", &mut denominator), ("exponent", &mut exponent)]);
            } else {
                rows.divide_last(m, denominator);
                pipe.cut(m, [("digits", &mut rows.digits), ("exponent", &mut exponent)]);
            }
        }

        m.comment("Exponents of 0 and -1 are one and two places below normal numbers. Rounded.");
        let number = m.wire("number", !pipe.now(infinite));
        let (by_two, by_one) = (m.wire("by_two", exponent.msb()), m.wire("by_one", !exponent.any()));
        let digits = rows.digits;
        let places = select(
            &[(by_two, digits.slice(2..f + 2).extend(f + 2)), (by_one, digits.slice(1..f + 2).extend(f + 2))],
            digits,
        );
        let placed = m.wire("placed", places);
        let low = m.wire("low", by_two | by_one);
        let unrounded = Unrounded {
            sign: pipe.now(sign),
            exponent: mux(low, uint(e + 1).lit(0), exponent.slice(0..e + 1)) & number.repeat(e + 1),
            fraction: placed.slice(1..f + 1) & number.repeat(f),
            up: placed.bit(0) & number,
            inexact: number & power.map_or(bit().lit(1), |power| !pipe.now(power)),
            special: pipe.now(special),
            nan: pipe.now(nan),
            too_large: TooLarge::Infinity,
        };
        unrounded.finish(m, pipe, (format, self.subnormals), (io.result_o, &io.flags));
    }

    /// Specials, signs, and powers of two.
    fn properties(&self, m: &mut Module, io: &UnaryPorts) {
        let (e, f) = (self.format.exponent_bits(), self.format.fraction_bits());
        let [a, result] = Seen::all(m, [("a", io.a_i), ("result", io.result_o)], self.format, self.subnormals);
        result.is_nan_where(m, a.nan);
        m.assert_always("sign_is_kept", a.nan | result.has_sign(a.sign));
        m.assert_always("zero_gives_infinity", implies(a.zero, result.infinite));
        m.assert_always("infinity_gives_zero", implies(a.infinite, !result.magnitude.any()));
        // 2^k gives 2^-k: exponent fields that add up to twice the bias.
        let field = m.wire("seen_field", a.magnitude.slice(f..e + f));
        let power = field.any() & !(field.all() | a.magnitude.slice(0..f).any());
        let opposite = uint(e).lit(2 * self.format.bias()).wrapping_sub(field);
        let power = m.wire("seen_power", power & field.lt(2 * self.format.bias()));
        m.assert_always("power_gives_power", implies(power, result.magnitude.eq(cat(&[opposite, uint(f).lit(0)]))));
        m.cover("some_power_of_two", power);
    }
}

impl CatalogBlock for FloatReciprocal {
    fn configurations() -> Vec<Self> {
        let set = |format, stages, subnormals| Self { format, stages, subnormals, flags: true };
        vec![
            set(FloatFormat::E3m2, 0, Subnormals::Ieee),
            set(FloatFormat::E5m2, 2, Subnormals::Flush),
            set(FloatFormat::Fp16, 13, Subnormals::Ieee),
            set(FloatFormat::Fp16, 1, Subnormals::Flush),
            set(FloatFormat::Bf16, 3, Subnormals::Ieee),
            set(FloatFormat::Fp32, 5, Subnormals::Ieee),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |format, subnormals| proof(Self { format, stages: 0, subnormals, flags: true });
        vec![prove(FloatFormat::Fp16, Subnormals::Ieee), prove(FloatFormat::Bf16, Subnormals::Flush)]
    }
}
