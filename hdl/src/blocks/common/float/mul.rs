//! Floating-point multiplication.
//!
//! The significands are multiplied as they are, with the leading zeros of subnormal numbers. Meanwhile the shift is
//! computed from the exponents and from the position of the leading one of the subnormal operand. One shift brings the
//! product into place: to the left up to its leading one, or as far as the smallest exponent allows, which may be to
//! the right. (Two subnormal operands need no special case: their product lies below all numbers, or its exponent alone
//! gives the shift.)

use super::exceptions::Exception;
use super::format::{FloatFormat, RoundingDirection, Subnormals};
use super::parts::Parts;
use super::ranks::{Carried, Ranks};
use super::round::{Operand, Remainder, TooLarge, Unrounded};
use super::seen::{Seen, implies};
use super::shape::Shape;
use super::shift::{leading_one, shift_right};
use super::unit::{BinaryPorts, FloatUnit, proof};
use crate::lang::{About, CatalogBlock, Module, Proof, Signal, cat, mux, parameters, uint};

parameters! {
    /// Elaboration parameters.
    pub struct FloatMul {
        /// Format of operands and result.
        format: FloatFormat = FloatFormat::Fp16, tag "";
        /// Ranks of registers inside, the latency in cycles; 0 is combinational.
        stages: u32 = 0, in 0..=FloatMul::MOST_STAGES, tag "s";
        /// Subnormal numbers, or zeros instead.
        subnormals: Subnormals = Subnormals::Ieee, tag "";
        /// How a product is rounded that is no number of the format.
        rounding: RoundingDirection = RoundingDirection::NearestEven;
        /// Outputs for IEEE 754's exceptions.
        flags: bool = false, tag "flags";
    }
}

/// Levels of the parts between the places where registers may stand, about: multiply by parts, add them, add these, shift,
/// round.
const DEPTHS: &[u32] = &[17, 14, 14, 11, 14];

impl FloatUnit for FloatMul {
    type Ports = BinaryPorts;
    const ABOUT: About = About {
        name: "float_mul",
        summary: "floating-point multiplication",
        contract: "result_o = a_i * b_i of `stages` cycles ago, rounded as `rounding` says, by default to nearest,\n\
            ties to even.\n\
            A result that is too large is an infinity, or the largest number where the direction is towards\n\
            zero. Every NaN is the canonical quiet one.",
        reference: "IEEE 754-2019, sections 4.3 and 5.4.1",
    };

    fn shape(&self) -> Shape {
        Shape::new(self.format, self.stages, DEPTHS).raising(self.flags, Exception::WHEN_ROUNDED)
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &BinaryPorts) {
        let format = self.format;
        let a = Operand::new(m, "a", io.a_i, format, self.subnormals);
        let b = Operand::new(m, "b", io.b_i, format, self.subnormals);

        m.comment("Infinities and NaNs.");
        let sign = pipe.keep(m, "sign", io.a_i.msb() ^ io.b_i.msb());
        let (a_zero, b_zero) = (m.wire("a_zero", a.zero), m.wire("b_zero", b.zero));
        let undefined = m.wire("undefined", (a.special & b_zero) | (b.special & a_zero));
        let nan = pipe.keep(m, "nan", a.nan | b.nan | undefined);
        let special = pipe.keep(m, "special", a.special | b.special);
        let invalid = a.signalling | b.signalling | (undefined & !a.nan & !b.nan);
        pipe.raise(m, Exception::Invalid, invalid);

        let rounding = match self.subnormals {
            Subnormals::Ieee => self.gradual(m, pipe, sign, [&a, &b]),
            Subnormals::Flush => self.abrupt(m, pipe, sign, [(&a, a_zero), (&b, b_zero)]),
        };
        let unrounded = Unrounded {
            sign: pipe.now(sign),
            exponent: m.wire("exponent", rounding.exponent),
            fraction: rounding.fraction,
            up: m.wire("up", rounding.up),
            inexact: rounding.inexact,
            special: pipe.now(special),
            nan: pipe.now(nan),
            too_large: TooLarge::rounded(self.rounding, pipe.now(sign)),
        };
        unrounded.finish(m, pipe, (format, self.subnormals), (io.result_o, &io.flags));
    }

