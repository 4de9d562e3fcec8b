//! Floating-point exponential function.
//!
//! e^x = 2^(x log2 e). The significand is multiplied by the constant log2 e and shifted by its exponent: to whole
//! places and, for a format with f bits of fraction, f + 5 places of a fraction. A negative product is complemented.
//! That is one unit too low, but right on average, since bits that were cut off are missing too. The whole places are
//! the exponent of the result; its fraction comes from straight lines between the places of a table.
//!
//! No power of e is a number or half way between two, except 1: the bit after the last place decides how it is rounded.

use num_bigint::BigUint;

use super::exceptions::Exception;
use super::format::{FloatFormat, Subnormals};
use super::parts::Parts;
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded};
use super::seen::{Seen, implies};
use super::shape::{Shape, demand_16_bits};
use super::unit::{FloatUnit, UnaryPorts, proof};
use crate::lang::{About, CatalogBlock, Module, Proof, Signal, bit, bits_for, cat, mux, parameters, uint};

parameters! {
    /// Elaboration parameters.
    pub struct FloatExp {
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

/// Levels of the parts between the places where registers may stand, about: multiply by parts, add them, add these, shift,
/// find the line, multiply by parts, add them, add these, add, place, round.
const DEPTHS: &[u32] = &[16, 14, 14, 11, 10, 16, 12, 12, 14, 16, 12];

impl FloatUnit for FloatExp {
    type Ports = UnaryPorts;
    const ABOUT: About = About {
        name: "float_exp",
        summary: "floating-point exponential function",
        contract: "result_o = e to the power of a_i of `stages` cycles ago, within 0.54 ulp (fp16: 384 results are\n\
            not the nearest number; e5m2 and e3m2: none) and never falling while a_i rises. Flags describe the exact\n\
            result. A zero gives exactly 1, minus infinity +0, a NaN the canonical quiet one.",
        reference: "IEEE 754-2019, section 9.2 (exp)",
    };

    fn shape(&self) -> Shape {
        Shape::new(self.format, self.stages, DEPTHS).raising(self.flags, Exception::WHEN_ROUNDED)
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &UnaryPorts) {
        let format = self.format;
        let (e, f) = (format.exponent_bits(), format.fraction_bits());
        let Places { fraction, index, height } = places(f);
        let a = Operand::new(m, "a", io.a_i, format, self.subnormals);

        m.comment("Zeros, infinities, NaNs, and numbers that are far too large.");
        let nan = m.wire("nan", a.nan);
        let negative = pipe.keep(m, "negative", io.a_i.msb());
        let special = m.wire("special", nan | (a.special & !io.a_i.msb()));
        let nothing = pipe.keep(m, "nothing", a.special & io.a_i.msb() & !nan);
        pipe.raise(m, Exception::Inexact, !(a.special | a.zero));
        let scale = m.wire("scale", a.exponent);
        let huge = m.wire("huge", scale.ge(format.bias() + e));
        pipe.raise(m, Exception::Invalid, a.signalling);
        let (huge, nan, special) = (pipe.carry("huge", huge), pipe.carry("nan", nan), pipe.carry("special", special));

        m.comment("Times log2 e, where the largest exponent puts it.");
        let constant = log2_e(fraction + e);
        let width = fraction + e + 1;
        let mut product = Parts::new(m, pipe, "product", (uint(width).lit(constant), a.significand), 2);
        let below = uint(e).lit(format.bias() + e - 1).wrapping_sub(scale);
        let mut below = m.wire("places_below", below);
        for _ in 0..2 {
            product.cut(m, pipe, [("places_below", &mut below)]);
        }
        let mut product = m.wire("product_top", product.whole().slice(f + 1..f + 1 + width));
        pipe.cut(m, [("product", &mut product), ("places_below", &mut below)]);

        m.comment("The binary logarithm of the result.");
        let sign = pipe.now(negative);
        let magnitude = m.wire("magnitude", product.shr_by(below));
        let mut logarithm = m.wire("logarithm", magnitude ^ sign.repeat(width));
        pipe.cut(m, [("logarithm", &mut logarithm)]);

        m.comment("The exponent, and the line of the fraction.");
        let sign = pipe.now(negative);
        let whole = cat(&[sign, logarithm.slice(fraction..width)]);
        let mut exponent = m.wire("exponent", whole.wrapping_add(format.bias()));
        let low_bits = fraction - index;
        let line = m.wire("line", logarithm.slice(low_bits..fraction));
        let powers = powers_of_two(index, height);
        let rises: Vec<u64> = powers.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let rise_width = bits_for(rises.iter().copied().max().unwrap_or(0));
        let word = |(power, rise): (&u64, &u64)| {
            uint(height + rise_width).lit((power & ((1 << height) - 1)) << rise_width | rise)
        };
        let words: Vec<Signal> = powers.iter().zip(&rises).map(word).collect();
        let chosen = m.lookup("line_table", line, &words);
        let mut base = m.wire("base", chosen.slice(rise_width..rise_width + height));
        let mut rise = m.wire("rise", chosen.slice(0..rise_width));
        let mut low = m.wire("low", logarithm.slice(0..low_bits));
        let data = [("base", &mut base), ("rise", &mut rise), ("low", &mut low), ("exponent", &mut exponent)];
        pipe.cut(m, data);

        m.comment("Its value, without the leading one, which it does not reach again.");
        let mut above = Parts::new(m, pipe, "above", (rise, low), 2);
        for _ in 0..2 {
            above.cut(m, pipe, [("base", &mut base), ("exponent", &mut exponent)]);
        }
        let above = above.whole();
        let mut above = m.wire("above_top", above.slice(low_bits..above.width()));
        pipe.cut(m, [("above", &mut above), ("base", &mut base), ("exponent", &mut exponent)]);
        let power = m.wire("power", base.wrapping_add(above.extend(height)));
        let mut power_top = m.wire("power_top", cat(&[bit().lit(1), power.slice(height - f - 1..height)]));
        m.unused(power);
        pipe.cut(m, [("power", &mut power_top), ("exponent", &mut exponent)]);

        m.comment("Below the smallest normal number, to its last place.");
        let tiny = m.wire("tiny", exponent.msb() | !exponent.any());
        let far_width = bits_for(u64::from(f + 2));
        let distance = m.wire("distance", uint(e + 2).lit(1).wrapping_sub(exponent));
        let far = m.wire("far", distance.slice(far_width..e + 2).any());
        let amount = m.wire("amount", (distance.slice(0..far_width) | far.repeat(far_width)) & tiny.repeat(far_width));
        let mut placed = m.wire("placed", power_top.shr_by(amount));
        let mut field = m.wire("field", mux(tiny, uint(e + 1).lit(0), exponent.slice(0..e + 1)));
        pipe.cut(m, [("placed", &mut placed), ("field", &mut field)]);

        m.comment("Rounded.");
        let (sign, huge) = (pipe.now(negative), pipe.now(huge));
        let kept = m.wire("kept", !((huge & sign) | pipe.now(nothing)));
        let too_large = m.wire("too_large", huge & !sign);
        let unrounded = Unrounded {
            sign: bit().lit(0),
            exponent: (field & kept.repeat(e + 1)) | too_large.repeat(e + 1),
            fraction: placed.slice(1..f + 1) & kept.repeat(f),
            up: placed.bit(0) & kept,
            inexact: pipe.raised(Exception::Inexact),
            special: pipe.now(special),
            nan: pipe.now(nan),
            too_large: TooLarge::Infinity,
        };
        unrounded.finish(m, pipe, (format, self.subnormals), (io.result_o, &io.flags));
    }

    /// Specials, signs, and on which side of 1 the result is.
    fn properties(&self, m: &mut Module, io: &UnaryPorts) {
        let [a, result] = Seen::all(m, [("a", io.a_i), ("result", io.result_o)], self.format, self.subnormals);
        let one = Seen::power(self.format, 0);
        result.is_nan_where(m, a.nan);
        m.assert_always("never_negative", !result.sign);
        m.assert_always("zero_gives_one", implies(!a.magnitude.any(), result.bits.eq(one)));
        m.assert_always("infinity_stays", implies(a.infinite & !a.sign, result.infinite));
        m.assert_always("minus_infinity_gives_zero", implies(a.infinite & a.sign, !result.bits.any()));
        m.assert_always("rises_above_one", a.nan | a.sign | result.bits.ge(one));
        m.assert_always("falls_below_one", a.nan | !a.sign | result.bits.le(one));
        result.is_flushed(m);
        m.cover("overflow_of_a_number", !(a.nan | a.infinite) & result.infinite);
    }
}

/// How many places there are.
struct Places {
    /// Of the binary logarithm after the point.
    fraction: u32,
    /// Of these, the places that select a line.
    index: u32,
    /// Of a power of two after the point.
    height: u32,
}

/// Enough for errors well below the errors of rounding.
const fn places(f: u32) -> Places {
    Places { fraction: f + 5, index: (f + 2) / 2, height: f + 6 }
}

/// The binary logarithm of e with `places` after the point, truncated: the inverse of ln 2, the sum of 1 / (k 2^k).
pub(in crate::blocks::common) fn log2_e(places: u32) -> u64 {
    const MORE: u32 = 100;
    let ln_2: u128 = (1..MORE).map(|k| (1u128 << (MORE - k)) / u128::from(k)).sum();
    let inverse = (BigUint::from(1u8) << (places + MORE)) / BigUint::from(ln_2);
    u64::try_from(inverse).unwrap_or(u64::MAX)
}

/// 2^(k / 2^index) for all k up to 2^index, with `height` places after the point, to nearest: integer roots.
pub(in crate::blocks::common) fn powers_of_two(index: u32, height: u32) -> Vec<u64> {
    let degree = 1u32 << index;
    let power = |k: u32| {
        let twice = (BigUint::from(1u8) << (degree * (height + 1) + k)).nth_root(degree);
        u64::try_from((twice + 1u8) >> 1).unwrap_or(u64::MAX)
    };
    (0..=degree).map(power).collect()
}

impl CatalogBlock for FloatExp {
    fn configurations() -> Vec<Self> {
        let set = |format, stages, subnormals| Self { format, stages, subnormals, flags: true };
        vec![
            set(FloatFormat::E3m2, 0, Subnormals::Ieee),
            set(FloatFormat::E5m2, 2, Subnormals::Flush),
            set(FloatFormat::Fp16, 10, Subnormals::Ieee),
            set(FloatFormat::Fp16, 1, Subnormals::Flush),
            set(FloatFormat::Bf16, 3, Subnormals::Ieee),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |format, subnormals| proof(Self { format, stages: 0, subnormals, flags: true });
        vec![prove(FloatFormat::E5m2, Subnormals::Ieee), prove(FloatFormat::E3m2, Subnormals::Flush)]
    }
}
