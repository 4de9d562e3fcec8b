//! Floating point to integer.
//!
//! The significand stands at the top of a word of all integer bits and one more, and is shifted right to where its
//! exponent says. Negation and rounding are one addition: minus (x + up) is the complement of x, plus one less up.

use super::exceptions::Exception;
use super::format::{FloatFormat, RoundingDirection, Subnormals};
use super::ranks::Ranks;
use super::round::{Operand, Remainder};
use super::seen::{Seen, implies};
use super::shape::Shape;
use super::shift::shift_right;
use super::unit::{FloatUnit, UnaryPorts, proof};
use crate::lang::{About, CatalogBlock, Module, Proof, Signal, Type, bit, cat, mux, parameters, select, uint};

parameters! {
    /// Elaboration parameters.
    pub struct FloatToInt {
        /// Format of the operand.
        format: FloatFormat = FloatFormat::Fp16, tag "";
        /// Width of the integer in bits.
        width: u32 = 16, in 1..=64, note "at least 2 if signed", tag "w";
        /// The integer is two's complement; otherwise unsigned.
        signed: bool = true, tag "signed";
        /// Where fractions go.
        rounding: RoundingDirection = RoundingDirection::NearestEven, tag "";
        /// Ranks of registers inside, the latency in cycles; 0 is combinational.
        stages: u32 = 0, in 0..=DEPTHS.len() as u32 - 1, tag "s";
        /// Subnormal numbers, or zeros instead.
        subnormals: Subnormals = Subnormals::Ieee;
        /// Outputs for IEEE 754's exceptions.
        flags: bool = false, tag "flags";
    }
    // The sign alone is no number.
    rules = |p, rules| {
        rules.demand(p.width > u32::from(p.signed), "width", p.width, "2 to 64 if signed");
    };
}

/// Levels of the parts between the places where registers may stand, about: shift, round, saturate.
const DEPTHS: &[u32] = &[22, 14, 8];

impl FloatUnit for FloatToInt {
    type Ports = UnaryPorts;
    const ABOUT: About = About {
        name: "float_to_int",
        summary: "floating point to integer, saturating",
        contract: "result_o = a_i of `stages` cycles ago, rounded to an integer as `rounding` says. An integer out\n\
            of range, of an infinity too, is replaced by the nearest integer in the range, and a NaN by 0: both\n\
            raise invalid_o and not inexact_o. A flushed subnormal number is an exact 0.",
        reference: "IEEE 754-2019, sections 5.4.1 and 5.8",
    };

    fn shape(&self) -> Shape {
        let result = Type { width: self.width, signed: self.signed };
        let shape = Shape { result, ..Shape::new(self.format, self.stages, DEPTHS) };
        shape.raising(self.flags, &[Exception::Invalid, Exception::Inexact])
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &UnaryPorts) {
        let a = Operand::new(m, "a", io.a_i, self.format, self.subnormals);
        let negative = pipe.keep(m, "negative", io.a_i.msb());
        let nan = pipe.keep(m, "nan", a.nan);

        m.comment("The magnitude: integer bits, one bit after the point, and whether there are ones below.");
        let window = self.window();
        let Placed { value: mut placed, lost: mut more, beyond } = self.place(m, &a, window);
        let mut beyond = m.wire("beyond", beyond);
        pipe.cut(m, [("placed", &mut placed), ("more", &mut more), ("beyond", &mut beyond)]);

        m.comment("Rounded and negated at once, wide enough to be exact.");
        let sign = pipe.now(negative);
        let half = placed.bit(0);
        let fraction = m.wire("fraction", half | more);
        let rest = Remainder { half, more, odd: placed.bit(1) };
        let up = rest.rounds_up(self.rounding, sign);
        let up = m.wire("up", up);
        let width = window + 2;
        let magnitude = placed.slice(1..window + 1).extend(width);
        let complement = magnitude ^ sign.repeat(width);
        let mut integer = m.wire("whole", complement.wrapping_add((sign ^ up).extend(width)));
        let mut fraction = fraction;
        let data = [("whole", &mut integer), ("beyond", &mut beyond)];
        pipe.cut(m, data.into_iter().chain(self.flags.then_some(("fraction", &mut fraction))));

        m.comment("Into the range.");
        let (negative, nan) = (pipe.now(negative), pipe.now(nan));
        let outside = m.wire("outside", beyond | self.outside(integer));
        let limit = if self.signed {
            cat(&[negative, (!negative).repeat(self.width - 1)])
        } else {
            (!negative).repeat(self.width)
        };
        let kept = if width >= self.width {
            integer.slice(0..self.width)
        } else {
            cat(&[integer.msb().repeat(self.width - width), integer])
        };
        let zero = uint(self.width).lit(0);
        let result = m.wire("result", select(&[(nan, zero), (outside, limit)], kept));
        m.connect(io.result_o, if self.signed { result.as_sint() } else { result });
        pipe.raise(m, Exception::Invalid, nan | outside);
        pipe.raise(m, Exception::Inexact, fraction & !pipe.raised(Exception::Invalid));
        // Not read without flags.
        m.unused(fraction);
        io.flags.connect(m, |exception| pipe.raised(exception));
    }

