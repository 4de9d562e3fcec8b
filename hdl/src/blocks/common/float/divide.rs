//! Floating-point division.
//!
//! The significands are shifted up to their leading ones, and the numerator one place further if it is the smaller one.
//! So the quotient is 1.x, and needs only one more digit for rounding. Each row gives a digit, as on paper. A quotient
//! below the smallest normal number is shifted so that its last place is the format's last place.

use super::digits::{Rows, depths, digits, to_the_top, true_exponent};
use super::format::{FloatFormat, Subnormals};
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded, connect_option, is_signalling, round};
use super::shift::shift_right;
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, OutOption, Proof, Signal, Timing, bit, bits_for, mux, parameters,
    ports, uint,
};

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
    rules = |p, rules| {
        let most = p.format.fraction_bits() + 5;
        rules.demand(p.stages <= most, "stages", p.stages, format!("0 to {most} of {}", p.format.name()));
    };
}

ports! {
    /// Ports of [`FloatDivide`].
    pub struct FloatDividePorts(p: &FloatDivide) {
        /// The operands are valid: one result for each such cycle.
        valid_i: In = bit(),
        /// Numerator.
        a_i: In = p.format.ty(),
        /// Denominator.
        b_i: In = p.format.ty(),
        /// The outputs are valid: they belong to the operands of `stages` cycles ago. Low after reset.
        valid_o: Out = bit(),
        /// a / b.
        result_o: Out = p.format.ty(),
        /// IEEE 754's invalid operation, of this result only; present with `flags`.
        invalid_o: OutOption = bit().when(p.flags),
        /// The result is an infinity because a finite number other than zero is divided by zero; present with `flags`.
        division_by_zero_o: OutOption = bit().when(p.flags),
        /// The result is an infinity because it was too large; present with `flags`.
        overflow_o: OutOption = bit().when(p.flags),
        /// The result is inexact, and the exact one is below the smallest normal number in magnitude; present with `flags`.
        underflow_o: OutOption = bit().when(p.flags),
        /// The result is rounded (or flushed); present with `flags`.
        inexact_o: OutOption = bit().when(p.flags),
    }
}

impl Block for FloatDivide {
    type Ports = FloatDividePorts;
    const ABOUT: About = About {
        name: "float_divide",
        summary: "floating-point division",
        contract: "result_o = a_i / b_i of `stages` cycles ago, rounded to nearest, ties to even (within 1/2 ulp); every NaN is the\n\
            canonical quiet one. A number divided by zero is infinity, and so is infinity divided by a number; 0 / 0 and\n\
            infinity / infinity are NaN. valid_o is valid_i of `stages` cycles ago;\n\
            a reset may come at any time and drops the operations inside.",
        reference: "IEEE 754-2019, section 5.4.1",
    };