    /// Specials and signs; where the multiplier is small, how large the result is.
    fn properties(&self, m: &mut Module, io: &BinaryPorts) {
        let seen = [("a", io.a_i), ("b", io.b_i), ("result", io.result_o)];
        let [a, b, result] = Seen::all(m, seen, self.format, self.subnormals);
        let sign = m.wire("seen_sign", a.sign ^ b.sign);
        let meets = (a.infinite & b.zero) | (b.infinite & a.zero);
        let undefined = m.wire("seen_undefined", a.nan | b.nan | meets);
        result.is_nan_where(m, undefined);
        m.assert_always("sign_of_product", undefined | result.has_sign(sign));
        let infinite = a.infinite | b.infinite;
        m.assert_always("infinite_factor", implies(!undefined & infinite, result.is_infinity(sign)));
        let zero = a.zero | b.zero;
        m.assert_always("zero_factor", implies(!undefined & zero, result.is_zero(sign)));
        let numbers = m.wire("seen_numbers", !(undefined | infinite | zero));
        let one = Seen::power(self.format, 0);
        let as_it_was = result.magnitude.eq(b.magnitude);
        m.assert_always("one_changes_nothing", implies(numbers & a.magnitude.eq(one), as_it_was));
        result.is_flushed(m);
        // A solver finishes this comparison only for products of few bits.
        if self.format.fraction_bits() <= 3 {
            let small = a.magnitude.le(one);
            m.assert_always("less_by_a_fraction", implies(numbers & small, result.magnitude.le(b.magnitude)));
            let large = a.magnitude.ge(one);
            m.assert_always("more_by_more_than_one", implies(numbers & large, result.magnitude.ge(b.magnitude)));
        }
        m.cover("too_large", numbers & result.infinite);
        m.cover("vanishes", numbers & !result.magnitude.any());
    }
}

/// A finite product before it is rounded.
struct Rounding {
    fraction: Signal,
    exponent: Signal,
    up: Signal,
    inexact: Signal,
}

impl FloatMul {
    /// With subnormal numbers: one shift, to the left or to the right.
    fn gradual(&self, m: &mut Module, pipe: &mut Ranks, sign: Carried, [a, b]: [&Operand; 2]) -> Rounding {
        let (e, f) = (self.format.exponent_bits(), self.format.fraction_bits());
        m.comment("1.x in the product is at `leading` places below the top; its exponent field is `spare` + 1.");
        let mut product = Parts::new(m, pipe, "product", (a.significand, b.significand), 2);
        let subnormal = m.wire("subnormal", mux(a.significand.msb(), b.significand, a.significand));
        let mut leading = leading_one(m, "leading", subnormal);
        let mut exponents = m.wire("exponents", a.exponent + b.exponent);
        product.cut(m, pipe, [("leading", &mut leading), ("exponents", &mut exponents)]);

        let width = e + 2;
        let exponents = exponents.extend(width);
        let bias = i64::from(self.format.bias() + f + 1);
        let negative_bias = uint(width).lit((1i64 << width) - bias);
        let spare = m.wire("spare", exponents.wrapping_add(leading).wrapping_add(negative_bias));
        let below = m.wire("below_normal", spare.msb());
        let limit = m.wire("limit", uint(width).lit(bias).wrapping_sub(exponents));
        let mut shift = m.wire("shift", mux(below, limit, leading.extend(width)));
        let mut exponent = m.wire("base_exponent", (spare & !below.repeat(width)).slice(0..e + 1));
        product.cut(m, pipe, [("shift", &mut shift), ("exponent", &mut exponent)]);
        let mut product = product.whole();
        pipe.cut(m, [("product", &mut product), ("shift", &mut shift), ("exponent", &mut exponent)]);

        m.comment("Into place: 2.x, 1.x or less at the top, and a guard bit.");
        let shifted = shift_right(m, "align", product.shl(1), shift, f + 3);
        let (mut placed, mut lost) = (shifted.value, shifted.lost);
        pipe.cut(m, [("placed", &mut placed), ("lost", &mut lost), ("exponent", &mut exponent)]);

        m.comment("Rounded.");
        let (significand, sticky) = carried_over(m, placed, lost);
        let raised = mux(placed.msb(), exponent.wrapping_add(2), exponent.wrapping_add(1));
        let guard = significand.bit(0);
        let rest = Remainder { half: guard, more: sticky, odd: significand.bit(1) };
        Rounding {
            exponent: raised & significand.msb().repeat(e + 1),
            up: rest.rounds_up(self.rounding, pipe.now(sign)),
            inexact: guard | sticky,
            fraction: significand.slice(1..f + 1),
        }
    }

