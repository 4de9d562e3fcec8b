//! Floating-point division.
//!
//! The significands are shifted up to their leading ones, and the numerator one place further if it is the smaller one.
//! So the quotient is 1.x, and needs only one more digit for rounding. Each row gives a digit, as on paper. A quotient
//! below the smallest normal number is shifted so that its last place is the format's last place.

use super::digits::{Rows, depths, digits, to_the_top, true_exponent};
use super::exceptions::Exception;
use super::format::{FloatFormat, Subnormals};
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded};
use super::seen::{Seen, implies};
use super::shape::{Shape, demand_stages};
use super::shift::shift_right;
use super::unit::{BinaryPorts, FloatUnit, proof};
use crate::lang::{About, CatalogBlock, Module, Proof, Signal, bits_for, mux, parameters, uint};

parameters! {
    /// Elaboration parameters.
    pub struct FloatDivide {
        /// Format of operands and result.
        format: FloatFormat = FloatFormat::Fp16, tag "";
        /// Ranks of registers inside, the latency in cycles; 0 is combinational.
        stages: u32 = 0, in 0..=28, note "at most the bits of the fraction and 5", tag "s";
        /// Subnormal numbers, or zeros instead.
        subnormals: Subnormals = Subnormals::Ieee, tag "";
        /// Outputs for IEEE 754's exceptions.
        flags: bool = false, tag "flags";
    }
    rules = |p, rules| demand_stages(rules, p.format, p.stages, p.format.fraction_bits() + 5);
}

impl FloatUnit for FloatDivide {
    type Ports = BinaryPorts;
    const ABOUT: About = About {
        name: "float_divide",
        summary: "floating-point division",
        contract: "result_o = a_i / b_i of `stages` cycles ago, rounded to nearest, ties to even (within 1/2 ulp); every NaN is the\n\
            canonical quiet one. A number divided by zero is infinity, and so is infinity divided by a number; 0 / 0 and\n\
            infinity / infinity are NaN.",
        reference: "IEEE 754-2019, section 5.4.1",
    };

    fn shape(&self) -> Shape {
        let parts = depths(&[15, 16, 16], self.format.fraction_bits() + 1, &[16, 14]);
        Shape::new(self.format, self.stages, parts).raising(self.flags, Exception::ALL)
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &BinaryPorts) {
        let format = self.format;
        let (e, f) = (format.exponent_bits(), format.fraction_bits());
        let a = Operand::new(m, "a", io.a_i, format, self.subnormals);
        let b = Operand::new(m, "b", io.b_i, format, self.subnormals);

        m.comment("Zeros, infinities and NaNs.");
        let (a_zero, b_zero) = (m.wire("a_zero", a.zero), m.wire("b_zero", b.zero));
        let sign = pipe.keep(m, "sign", io.a_i.msb() ^ io.b_i.msb());
        let undefined = m.wire("undefined", (a_zero & b_zero) | (a.special & b.special));
        let any_nan = m.wire("any_nan", a.nan | b.nan);
        let nan = m.wire("nan", any_nan | undefined);
        let special = pipe.keep(m, "special", a.special | b_zero | nan);
        let zero = pipe.keep(m, "zero", a_zero | b.special);
        pipe.raise(m, Exception::Invalid, a.signalling | b.signalling | (undefined & !any_nan));
        pipe.raise(m, Exception::DivisionByZero, b_zero & !(a_zero | a.special));
        let nan = pipe.carry("nan", nan);

        m.comment("The quotient of the significands is 1.x: the numerator is doubled if it is the smaller one.");
        let (mut numerator, mut a_count) = to_the_top(m, "numerator", a.significand, self.subnormals);
        let (mut denominator, mut b_count) = to_the_top(m, "denominator", b.significand, self.subnormals);
        let (mut a_scale, mut b_scale) = (m.wire("a_scale", a.exponent), m.wire("b_scale", b.exponent));
        let data = [
            ("numerator", &mut numerator),
            ("denominator", &mut denominator),
            ("a_scale", &mut a_scale),
            ("b_scale", &mut b_scale),
        ];
        let a_places = a_count.as_mut().map(|count| ("a_count", count));
        let b_places = b_count.as_mut().map(|count| ("b_count", count));
        pipe.cut(m, data.into_iter().chain(a_places).chain(b_places));

        let mut below = m.wire("below", numerator.lt(denominator));
        let width = e + 2;
        let a_exponent = true_exponent(a_scale, a_count, width);
        let b_exponent = true_exponent(b_scale, b_count, width);
        let mut difference = m.wire("exponents", a_exponent.wrapping_sub(b_exponent));
        let data = [
            ("numerator", &mut numerator),
            ("denominator", &mut denominator),
            ("below", &mut below),
            ("exponents", &mut difference),
        ];
        pipe.cut(m, data);

        let mut exponent = m.wire("exponent", difference.wrapping_add(format.bias()).wrapping_sub(below));
        let doubled = mux(below, numerator.shl(1), numerator.extend(f + 2));
        // Less than the denominator, so that it has no more bits than that.
        let first = m.wire("remainder_1", doubled.slice(0..f + 1).wrapping_sub(denominator));
        let mut rows = Rows::new(uint(1).lit(1), first);
        let data = [("remainder", &mut rows.remainder), ("denominator", &mut denominator), ("exponent", &mut exponent)];
        pipe.cut(m, data);

        m.comment("A digit of the quotient a row.");
        for row in 2..=digits(format) {
            rows.divide(m, denominator);
            let divisor = (row < digits(format)).then_some(("denominator", &mut denominator));
            rows.cut(m, pipe, [("exponent", &mut exponent)].into_iter().chain(divisor));
        }

        m.comment("Below the smallest normal number, to its last place.");
        let Placed { mut kept, mut lost, mut field } = self.place(m, &rows, exponent);
        pipe.cut(m, [("kept", &mut kept), ("lost", &mut lost), ("field", &mut field)]);

        m.comment("Rounded.");
        let number = m.wire("number", !pipe.now(zero));
        let guard = kept.bit(0) & number;
        let sticky = m.wire("sticky", lost & number);
        let unrounded = Unrounded {
            sign: pipe.now(sign),
            exponent: field & number.repeat(e + 1),
            fraction: kept.slice(1..f + 1) & number.repeat(f),
            up: guard & (kept.bit(1) | sticky),
            inexact: guard | sticky,
            special: pipe.now(special),
            nan: pipe.now(nan),
            too_large: TooLarge::Infinity,
        };
        unrounded.finish(m, pipe, (format, self.subnormals), (io.result_o, &io.flags));
    }

