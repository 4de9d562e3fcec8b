//! Floating-point reciprocal square root.
//!
//! A significand in 1 to 4 selects a line, and the line's value is truncated to the result. A format of 16 bits has so
//! few numbers that there are lines whose truncated value is the correctly rounded result for every number. When the
//! unit is elaborated, a search finds slopes and heights among small integers, and how many lines are needed.

use super::digits::{to_the_top, true_exponent};
use super::format::{FloatFormat, Subnormals};
use super::lines::{Lines, SLOPE_PLACES, fit};
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded, connect_option, is_signalling, round};
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, OutOption, Proof, Signal, Timing, bit, cat, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct FloatRsqrt {
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
    /// Ports of [`FloatRsqrt`].
    pub struct FloatRsqrtPorts(p: &FloatRsqrt) {
        /// The operand is valid: one result for each such cycle.
        valid_i: In = bit(),
        /// The operand.
        a_i: In = p.format.ty(),
        /// The outputs are valid: they belong to the operand of `stages` cycles ago. Low after reset.
        valid_o: Out = bit(),
        /// 1 divided by the square root of a.
        result_o: Out = p.format.ty(),
        /// IEEE 754's invalid operation, of this result only; present with `flags`.
        invalid_o: OutOption = bit().when(p.flags),
        /// a is zero and the result an infinity; present with `flags`.
        division_by_zero_o: OutOption = bit().when(p.flags),
        /// The result is rounded; present with `flags`.
        inexact_o: OutOption = bit().when(p.flags),
    }
}

/// Levels of the parts between the places where registers may stand, about: normalise, find the line, how far it has fallen,
/// its value, the result.
const DEPTHS: &[u32] = &[18, 12, 16, 12, 10];

impl Block for FloatRsqrt {
    type Ports = FloatRsqrtPorts;
    const ABOUT: About = About {
        name: "float_rsqrt",
        summary: "floating-point reciprocal square root",
        contract: "result_o = 1 / square root of a_i of `stages` cycles ago, rounded to nearest (within 1/2\n\
            ulp; there are no ties). A zero gives the infinity of its sign, infinity gives +0. Other negative\n\
            numbers, minus infinity and NaNs give the canonical quiet NaN. No result overflows or underflows, so\n\
            there are no such flags. valid_o is valid_i of `stages` cycles ago;\n\
            a reset may come at any time and drops the operations inside.",
        reference: "IEEE 754-2019, section 9.2 (rSqrt)",
    };

