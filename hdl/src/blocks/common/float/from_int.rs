//! Integer to floating point.
//!
//! A negative integer is complemented, not negated: the missing unit is added while rounding, where it costs nothing.
//! No integer is subnormal, so there is no parameter for these.

use super::exceptions::{Exception, Exceptions};
use super::format::{FloatFormat, Subnormals};
use super::ranks::Ranks;
use super::round::{TooLarge, Unrounded};
use super::seen::{Seen, implies};
use super::shape::Shape;
use super::shift::Normaliser;
use super::unit::{FloatUnit, UnaryPorts, proof};
use crate::lang::{About, CatalogBlock, Module, Proof, Type, bit, bits_for, cat, parameters, uint};

parameters! {
    /// Elaboration parameters.
    pub struct FloatFromInt {
        /// Format of the result.
        format: FloatFormat = FloatFormat::Fp16, tag "";
        /// Width of the integer in bits.
        width: u32 = 32, in 1..=64, note "at least 2 if signed", tag "w";
        /// The integer is two's complement; otherwise unsigned.
        signed: bool = true, tag "signed";
        /// Ranks of registers inside, the latency in cycles; 0 is combinational.
        stages: u32 = 0, in 0..=DEPTHS.len() as u32 - 1, tag "s";
        /// An output that says that the result is rounded.
        flags: bool = false, tag "flags";
    }
    // The sign alone is no number.
    rules = |p, rules| {
        rules.demand(p.width > u32::from(p.signed), "width", p.width, "2 to 64 if signed");
    };
}

impl FloatFromInt {
    /// Whether there are integers of this width that give an infinity.
    #[must_use]
    pub fn can_overflow(&self) -> bool {
        // The first integer that does is half a unit in the last place below 2^(bias + 1). Integers reach up to
        // 2^magnitude - 1, the most negative one to -2^magnitude.
        let magnitude = self.width - u32::from(self.signed);
        magnitude > self.format.bias()
            && (magnitude > self.format.bias() + 1 || magnitude >= self.format.fraction_bits() + 2 || self.signed)
    }
}

/// Levels of the parts between the places where registers may stand, about: normalise by large steps, by small ones, round.
const DEPTHS: &[u32] = &[18, 16, 19];

impl FloatUnit for FloatFromInt {
    type Ports = UnaryPorts;
    const ABOUT: About = About {
        name: "float_from_int",
        summary: "integer to floating point",
        contract: "result_o = a_i of `stages` cycles ago, rounded to nearest, ties to even. An integer that is too large gives an\n\
            infinity and raises overflow_o.",
        reference: "IEEE 754-2019, section 5.4.1",
    };

    fn shape(&self) -> Shape {
        let raises: Exceptions = match (self.can_overflow(), self.flags) {
            (true, true) => &[Exception::Overflow, Exception::Inexact],
            (true, false) => &[Exception::Overflow],
            (false, true) => &[Exception::Inexact],
            (false, false) => &[],
        };
        let operand = Type { width: self.width, signed: self.signed };
        Shape { operand, raises, ..Shape::new(self.format, self.stages, DEPTHS) }
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &UnaryPorts) {
        let format = self.format;
        let (e, f) = (format.exponent_bits(), format.fraction_bits());
        let negative = if self.signed { m.wire("negative", io.a_i.msb()) } else { bit().lit(0) };
        let sign = self.signed.then(|| pipe.carry("sign", negative));

        m.comment("The magnitude, or one less where the integer is negative; the same at the top of a wider word.");
        let bits = io.a_i.as_uint();
        let magnitude = if self.signed { bits ^ negative.repeat(self.width) } else { bits };
        let padding = (f + 2).saturating_sub(self.width);
        let padded = if padding > 0 { cat(&[magnitude, negative.repeat(padding)]) } else { magnitude };
        let padded = m.wire("magnitude", padded);
        let mut normal = Normaliser::new("normal", padded, None, f + 2, negative);
        normal.asked_for_ones = self.signed;
        normal.large_steps(m);
        normal.cut(m, pipe, []);
        let negative = sign.map_or(bit().lit(0), |sign| pipe.now(sign));
        normal.fill = negative;
        let mut normal = normal.finish(m);
        if self.signed {
            normal.name(m);
        }
        let top = format.bias() + self.width - 1;
        let width = e.max(bits_for(u64::from(top)));
        let mut count = m.wire("count", normal.count);
        let mut data = vec![("significand", &mut normal.value), ("count", &mut count)];
        if padded.width() > f + 2 {
            data.push(("any_below", &mut normal.any_below));
            if self.signed {
                data.push(("all_below", &mut normal.all_below));
            }
        }
        pipe.cut(m, data);

        m.comment("Rounded.");
        let exponent = m.wire("exponent", uint(width).lit(top).wrapping_sub(count));
        let negative = sign.map_or(bit().lit(0), |sign| pipe.now(sign));
        let (up, inexact) = if self.signed {
            normal.rounding_plus(m, negative, bit().lit(0))
        } else {
            let guard = normal.value.bit(0);
            let sticky = m.wire("sticky", normal.any_below);
            (m.wire("up", guard & (normal.value.bit(1) | sticky)), guard | sticky)
        };
        let unrounded = Unrounded {
            sign: negative,
            exponent: exponent & normal.value.msb().repeat(width),
            fraction: normal.value.slice(1..f + 1),
            up,
            inexact,
            special: bit().lit(0),
            nan: bit().lit(0),
            too_large: if self.can_overflow() { TooLarge::Infinity } else { TooLarge::Never },
        };
        unrounded.finish(m, pipe, (format, Subnormals::Ieee), (io.result_o, &io.flags));
    }