    /// Specials, zeros and signs.
    fn properties(&self, m: &mut Module, io: &BinaryPorts) {
        let seen = [("a", io.a_i), ("b", io.b_i), ("result", io.result_o)];
        let [a, b, result] = Seen::all(m, seen, self.format, self.subnormals);
        let none = m.wire("seen_no_number", a.nan | b.nan | (a.zero & b.zero) | (a.infinite & b.infinite));
        result.is_nan_where(m, none);
        m.assert_always("sign_of_quotient", none | result.has_sign(a.sign ^ b.sign));
        m.assert_always("gives_infinity", implies(!none & (a.infinite | b.zero), result.infinite));
        m.assert_always("gives_zero", implies(!none & (a.zero | b.infinite), !result.magnitude.any()));
        result.is_flushed(m);
        let numbers = !(none | a.infinite | b.zero | a.zero | b.infinite);
        m.cover("quotient_of_numbers", numbers & !result.infinite & !result.nan);
    }
}

/// The quotient where its last place is.
struct Placed {
    kept: Signal,
    /// Ones are below.
    lost: Signal,
    /// Its exponent field.
    field: Signal,
}

impl FloatDivide {
    fn place(&self, m: &mut Module, rows: &Rows, exponent: Signal) -> Placed {
        let (e, f) = (self.format.exponent_bits(), self.format.fraction_bits());
        let rest = m.wire("rest", rows.remainder.any());
        // At 0 and below.
        let low = m.wire("below_normal", exponent.msb() | !exponent.any());
        // By 1 - exponent places; far too many are so many that nothing is left.
        let width = bits_for(u64::from(f + 3));
        let places = m.wire("places", uint(e + 2).lit(1).wrapping_sub(exponent));
        let far = m.wire("far_below", places.slice(width..e + 1).any());
        let amount = m.wire("amount", (places.slice(0..width) | far.repeat(width)) & low.repeat(width));
        m.unused(places);
        let shifted = shift_right(m, "align", rows.digits, amount, f + 2);
        let field = m.wire("field", exponent.slice(0..e + 1) & !low.repeat(e + 1));
        Placed { kept: shifted.value, lost: m.wire("lost", shifted.lost | rest), field }
    }
}

impl CatalogBlock for FloatDivide {
    fn configurations() -> Vec<Self> {
        let set = |format, stages, subnormals| Self { format, stages, subnormals, flags: true };
        vec![
            set(FloatFormat::E3m2, 0, Subnormals::Ieee),
            set(FloatFormat::E5m2, 2, Subnormals::Flush),
            set(FloatFormat::Fp16, 15, Subnormals::Ieee),
            set(FloatFormat::Fp16, 1, Subnormals::Flush),
            set(FloatFormat::Bf16, 3, Subnormals::Ieee),
            set(FloatFormat::Fp32, 6, Subnormals::Ieee),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |format, subnormals| proof(Self { format, stages: 0, subnormals, flags: true });
        vec![prove(FloatFormat::Fp16, Subnormals::Ieee), prove(FloatFormat::E5m2, Subnormals::Flush)]
    }
}