    fn build(&self, m: &mut Module, io: &FloatRsqrtPorts) {
        let format = self.format;
        let (e, f, w) = (format.exponent_bits(), format.fraction_bits(), format.width());
        let mut pipe = Ranks::new(io.valid_i, self.stages, DEPTHS);
        let a = Operand::new(m, "a", io.a_i.slice(0..w - 1), format, self.subnormals);

        m.comment("Negative numbers, zeros, infinities and NaNs.");
        let zero = m.wire("zero", a.zero);
        let nan = m.wire("nan_operand", a.nan);
        let undefined = m.wire("undefined", io.a_i.msb() & !(nan | zero));
        let infinite = pipe.carry("infinite", m.wire("infinite_operand", a.special));
        let nan = m.wire("nan", nan | undefined);
        let sign = pipe.carry("sign", m.wire("sign", io.a_i.msb()));
        let special = pipe.carry("special", m.wire("special", nan | zero));
        let nan = pipe.carry("nan", nan);
        let raised = self.flags.then(|| {
            let invalid = m.wire("invalid", is_signalling(io.a_i, format) | undefined);
            (pipe.carry("invalid", invalid), pipe.carry("division_by_zero", zero))
        });

        m.comment("In 1 to 4: twice the significand if the exponent is odd. The exponent is halved, its bias is not.");
        let (significand, count) = to_the_top(m, "normal", a.significand, self.subnormals);
        let biased = true_exponent(a.exponent, count, e + 1).wrapping_add(format.bias());
        let biased = m.wire("double_exponent", biased);
        let mut exponent = m.wire("half_exponent", biased.slice(1..e + 1));
        let mut odd = m.wire("odd", biased.bit(0));
        let mut fraction = m.wire("fraction", significand.slice(0..f));
        m.unused(significand);
        pipe.cut(m, &mut [("odd", &mut odd), ("fraction", &mut fraction), ("exponent", &mut exponent)]);

        m.comment("The line of the highest bits.");
        let mut exponent = m.wire("exponent", uint(e).lit(2 * format.bias() - 1).wrapping_sub(exponent));
        let lines = lines(f);
        let high = (lines.index > 0).then(|| cat(&[odd, fraction.slice(f - lines.index..f)]));
        let index = m.wire("line", high.unwrap_or(odd));
        let (base_width, slope_width) = (f + lines.guard, lines.slope_width());
        let word = |&(base, slope): &(u64, u64)| {
            // The leading one is known.
            let base = base & ((1 << base_width) - 1);
            uint(base_width + slope_width).lit(base << slope_width | slope)
        };
        let words: Vec<Signal> = lines.lines.iter().map(word).collect();
        let chosen = m.lookup("line_table", index, &words);
        let mut base = m.wire("base", chosen.slice(slope_width..slope_width + base_width));
        let mut slope = m.wire("slope", chosen.slice(0..slope_width));
        let mut low = fraction.slice(0..(f - lines.index).max(1));
        let mut power = m.wire("power_of_four", !(odd | fraction.any()));
        let mut data = vec![("base", &mut base), ("power_of_four", &mut power), ("exponent", &mut exponent)];
        if lines.index < f {
            data.extend([("slope", &mut slope), ("low", &mut low)]);
        }
        pipe.cut(m, &mut data);

        m.comment("Its value, less the leading one. A power of four gives all ones, and one more is right.");
        let value_width = base_width + SLOPE_PLACES;
        let mut fall = (lines.index < f).then(|| m.wire("fall", slope * low));
        let mut data = vec![("base", &mut base), ("power_of_four", &mut power), ("exponent", &mut exponent)];
        data.extend(fall.as_mut().map(|fall| ("fall", fall)));
        pipe.cut(m, &mut data);
        let value = base.shl(SLOPE_PLACES);
        let value = fall.map_or(value, |fall| value.wrapping_sub(fall.extend(value_width)));
        let value = m.wire("value", value);
        let mut result = m.wire("root_fraction", value.slice(value_width - f..value_width));
        m.unused(value);
        let data = &mut [("root_fraction", &mut result), ("power_of_four", &mut power), ("exponent", &mut exponent)];
        pipe.cut(m, data);

        m.comment("The result.");
        let number = m.wire("number", !pipe.now(infinite));
        let unrounded = Unrounded {
            sign: pipe.now(sign) & pipe.now(special),
            exponent: exponent & number.repeat(e),
            fraction: result & number.repeat(f),
            up: power & number,
            inexact: number & !power,
            special: pipe.now(special),
            nan: pipe.now(nan),
            too_large: TooLarge::Never,
        };
        let result = round(m, &unrounded, format, Subnormals::Ieee);
        m.connect(io.result_o, result.bits);
        m.connect(io.valid_o, pipe.valid());
        if let Some((invalid, pole)) = raised {
            connect_option(m, io.invalid_o, pipe.now(invalid));
            connect_option(m, io.division_by_zero_o, pipe.now(pole));
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

/// The lines of a format with `f` bits of fraction: of even exponents, then of odd ones.
fn lines(f: u32) -> Lines {
    let result = |x: u64| {
        let (odd, fraction) = (x >> f, x % (1 << f));
        if x == 0 {
            // A power of four, whose result is one more.
            return (2 << f) - 1;
        }
        // Half units: the root of 16 * 4^f * 2^f / (2^f + fraction) / 2^odd; it lies between this one and the next.
        let halves = ((16u64 << (3 * f)) / (((1 << f) + fraction) << odd)).isqrt();
        halves.div_ceil(2)
    };
    fit(f, 1, &result)
}

impl FloatRsqrt {
    /// What is proved (`ifdef FORMAL`): specials, and that all other results are normal numbers.
    fn properties(&self, m: &mut Module, io: &FloatRsqrtPorts) {
        let format = self.format;
        let (f, w) = (format.fraction_bits(), format.width());
        m.formal(|m| {
            let infinity = (1u64 << (w - 1)) - (1 << f);
            let quiet = infinity + (1 << (f - 1));
            let least = match self.subnormals {
                Subnormals::Ieee => 1u64,
                Subnormals::Flush => 1 << f,
            };
            let magnitude = m.wire("seen_magnitude", io.a_i.slice(0..w - 1));
            let result = m.wire("seen_result", io.result_o);
            let zero = m.wire("seen_zero", magnitude.lt(least));
            let nan = m.wire("seen_nan", magnitude.gt(infinity) | (io.a_i.msb() & !zero));
            let implies = |condition: Signal, conclusion: Signal| !condition | conclusion;
            m.assert_always("nan_or_negative_is_nan", implies(nan, result.eq(quiet)));
            let pole = cat(&[io.a_i.msb(), uint(w - 1).lit(infinity)]);
            m.assert_always("zero_is_infinity", implies(zero, result.eq(pole)));
            let infinite = m.wire("seen_infinite", io.a_i.eq(infinity));
            m.assert_always("infinity_is_zero", implies(infinite, result.eq(0u64)));
            let number = m.wire("seen_number", !(nan | zero | infinite));
            m.assert_always("else_normal", implies(number, result.ge(1u64 << f) & result.lt(infinity)));
            m.cover("root_of_a_number", number);
        });
    }
}

impl CatalogBlock for FloatRsqrt {
    fn configurations() -> Vec<Self> {
        let set = |format, stages, subnormals| Self { format, stages, subnormals, flags: true };
        vec![
            set(FloatFormat::E3m2, 1, Subnormals::Ieee),
            set(FloatFormat::E5m2, 0, Subnormals::Flush),
            set(FloatFormat::Fp16, 4, Subnormals::Ieee),
            set(FloatFormat::Fp16, 1, Subnormals::Flush),
            set(FloatFormat::Bf16, 2, Subnormals::Ieee),
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

#[cfg(test)]
mod tests {
    use super::lines;

    /// As `docs/blocks/float-functions.md` says.
    #[test]
    fn few_lines_are_enough() {
        assert_eq!([10, 7, 2].map(|f| lines(f).lines.len()), [128, 32, 2]);
    }
}