    /// Specials, signs, saturation, and between which powers of two the integer lies.
    fn properties(&self, m: &mut Module, io: &UnaryPorts) {
        let a = Seen::new(m, "a", io.a_i, self.format, self.subnormals);
        let result = m.wire("seen_result", io.result_o.as_uint());
        let width = self.width;
        let bits = width - u32::from(self.signed);
        let ones = uint(width).lit(u64::MAX >> (64 - bits));
        let (greatest, least) = (result.eq(ones), if self.signed { result.eq(1u64 << bits) } else { result.eq(0) });
        m.assert_always("nan_is_zero", implies(a.nan, result.eq(0)));
        m.assert_always("zero_is_zero", implies(a.zero, result.eq(0)));
        m.assert_always("infinity_is_the_end", implies(a.infinite, mux(a.sign, least, greatest)));
        let negative = if self.signed { result.msb() } else { bit().lit(0) };
        m.assert_always("sign", implies(!a.nan & result.any(), !(negative ^ a.sign)));
        let magnitude = m.wire("seen_magnitude", mux(negative, uint(width).lit(0).wrapping_sub(result), result));
        if let (Some(invalid), Some(inexact)) = (io.flags.invalid_o, io.flags.inexact_o) {
            m.assert_always("invalid_ends", implies(invalid, a.nan | greatest | least));
            m.assert_always("specials_are_invalid", implies(a.nan | a.infinite, invalid));
            m.assert_always("invalid_is_not_inexact", !(invalid & inexact));
            m.cover("out_of_range", invalid & !(a.nan | a.infinite));
        }
        // From one power of two to the next; after the last one there is only the end of the range.
        let counts = if self.signed { !a.nan } else { !a.nan & !a.sign };
        for k in 0..bits.min(self.format.bias() + 1) {
            let (low, high) = (Seen::power(self.format, k.into()), Seen::power(self.format, i64::from(k) + 1));
            let here = counts & a.magnitude.ge(low) & a.magnitude.lt(high);
            // The next power is the least integer of two's complement, or one more than the greatest.
            let fits = if k + 1 < bits { magnitude.le(1u64 << (k + 1)) } else { bit().lit(1) };
            m.assert_always(&format!("above_2_to_the_{k}"), implies(here, magnitude.ge(1u64 << k) & fits));
        }
        if bits <= self.format.bias() {
            let beyond = !a.nan & a.magnitude.gt(Seen::power(self.format, bits.into()));
            m.assert_always("beyond_is_the_end", implies(beyond, mux(a.sign, least, greatest)));
        }
        m.cover("least", least & a.sign & !a.infinite);
    }
}

/// The magnitude as integer bits and one bit after the point.
struct Placed {
    value: Signal,
    /// Ones are below.
    lost: Signal,
    /// The number is too large, or none: the bits mean nothing.
    beyond: Signal,
}

impl FloatToInt {
    /// Integer bits of the magnitude that are computed: all bits that the result or the format has.
    fn window(&self) -> u32 {
        self.width.min(self.format.bias() + 1)
    }

    /// Shifts the significand into `window` integer bits and one bit after the point.
    fn place(&self, m: &mut Module, a: &Operand, window: u32) -> Placed {
        let (e, bias) = (self.format.exponent_bits(), self.format.bias());
        // The leading one of the largest number that fits is in the top integer bit.
        let top = bias + window - 1;
        let width = e + 1;
        let distance = m.wire("distance", uint(width).lit(top).wrapping_sub(a.exponent.extend(width)));
        let beyond = if top < 2 * bias { distance.msb() | a.special } else { a.special };
        let p = self.format.fraction_bits() + 1;
        let padded = a.significand.shl((window + 1).saturating_sub(p));
        let shifted = shift_right(m, "align", padded, distance.slice(0..e), padded.width());
        let value = shifted.value;
        let below = padded.width() - (window + 1);
        if below == 0 {
            return Placed { value, lost: shifted.lost, beyond };
        }
        let lost = m.wire("more", shifted.lost | value.slice(0..below).any());
        Placed { value: m.wire("placed", value.slice(below..below + window + 1)), lost, beyond }
    }

    /// Whether an exact integer is outside of the range.
    fn outside(&self, integer: Signal) -> Signal {
        let width = integer.width();
        let kept = if self.signed { self.width - 1 } else { self.width };
        if !self.signed {
            // Negative, or with bits above.
            return integer.slice(kept.min(width - 1)..width).any();
        }
        if kept >= width {
            return bit().lit(0);
        }
        let above = integer.slice(kept..width);
        above.any() & !above.all()
    }
}

impl CatalogBlock for FloatToInt {
    fn configurations() -> Vec<Self> {
        use RoundingDirection::{Down, NearestAway, NearestEven, TowardZero, Up};
        let set = |format, width, signed, rounding, stages| Self {
            format,
            width,
            signed,
            rounding,
            stages,
            subnormals: Subnormals::Ieee,
            flags: true,
        };
        vec![
            set(FloatFormat::E3m2, 2, true, Up, 1),
            set(FloatFormat::Fp16, 1, false, NearestEven, 0),
            set(FloatFormat::Fp16, 8, true, Down, 2),
            Self { subnormals: Subnormals::Flush, ..set(FloatFormat::Fp16, 8, false, Up, 0) },
            set(FloatFormat::Fp16, 32, true, TowardZero, 0),
            set(FloatFormat::Bf16, 16, true, NearestAway, 1),
            set(FloatFormat::Bf16, 8, false, NearestEven, 0),
            set(FloatFormat::Fp32, 64, true, Down, 0),
            set(FloatFormat::Fp32, 8, true, NearestEven, 2),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |format, width, signed, rounding| {
            proof(Self { width, signed, rounding, format, flags: true, ..Self::default() })
        };
        use RoundingDirection::{Down, NearestEven};
        vec![prove(FloatFormat::Fp16, 8, true, NearestEven), prove(FloatFormat::Bf16, 16, false, Down)]
    }
}
