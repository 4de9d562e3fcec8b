//! Floating-point square root.
//!
//! Each row gives a digit, as on paper: the remainder with two more bits of the radicand, less four times the root and
//! one. No root lies half way between two numbers. So the digit after the last place alone decides how it is rounded,
//! and the last row only compares. No root is subnormal or too large.

use super::digits::{Rows, depths, digits, to_the_top, true_exponent};
use super::format::{FloatFormat, Subnormals};
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded, connect_option, is_signalling, round};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, OutOption, Proof, Signal, Timing, bit, cat, mux, parameters, ports,
    uint,
};

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
    rules = |p, rules| {
        let most = p.format.fraction_bits() + 2;
        rules.demand(p.stages <= most, "stages", p.stages, format!("0 to {most} of {}", p.format.name()));
    };
}

ports! {
    /// Ports of [`FloatSqrt`].
    pub struct FloatSqrtPorts(p: &FloatSqrt) {
        /// The operand is valid: one result for each such cycle.
        valid_i: In = bit(),
        /// Radicand.
        a_i: In = p.format.ty(),
        /// The outputs are valid: they belong to the operand of `stages` cycles ago. Low after reset.
        valid_o: Out = bit(),
        /// The square root of a.
        result_o: Out = p.format.ty(),
        /// IEEE 754's invalid operation, of this result only; present with `flags`.
        invalid_o: OutOption = bit().when(p.flags),
        /// The result is rounded; present with `flags`.
        inexact_o: OutOption = bit().when(p.flags),
    }
}

impl Block for FloatSqrt {
    type Ports = FloatSqrtPorts;
    const ABOUT: About = About {
        name: "float_sqrt",
        summary: "floating-point square root",
        contract: "result_o = square root of a_i of `stages` cycles ago, rounded to nearest, ties to even (within\n\
            1/2 ulp). -0 gives -0. Other negative numbers, minus infinity and NaNs give the canonical quiet NaN. No\n\
            root overflows or underflows, so there are no such flags. valid_o is valid_i of `stages` cycles ago;\n\
            a reset may come at any time and drops the operations inside.",
        reference: "IEEE 754-2019, section 5.4.1",
    };

    fn build(&self, m: &mut Module, io: &FloatSqrtPorts) {
        let format = self.format;
        let (e, f, w) = (format.exponent_bits(), format.fraction_bits(), format.width());
        let mut pipe = Ranks::new(io.valid_i, self.stages, &depths(&[19], f + 1, &[14]));
        let a = Operand::new(m, "a", io.a_i.slice(0..w - 1), format, self.subnormals);

        m.comment("Negative numbers, infinities and NaNs.");
        let zero = m.wire("zero", a.zero);
        let nan = m.wire("nan_operand", a.nan);
        let undefined = m.wire("undefined", io.a_i.msb() & !(nan | zero));
        let sign = pipe.carry("sign", m.wire("sign", io.a_i.msb()));
        let nan = pipe.carry("nan", m.wire("nan", nan | undefined));
        let special = pipe.carry("special", m.wire("special", a.special | undefined));
        let zero = pipe.carry("zero", zero);
        let invalid = self.flags.then(|| {
            let signalling = is_signalling(io.a_i, format);
            pipe.carry("invalid", m.wire("invalid", signalling | undefined))
        });

        m.comment("In 1 to 4: twice the significand if the exponent is odd. The exponent is halved, its bias is not.");
        let (significand, count) = to_the_top(m, "normal", a.significand, self.subnormals);
        let biased = true_exponent(a.exponent, count, e + 1).wrapping_add(format.bias());
        let biased = m.wire("double_exponent", biased);
        let mut exponent = m.wire("exponent", biased.slice(1..e + 1));
        let radicand = m.wire("radicand", mux(biased.bit(0), significand.shl(1), significand.extend(f + 2)));
        let mut rest = Some(m.wire("radicand_rest", radicand.slice(0..f)));
        let top = m.wire("radicand_top", radicand.slice(f..f + 2));
        // Less one; the result for zero does not matter.
        let first = cat(&[top.all(), top.msb() & !top.bit(0)]);
        let mut rows = Rows::new(uint(1).lit(1), m.wire("remainder_1", first));
        let mut data = vec![("remainder", &mut rows.remainder), ("exponent", &mut exponent)];
        data.extend(rest.as_mut().map(|rest| ("rest", rest)));
        pipe.cut(m, &mut data);

        m.comment("A digit of the root a row.");
        for row in 2..=digits(format) {
            let next;
            (next, rest) = take_two(rest);
            let mut data = vec![("exponent", &mut exponent)];
            data.extend(rest.as_mut().map(|rest| ("rest", rest)));
            if row == digits(format) && !self.flags {
                rows.root_last(m, next);
                data.push(("digits", &mut rows.digits));
                pipe.cut(m, &mut data);
            } else {
                rows.root(m, next);
                rows.cut(&mut pipe, m, &mut data);
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
        let result = round(m, &unrounded, format, Subnormals::Ieee);
        m.connect(io.result_o, result.bits);
        m.connect(io.valid_o, pipe.valid());
        if let Some(invalid) = invalid {
            connect_option(m, io.invalid_o, pipe.now(invalid));
        }
        connect_option(m, io.inexact_o, result.inexact);
        if self.stages == 0 {
            self.properties(m, io);
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(self.stages).beat(1u32)
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

impl FloatSqrt {
    /// What is proved (`ifdef FORMAL`): specials, signs, and that the exponent is about half of the operand's.
    fn properties(&self, m: &mut Module, io: &FloatSqrtPorts) {
        let format = self.format;
        let (f, w) = (format.fraction_bits(), format.width());
        m.formal(|m| {
            let quiet = (1u64 << (w - 1)) - (1 << (f - 1));
            let infinity = (1u64 << (w - 1)) - (1 << f);
            let magnitude = m.wire("seen_magnitude", io.a_i.slice(0..w - 1));
            let result = m.wire("seen_result", io.result_o);
            let least = match self.subnormals {
                Subnormals::Ieee => 1u64,
                Subnormals::Flush => 1 << f,
            };
            let zero = m.wire("seen_zero", magnitude.lt(least));
            let nan = m.wire("seen_nan", magnitude.gt(infinity));
            let undefined = m.wire("seen_undefined", nan | (io.a_i.msb() & !zero));
            let implies = |condition: Signal, conclusion: Signal| !condition | conclusion;
            m.assert_always("nan_or_negative_is_nan", implies(undefined, result.eq(quiet)));
            m.assert_always("else_no_nan", undefined | !result.slice(0..w - 1).gt(infinity));
            let zeros = result.eq(cat(&[io.a_i.msb(), uint(w - 1).lit(0)]));
            m.assert_always("zero_keeps_its_sign", implies(zero, zeros));
            let infinite = m.wire("seen_infinite", io.a_i.eq(infinity));
            m.assert_always("infinity", implies(infinite, result.eq(infinity)));
            let number = m.wire("seen_number", !(undefined | zero | infinite));
            let normal = m.wire("seen_normal", result.lt(infinity) & result.ge(1u64 << f));
            m.assert_always("root_is_normal", implies(number, normal));
            m.cover("root_of_a_number", number);
        });
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
        let prove = |format, subnormals| Proof {
            block: Self { format, stages: 0, subnormals, flags: true },
            depth: 1,
            cover_depth: 1,
            induction: true,
        };
        vec![prove(FloatFormat::Fp16, Subnormals::Ieee), prove(FloatFormat::Bf16, Subnormals::Flush)]
    }
}