    /// Sign, exponent, and that small integers are exact.
    fn properties(&self, m: &mut Module, io: &UnaryPorts) {
        let (format, f) = (self.format, self.format.fraction_bits());
        let result = Seen::new(m, "result", io.result_o, format, Subnormals::Ieee);
        let negative = if self.signed { io.a_i.msb() } else { bit().lit(0) };
        let width = self.width + 1;
        let wide = io.a_i.extend(width).as_uint();
        let flipped = (wide ^ negative.repeat(width)).wrapping_add(negative.extend(width));
        let magnitude = m.wire("seen_integer", flipped);
        let zero = m.wire("seen_zero", !magnitude.any());
        m.assert_always("never_a_nan", !result.nan);
        m.assert_always("zero", implies(zero, result.is_zero(bit().lit(0))));
        m.assert_always("sign", implies(!zero, result.has_sign(negative)));
        if let Some(overflow) = io.flags.overflow_o {
            m.assert_always("overflow_is_infinity", overflow.eq(result.infinite));
        }
        // From one power of two to the next.
        for k in 0..self.width.min(format.bias() + 1) {
            let here = magnitude.bit(k) & !magnitude.slice(k + 1..width).any();
            let (low, high) = (Seen::power(format, k.into()), Seen::power(format, i64::from(k) + 1));
            let between = result.magnitude.ge(low) & result.magnitude.le(high);
            m.assert_always(&format!("above_2_to_the_{k}"), implies(here, between));
            if k <= f {
                let fraction = match k {
                    0 => uint(f).lit(0),
                    _ if k == f => magnitude.slice(0..f),
                    _ => cat(&[magnitude.slice(0..k), uint(f - k).lit(0)]),
                };
                let exact = result.magnitude.slice(0..f).eq(fraction) & result.magnitude.lt(high);
                m.assert_always(&format!("exact_above_2_to_the_{k}"), implies(here, exact));
            }
        }
        if self.width > f + 2 {
            m.cover("rounded_to_a_power_of_two", !result.magnitude.slice(0..f).any() & magnitude.bit(0));
        }
    }
}

impl CatalogBlock for FloatFromInt {
    fn configurations() -> Vec<Self> {
        let set = |format, width, signed, stages| Self { format, width, signed, stages, flags: true };
        vec![
            set(FloatFormat::Fp16, 1, false, 0),
            set(FloatFormat::E3m2, 2, true, 1),
            set(FloatFormat::Fp16, 16, true, 0),
            set(FloatFormat::Fp16, 17, false, 2),
            set(FloatFormat::Fp16, 18, true, 0),
            set(FloatFormat::Bf16, 24, true, 1),
            set(FloatFormat::Fp16, 32, true, 2),
            set(FloatFormat::Fp32, 64, false, 0),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |format, width, signed| proof(Self { format, width, signed, stages: 0, flags: false });
        vec![prove(FloatFormat::Fp16, 32, true), prove(FloatFormat::Bf16, 16, false)]
    }
}
