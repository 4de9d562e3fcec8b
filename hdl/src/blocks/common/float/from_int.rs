//! Integer to floating point.
//!
//! A negative integer is complemented, not negated: the missing unit is added while rounding, where it costs nothing.
//! No integer is subnormal, so there is no parameter for these.

use super::format::{FloatFormat, Subnormals};
use super::ranks::Ranks;
use super::round::{TooLarge, Unrounded, connect_option, round};
use super::seen::{Seen, implies};
use super::shift::Normaliser;
use crate::lang::{
    About, Block, CatalogBlock, In, Module, Out, OutOption, Proof, Timing, Type, bit, bits_for, cat, parameters, ports,
    uint,
};

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

ports! {
    /// Ports of [`FloatFromInt`].
    pub struct FloatFromIntPorts(p: &FloatFromInt) {
        /// The operands are valid: one result for each such cycle.
        valid_i: In = bit(),
        /// The integer.
        a_i: In = Type { width: p.width, signed: p.signed },
        /// The outputs are valid: they belong to the operands of `stages` cycles ago. Low after reset.
        valid_o: Out = bit(),
        /// The float nearest to it.
        result_o: Out = p.format.ty(),
        /// The integer was too large and the result is an infinity; present where that can happen.
        overflow_o: OutOption = bit().when(p.can_overflow()),
        /// The result is rounded; present with `flags`.
        inexact_o: OutOption = bit().when(p.flags),
    }
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

impl Block for FloatFromInt {
    type Ports = FloatFromIntPorts;
    const ABOUT: About = About {
        name: "float_from_int",
        summary: "integer to floating point",
        contract: "result_o = a_i of `stages` cycles ago, rounded to nearest, ties to even. An integer that is too large gives an\n\
            infinity and raises overflow_o. valid_o is valid_i of `stages` cycles ago;\n\
            a reset may come at any time and drops the operations inside.",
        reference: "IEEE 754-2019, section 5.4.1",
    };

    fn build(&self, m: &mut Module, io: &FloatFromIntPorts) {
        let format = self.format;
        let (e, f) = (format.exponent_bits(), format.fraction_bits());
        let mut pipe = Ranks::new(io.valid_i, self.stages, DEPTHS);
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
        normal.cut(&mut pipe, m, &mut []);
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
        pipe.cut(m, &mut data);

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
        let result = round(m, &unrounded, format, Subnormals::Ieee);
        m.connect(io.result_o, result.bits);
        m.connect(io.valid_o, pipe.valid());
        connect_option(m, io.overflow_o, result.overflow);
        connect_option(m, io.inexact_o, result.inexact);
        if self.stages == 0 {
            self.properties(m, io);
        }
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(self.stages).beat(1u32)
    }
}

impl FloatFromInt {
    /// What is proved (`ifdef FORMAL`): sign, exponent, and that small integers are exact.
    fn properties(&self, m: &mut Module, io: &FloatFromIntPorts) {
        let (format, f) = (self.format, self.format.fraction_bits());
        m.formal(|m| {
            let result = Seen::new(m, "seen_result", io.result_o, format, Subnormals::Ieee);
            let negative = if self.signed { io.a_i.msb() } else { bit().lit(0) };
            let width = self.width + 1;
            let wide = io.a_i.extend(width).as_uint();
            let flipped = (wide ^ negative.repeat(width)).wrapping_add(negative.extend(width));
            let magnitude = m.wire("seen_integer", flipped);
            let zero = m.wire("seen_zero", !magnitude.any());
            m.assert_always("never_a_nan", !result.nan);
            m.assert_always("zero", implies(zero, result.is_zero(bit().lit(0))));
            m.assert_always("sign", implies(!zero, result.has_sign(negative)));
            if let Some(overflow) = io.overflow_o {
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
        });
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
        let prove = |format, width, signed| Proof {
            block: Self { format, width, signed, stages: 0, flags: false },
            depth: 1,
            cover_depth: 1,
            induction: true,
        };
        vec![prove(FloatFormat::Fp16, 32, true), prove(FloatFormat::Bf16, 16, false)]
    }
}
