//! Floating-point reciprocal square root.
//!
//! A significand in 1 to 4 selects a line, and the line's value is truncated to the result. A format of 16 bits has so
//! few numbers that there are lines whose truncated value is the correctly rounded result for every number. When the
//! unit is elaborated, a search finds slopes and heights among small integers, and how many lines are needed.

use super::digits::for_a_root;
use super::exceptions::Exception;
use super::format::{FloatFormat, Subnormals};
use super::lines::{Lines, SLOPE_PLACES, fit};
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded};
use super::seen::{Seen, implies};
use super::shape::{Shape, demand_16_bits};
use super::unit::{FloatUnit, UnaryPorts, proof};
use crate::lang::{About, CatalogBlock, Module, Proof, Signal, cat, parameters, uint};

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
    rules = |p, rules| demand_16_bits(rules, p.format);
}

/// Levels of the parts between the places where registers may stand, about: normalise, find the line, how far it has fallen,
/// its value, the result.
const DEPTHS: &[u32] = &[18, 12, 16, 12, 10];

impl FloatUnit for FloatRsqrt {
    type Ports = UnaryPorts;
    const ABOUT: About = About {
        name: "float_rsqrt",
        summary: "floating-point reciprocal square root",
        contract: "result_o = 1 / square root of a_i of `stages` cycles ago, rounded to nearest (within 1/2\n\
            ulp; there are no ties). A zero gives the infinity of its sign, infinity gives +0. Other negative\n\
            numbers, minus infinity and NaNs give the canonical quiet NaN. No result overflows or underflows, so\n\
            there are no such flags.",
        reference: "IEEE 754-2019, section 9.2 (rSqrt)",
    };

    fn shape(&self) -> Shape {
        let shape = Shape::new(self.format, self.stages, DEPTHS);
        shape.raising(self.flags, &[Exception::Invalid, Exception::DivisionByZero, Exception::Inexact])
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &UnaryPorts) {
        let format = self.format;
        let (e, f) = (format.exponent_bits(), format.fraction_bits());
        let a = Operand::new(m, "a", io.a_i, format, self.subnormals);

        m.comment("Negative numbers, zeros, infinities and NaNs.");
        let zero = m.wire("zero", a.zero);
        let nan = m.wire("nan_operand", a.nan);
        let undefined = m.wire("undefined", io.a_i.msb() & !(nan | zero));
        let infinite = pipe.carry("infinite", m.wire("infinite_operand", a.special));
        let nan = m.wire("nan", nan | undefined);
        let sign = pipe.keep(m, "sign", io.a_i.msb());
        let special = pipe.keep(m, "special", nan | zero);
        let nan = pipe.carry("nan", nan);
        pipe.raise(m, Exception::Invalid, a.signalling | undefined);
        pipe.raise(m, Exception::DivisionByZero, zero);

        let (significand, biased) = for_a_root(m, &a, format, self.subnormals);
        let mut exponent = m.wire("half_exponent", biased.slice(1..e + 1));
        let mut odd = m.wire("odd", biased.bit(0));
        let mut fraction = m.wire("fraction", significand.slice(0..f));
        m.unused(significand);
        pipe.cut(m, [("odd", &mut odd), ("fraction", &mut fraction), ("exponent", &mut exponent)]);

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
        let data = [("base", &mut base), ("power_of_four", &mut power), ("exponent", &mut exponent)];
        let line = (lines.index < f).then_some([("slope", &mut slope), ("low", &mut low)]);
        pipe.cut(m, data.into_iter().chain(line.into_iter().flatten()));

        m.comment("Its value, less the leading one. A power of four gives all ones, and one more is right.");
        let value_width = base_width + SLOPE_PLACES;
        let mut fall = (lines.index < f).then(|| m.wire("fall", slope * low));
        let data = [("base", &mut base), ("power_of_four", &mut power), ("exponent", &mut exponent)];
        pipe.cut(m, data.into_iter().chain(fall.as_mut().map(|fall| ("fall", fall))));
        let value = base.shl(SLOPE_PLACES);
        let value = fall.map_or(value, |fall| value.wrapping_sub(fall.extend(value_width)));
        let value = m.wire("value", value);
        let mut result = m.wire("root_fraction", value.slice(value_width - f..value_width));
        m.unused(value);
        let data = [("root_fraction", &mut result), ("power_of_four", &mut power), ("exponent", &mut exponent)];
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
        unrounded.finish(m, pipe, (format, Subnormals::Ieee), (io.result_o, &io.flags));
    }

    /// Specials, and that all other results are normal numbers.
    fn properties(&self, m: &mut Module, io: &UnaryPorts) {
        let [a, result] = Seen::all(m, [("a", io.a_i), ("result", io.result_o)], self.format, self.subnormals);
        let nan = m.wire("seen_nan", a.nan | (a.sign & !a.zero));
        result.is_nan_where(m, nan);
        m.assert_always("zero_is_infinity", implies(a.zero, result.is_infinity(a.sign)));
        m.assert_always("infinity_is_zero", implies(a.infinite & !a.sign, !result.bits.any()));
        let number = m.wire("seen_number", !(nan | a.zero | a.infinite));
        m.assert_always("else_normal", implies(number, result.is_normal() & !result.sign));
        m.cover("root_of_a_number", number);
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
        let prove = |format, subnormals| proof(Self { format, stages: 0, subnormals, flags: true });
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