    /// Without subnormal numbers: a shift by one place at most, for 2.x.
    fn abrupt(&self, m: &mut Module, pipe: &mut Ranks, sign: Carried, factors: [(&Operand, Signal); 2]) -> Rounding {
        let (e, f) = (self.format.exponent_bits(), self.format.fraction_bits());
        let [(a, a_zero), (b, b_zero)] = factors;
        let zero = pipe.keep(m, "zero", a_zero | b_zero);
        let mut product = Parts::new(m, pipe, "product", (a.significand, b.significand), 2);
        let width = e + 2;
        let negative_bias = uint(width).lit((1i64 << width) - i64::from(self.format.bias()));
        let sum = (a.exponent + b.exponent).extend(width).wrapping_add(negative_bias);
        let mut exponent = m.wire("base_exponent", sum);
        for _ in 0..2 {
            product.cut(m, pipe, [("exponent", &mut exponent)]);
        }
        let mut product = product.whole();
        pipe.cut(m, [("product", &mut product), ("exponent", &mut exponent)]);
        let placed = m.wire("placed", product.slice(f - 1..2 * f + 2));
        let lost = m.wire("lost", product.slice(0..f - 1).any());
        let (mut significand, mut sticky) = carried_over(m, placed, lost);
        let mut raised = m.wire("raised", mux(placed.msb(), exponent.wrapping_add(1), exponent));
        let mut just_below = m.wire("just_below", !(raised.any() | pipe.now(zero)));
        let data = [
            ("significand", &mut significand),
            ("sticky", &mut sticky),
            ("exponent", &mut raised),
            ("just_below", &mut just_below),
        ];
        pipe.cut(m, data);

        m.comment("Rounded. Below the smallest normal number only the last value can be rounded up to it.");
        let zero = pipe.now(zero);
        let tiny = m.wire("tiny", just_below | raised.msb() | zero);
        let guard = significand.bit(0);
        let (below, negative) = (m.wire("below", guard | sticky), pipe.now(sign));
        // Some directions do not read it, unless there are flags.
        m.unused(below);
        let rest = Remainder { half: guard, more: sticky, odd: significand.bit(1) };
        // A subnormal number has one place less: that place is half a unit there. Together with it, only all ones can
        // be rounded up to the smallest normal number.
        let last = Remainder { half: significand.bit(1), more: below, odd: significand.bit(2) };
        let ones = significand.slice(2..f + 1).all();
        let up = mux(
            tiny,
            just_below & ones & last.rounds_up(self.rounding, negative),
            rest.rounds_up(self.rounding, negative),
        );
        let up = m.wire("up_at_all", up);
        Rounding {
            exponent: raised.slice(0..e + 1) & !tiny.repeat(e + 1),
            fraction: cat(&[significand.slice(2..f + 1), significand.bit(1) | (tiny & up)]),
            up,
            inexact: mux(tiny, !zero, below),
        }
    }

    /// Most ranks of registers.
    pub(super) const MOST_STAGES: u32 = DEPTHS.len() as u32 - 1;
}

/// 2.x or 1.x with guard bit as 1.x with guard bit, and whether ones are below.
fn carried_over(m: &mut Module, placed: Signal, lost: Signal) -> (Signal, Signal) {
    let (two, width) = (placed.msb(), placed.width());
    let significand = m.wire("significand", mux(two, placed.slice(1..width), placed.slice(0..width - 1)));
    let sticky = m.wire("sticky", lost | (two & placed.bit(0)));
    // Not read with rounding towards zero and without flags.
    m.unused(sticky);
    (significand, sticky)
}

impl CatalogBlock for FloatMul {
    fn configurations() -> Vec<Self> {
        use RoundingDirection::{Down, NearestAway, TowardZero, Up};
        let set = |format, stages, subnormals| Self { format, stages, subnormals, flags: true, ..Self::default() };
        let directed = |rounding, format, stages, subnormals| Self { rounding, ..set(format, stages, subnormals) };
        vec![
            set(FloatFormat::E3m2, 0, Subnormals::Ieee),
            set(FloatFormat::E5m2, 2, Subnormals::Flush),
            set(FloatFormat::Fp16, 1, Subnormals::Flush),
            set(FloatFormat::Bf16, 1, Subnormals::Ieee),
            set(FloatFormat::Fp16, 4, Subnormals::Ieee),
            set(FloatFormat::Fp32, 3, Subnormals::Ieee),
            directed(TowardZero, FloatFormat::Fp16, 0, Subnormals::Ieee),
            directed(Down, FloatFormat::Fp16, 4, Subnormals::Flush),
            directed(Up, FloatFormat::E5m2, 0, Subnormals::Ieee),
            directed(NearestAway, FloatFormat::E3m2, 1, Subnormals::Flush),
            Self { flags: false, ..directed(TowardZero, FloatFormat::E3m2, 0, Subnormals::Ieee) },
            Self { flags: false, ..directed(Up, FloatFormat::E3m2, 4, Subnormals::Flush) },
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove =
            |format, rounding, subnormals| proof(Self { format, stages: 0, subnormals, rounding, flags: false });
        use RoundingDirection::{NearestEven, Up};
        vec![
            prove(FloatFormat::Fp16, NearestEven, Subnormals::Ieee),
            prove(FloatFormat::Fp16, NearestEven, Subnormals::Flush),
            prove(FloatFormat::E5m2, Up, Subnormals::Ieee),
        ]
    }
}
