//! Floating-point reciprocal.
//!
//! The division of 2 by a significand, a digit a row, gives 1.x. Powers of two give digits that are all ones, and these
//! are rounded up to the right number. No other quotient ends with the computed digits: there is always a remainder
//! after the last digit. So the last digit alone decides how the result is rounded, and the last row only compares.
//! Results are at most two places below the smallest normal number.

use super::digits::{Rows, depths, digits, to_the_top, true_exponent};
use super::format::{FloatFormat, Subnormals};
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded, connect_option, is_signalling, round};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, OutOption, Proof, Signal, Timing, bit, cat, mux, parameters, ports,
    select, uint,
};

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
    rules = |p, rules| {
        let most = p.format.fraction_bits() + 3;
        rules.demand(p.stages <= most, "stages", p.stages, format!("0 to {most} of {}", p.format.name()));
    };
}

ports! {
    /// Ports of [`FloatReciprocal`].
    pub struct FloatReciprocalPorts(p: &FloatReciprocal) {
        /// The operand is valid: one result for each such cycle.
        valid_i: In = bit(),
        /// Denominator.
        a_i: In = p.format.ty(),
        /// The outputs are valid: they belong to the operand of `stages` cycles ago. Low after reset.
        valid_o: Out = bit(),
        /// 1 / a.
        result_o: Out = p.format.ty(),
        /// IEEE 754's invalid operation: a is a signalling NaN; present with `flags`.
        invalid_o: OutOption = bit().when(p.flags),
        /// a is zero and the result an infinity; present with `flags`.
        division_by_zero_o: OutOption = bit().when(p.flags),
        /// The result is an infinity because it was too large; present with `flags`.
        overflow_o: OutOption = bit().when(p.flags),
        /// The result is inexact, and the exact one is below the smallest normal number in magnitude; present with `flags`.
        underflow_o: OutOption = bit().when(p.flags),
        /// The result is rounded (or flushed); present with `flags`.
        inexact_o: OutOption = bit().when(p.flags),
    }
}

impl Block for FloatReciprocal {
    type Ports = FloatReciprocalPorts;
    const ABOUT: About = About {
        name: "float_reciprocal",
        summary: "floating-point reciprocal",
        contract: "result_o = 1 / a_i of `stages` cycles ago, rounded to nearest, ties to even (within 1/2\n\
            ulp). Result and flags are the same as in a division of 1 by a_i. A zero gives the infinity of its sign,\n\
            an infinity the zero of its sign, a NaN the canonical quiet NaN. valid_o is valid_i of `stages` cycles\n\
            ago;\n\
            a reset may come at any time and drops the operations inside.",
        reference: "IEEE 754-2019, section 5.4.1 (division)",
    };

    fn build(&self, m: &mut Module, io: &FloatReciprocalPorts) {
        let format = self.format;
        let (e, f, w) = (format.exponent_bits(), format.fraction_bits(), format.width());
        let mut pipe = Ranks::new(io.valid_i, self.stages, &depths(&[15, 12], f + 1, &[17]));
        let a = Operand::new(m, "a", io.a_i.slice(0..w - 1), format, self.subnormals);

        m.comment("Zeros, infinities and NaNs.");
        let zero = m.wire("zero", a.zero);
        let nan = m.wire("nan", a.nan);
        let sign = pipe.carry("sign", m.wire("sign", io.a_i.msb()));
        let special = pipe.carry("special", m.wire("special", zero | nan));
        let infinite = pipe.carry("infinite", m.wire("infinite_operand", a.special & !nan));
        let nan = pipe.carry("nan", nan);
        let raised = self.flags.then(|| {
            let signalling = m.wire("invalid", is_signalling(io.a_i, format));
            (pipe.carry("invalid", signalling), pipe.carry("division_by_zero", zero))
        });

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
        let mut data = vec![("denominator", &mut denominator), ("scale", &mut scale)];
        data.extend(places.as_mut().map(|places| ("places", places)));
        pipe.cut(m, &mut data);
        let difference = uint(width).lit(2 * format.bias() - 1).wrapping_sub(true_exponent(scale, places, width));
        let mut exponent = m.wire("exponent", difference);
        let first = m.wire("remainder_1", uint(f + 1).lit(0).wrapping_sub(denominator));
        let mut rows = Rows::new(uint(1).lit(1), first);
        let data =
            &mut [("remainder", &mut rows.remainder), ("denominator", &mut denominator), ("exponent", &mut exponent)];
        pipe.cut(m, data);

        m.comment("A digit of the quotient a row.");
        for row in 2..=digits(format) {
            if row < digits(format) {
                rows.divide(m, denominator);
                rows.cut(&mut pipe, m, &mut [("denominator", &mut denominator), ("exponent", &mut exponent)]);
            } else {
                rows.divide_last(m, denominator);
                pipe.cut(m, &mut [("digits", &mut rows.digits), ("exponent", &mut exponent)]);
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

impl FloatReciprocal {
    /// What is proved (`ifdef FORMAL`): specials, signs, and powers of two.
    fn properties(&self, m: &mut Module, io: &FloatReciprocalPorts) {
        let format = self.format;
        let (e, f, w) = (format.exponent_bits(), format.fraction_bits(), format.width());
        m.formal(|m| {
            let infinity = (1u64 << (w - 1)) - (1 << f);
            let quiet = infinity + (1 << (f - 1));
            let least = match self.subnormals {
                Subnormals::Ieee => 1u64,
                Subnormals::Flush => 1 << f,
            };
            let a = m.wire("seen_a", io.a_i.slice(0..w - 1));
            let result = m.wire("seen_result", io.result_o.slice(0..w - 1));
            let nan = m.wire("seen_nan", a.gt(infinity));
            let implies = |condition: Signal, conclusion: Signal| !condition | conclusion;
            m.assert_always("nan_is_nan", implies(nan, io.result_o.eq(quiet)));
            m.assert_always("else_no_nan", nan | !result.gt(infinity));
            m.assert_always("sign_is_kept", nan | !(io.result_o.msb() ^ io.a_i.msb()));
            m.assert_always("zero_gives_infinity", implies(a.lt(least), result.eq(infinity)));
            m.assert_always("infinity_gives_zero", implies(a.eq(infinity), result.eq(0u64)));
            // 2^k gives 2^-k: exponent fields that add up to twice the bias.
            let field = m.wire("seen_field", a.slice(f..w - 1));
            let power = field.any() & !(field.all() | a.slice(0..f).any());
            let opposite = uint(e).lit(2 * format.bias()).wrapping_sub(field);
            let power = m.wire("seen_power", power & field.lt(2 * format.bias()));
            m.assert_always("power_gives_power", implies(power, result.eq(cat(&[opposite, uint(f).lit(0)]))));
            m.cover("some_power_of_two", power);
        });
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
        let prove = |format, subnormals| Proof {
            block: Self { format, stages: 0, subnormals, flags: true },
            depth: 1,
            cover_depth: 1,
            induction: true,
        };
        vec![prove(FloatFormat::Fp16, Subnormals::Ieee), prove(FloatFormat::Bf16, Subnormals::Flush)]
    }
}