    fn build(&self, m: &mut Module, io: &FloatDividePorts) {
        let format = self.format;
        let (e, f, w) = (format.exponent_bits(), format.fraction_bits(), format.width());
        let mut pipe = Ranks::new(io.valid_i, self.stages, &depths(&[15, 16, 16], f + 1, &[16, 14]));
        let a = Operand::new(m, "a", io.a_i.slice(0..w - 1), format, self.subnormals);
        let b = Operand::new(m, "b", io.b_i.slice(0..w - 1), format, self.subnormals);

        m.comment("Zeros, infinities and NaNs.");
        let (a_zero, b_zero) = (m.wire("a_zero", a.zero), m.wire("b_zero", b.zero));
        let sign = pipe.carry("sign", m.wire("sign", io.a_i.msb() ^ io.b_i.msb()));
        let undefined = m.wire("undefined", (a_zero & b_zero) | (a.special & b.special));
        let any_nan = m.wire("any_nan", a.nan | b.nan);
        let nan = m.wire("nan", any_nan | undefined);
        let special = pipe.carry("special", m.wire("special", a.special | b_zero | nan));
        let zero = pipe.carry("zero", m.wire("zero", a_zero | b.special));
        let raised = self.flags.then(|| {
            let signalling = is_signalling(io.a_i, format) | is_signalling(io.b_i, format);
            let invalid = m.wire("invalid", signalling | (undefined & !any_nan));
            let pole = m.wire("division_by_zero", b_zero & !(a_zero | a.special));
            (pipe.carry("invalid", invalid), pipe.carry("division_by_zero", pole))
        });
        let nan = pipe.carry("nan", nan);

        m.comment("The quotient of the significands is 1.x: the numerator is doubled if it is the smaller one.");
        let (mut numerator, mut a_count) = to_the_top(m, "numerator", a.significand, self.subnormals);
        let (mut denominator, mut b_count) = to_the_top(m, "denominator", b.significand, self.subnormals);
        let (mut a_scale, mut b_scale) = (m.wire("a_scale", a.exponent), m.wire("b_scale", b.exponent));
        let mut data = vec![
            ("numerator", &mut numerator),
            ("denominator", &mut denominator),
            ("a_scale", &mut a_scale),
            ("b_scale", &mut b_scale),
        ];
        data.extend(a_count.as_mut().map(|count| ("a_count", count)));
        data.extend(b_count.as_mut().map(|count| ("b_count", count)));
        pipe.cut(m, &mut data);

        let mut below = m.wire("below", numerator.lt(denominator));
        let width = e + 2;
        let a_exponent = true_exponent(a_scale, a_count, width);
        let b_exponent = true_exponent(b_scale, b_count, width);
        let mut difference = m.wire("exponents", a_exponent.wrapping_sub(b_exponent));
        let data = &mut [
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
        let data =
            &mut [("remainder", &mut rows.remainder), ("denominator", &mut denominator), ("exponent", &mut exponent)];
        pipe.cut(m, data);

        m.comment("A digit of the quotient a row.");
        for row in 2..=digits(format) {
            rows.divide(m, denominator);
            let mut more = vec![("exponent", &mut exponent)];
            if row < digits(format) {
                more.push(("denominator", &mut denominator));
            }
            rows.cut(&mut pipe, m, &mut more);
        }

        m.comment("Below the smallest normal number, to its last place.");
        let (mut kept, mut lost, mut field) = self.place(m, &rows, exponent);
        pipe.cut(m, &mut [("kept", &mut kept), ("lost", &mut lost), ("field", &mut field)]);

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
        let result = round(m, &unrounded, format, self.subnormals);
        m.connect(io.result_o, result.bits);
        m.connect(io.valid_o, pipe.valid());
        if let Some((invalid, pole)) = raised {
            connect_option(m, io.invalid_o, pipe.now(invalid));
            connect_option(m, io.division_by_zero_o, pipe.now(pole));
        }
        connect_option(m, io.overflow_o, result.overflow);
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

impl FloatDivide {
    /// The quotient where its last place is, whether ones are below, and its exponent field.
    fn place(&self, m: &mut Module, rows: &Rows, exponent: Signal) -> (Signal, Signal, Signal) {
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
        (shifted.value, m.wire("lost", shifted.lost | rest), field)
    }

    /// What is proved (`ifdef FORMAL`): specials, zeros and signs.
    fn properties(&self, m: &mut Module, io: &FloatDividePorts) {
        let format = self.format;
        let (f, w) = (format.fraction_bits(), format.width());
        m.formal(|m| {
            let infinity = (1u64 << (w - 1)) - (1 << f);
            let quiet = infinity + (1 << (f - 1));
            let least = match self.subnormals {
                Subnormals::Ieee => 1u64,
                Subnormals::Flush => 1 << f,
            };
            let a = m.wire("seen_a", io.a_i.slice(0..w - 1));
            let b = m.wire("seen_b", io.b_i.slice(0..w - 1));
            let result = m.wire("seen_result", io.result_o.slice(0..w - 1));
            let (a_zero, b_zero) = (m.wire("seen_a_zero", a.lt(least)), m.wire("seen_b_zero", b.lt(least)));
            let (a_infinite, b_infinite) = (a.eq(infinity), b.eq(infinity));
            let nan = m.wire("seen_nan", a.gt(infinity) | b.gt(infinity));
            let undefined = m.wire("seen_undefined", (a_zero & b_zero) | (a_infinite & b_infinite));
            let implies = |condition: Signal, conclusion: Signal| !condition | conclusion;
            let none = m.wire("seen_no_number", nan | undefined);
            m.assert_always("undefined_is_nan", implies(none, io.result_o.eq(quiet)));
            m.assert_always("else_no_nan", none | !result.gt(infinity));
            m.assert_always("sign_of_quotient", none | !(io.result_o.msb() ^ io.a_i.msb() ^ io.b_i.msb()));
            m.assert_always("gives_infinity", implies(!none & (a_infinite | b_zero), result.eq(infinity)));
            m.assert_always("gives_zero", implies(!none & (a_zero | b_infinite), result.eq(0u64)));
            if self.subnormals == Subnormals::Flush {
                m.assert_always("no_subnormal_result", result.ge(1u64 << f) | result.eq(0u64));
            }
            m.cover("quotient_of_numbers", !(none | a_infinite | b_zero | a_zero | b_infinite) & result.lt(infinity));
        });
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
        let prove = |format, subnormals| Proof {
            block: Self { format, stages: 0, subnormals, flags: true },
            depth: 1,
            cover_depth: 1,
            induction: true,
        };
        vec![prove(FloatFormat::Fp16, Subnormals::Ieee), prove(FloatFormat::E5m2, Subnormals::Flush)]
    }
}
