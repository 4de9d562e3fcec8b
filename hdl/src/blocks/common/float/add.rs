//! Floating-point addition and subtraction.
//!
//! There is one path. The operands are swapped so that the larger magnitude stays in place, and the smaller one is
//! aligned to it. Then the sum is normalised and rounded. Two bits beyond the significand and a sticky bit are enough:
//! where more than one bit was shifted out, the operands were so far apart that the difference loses at most one
//! leading bit.

use super::exceptions::{Exception, Exceptions, FloatFlags};
use super::format::{FloatFormat, Subnormals};
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded, scale};
use super::seen::{Seen, implies};
use super::shape::Shape;
use super::shift::{normalise, shift_right_into};
use super::unit::{FloatUnit, Handshake, Valid, proof};
use crate::lang::{
    About, CatalogBlock, Group, In, InOption, Module, Out, Proof, bit, cat, mux, parameters, ports, uint,
};

parameters! {
    /// Elaboration parameters.
    pub struct FloatAdd {
        /// Format of operands and result.
        format: FloatFormat = FloatFormat::Fp16, tag "";
        /// Ranks of registers inside, the latency in cycles; 0 is combinational.
        stages: u32 = 0, in 0..=FloatAdd::MOST_STAGES, tag "s";
        /// Subnormal numbers, or zeros instead.
        subnormals: Subnormals = Subnormals::Ieee, tag "";
        /// An input that chooses a - b.
        subtract: bool = false, tag "sub";
        /// Outputs for IEEE 754's exceptions.
        flags: bool = false, tag "flags";
    }
}

ports! {
    /// Ports of [`FloatAdd`].
    pub struct FloatAddPorts(p: &FloatAdd) {
        /// The operands are valid: one result for each such cycle.
        valid_i: In = bit(),
        /// First operand.
        a_i: In = p.format.ty(),
        /// Second operand.
        b_i: In = p.format.ty(),
        /// The result is a - b instead of a + b.
        subtract_i: InOption = bit().when(p.subtract),
        /// The outputs are valid: they belong to the operands of `stages` cycles ago. Low after reset, which may come at any
        /// time and drops the operations inside.
        valid_o: Out = bit(),
        /// a + b.
        result_o: Out = p.format.ty(),
        /// What happened on the way.
        flags: Group<FloatFlags, Exceptions> = p.shape().raises,
    }
}

impl Handshake for FloatAddPorts {
    fn valid(&self) -> Valid {
        Valid { input: self.valid_i, output: self.valid_o }
    }
}

/// Levels of the parts between the places where registers may stand, about: swap, align, add, normalise, round.
const DEPTHS: &[u32] = &[17, 16, 17, 18, 16];

impl FloatUnit for FloatAdd {
    type Ports = FloatAddPorts;
    const ABOUT: About = About {
        name: "float_add",
        summary: "floating-point addition and subtraction",
        contract: "result_o = a_i + b_i (a_i - b_i where subtract_i is high) of `stages` cycles ago, rounded to nearest, ties to even;\n\
            every NaN is the canonical quiet one.",
        reference: "IEEE 754-2019, section 5.4.1",
    };

    fn shape(&self) -> Shape {
        Shape::new(self.format, self.stages, DEPTHS).raising(self.flags, Exception::WHEN_ROUNDED)
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &FloatAddPorts) {
        let format = self.format;
        let (f, w) = (format.fraction_bits(), format.width());

        m.comment("The larger magnitude is `big`.");
        let b_sign = io.subtract_i.map_or(io.b_i.msb(), |subtract| io.b_i.msb() ^ subtract);
        let (a, b) = (io.a_i.slice(0..w - 1), io.b_i.slice(0..w - 1));
        let swap = m.wire("swap", a.lt(b));
        let sign = m.wire("sign", mux(swap, b_sign, io.a_i.msb()));
        let subtract = m.wire("subtract", io.a_i.msb() ^ b_sign);
        let (sign, subtract) = (pipe.carry("sign", sign), pipe.carry("subtract", subtract));
        let mut big = m.wire("big_bits", mux(swap, b, a));
        let mut small = m.wire("small_bits", mux(swap, a, b));
        // Both differences, since the comparison takes as long.
        let a_exponent = m.wire("a_exponent", scale(a.slice(f..w - 1)));
        let b_exponent = m.wire("b_exponent", scale(b.slice(f..w - 1)));
        let (up, down) = (b_exponent.wrapping_sub(a_exponent), a_exponent.wrapping_sub(b_exponent));
        let mut distance = m.wire("distance", mux(swap, up, down));
        pipe.cut(m, [("big", &mut big), ("small", &mut small), ("distance", &mut distance)]);

        m.comment("The other one is aligned to it, with two more bits and a sticky one.");
        let large = Operand::new(m, "big", big, format, self.subnormals);
        let little = Operand::new(m, "small", small, format, self.subnormals);
        // A NaN is larger than all else, and infinities differ where one is subtracted from the other.
        let undefined = m.wire("undefined", large.special & little.special & pipe.now(subtract));
        let nan = pipe.keep(m, "nan", large.nan | undefined);
        let special = pipe.carry("special", large.special);
        let invalid = large.signalling | little.signalling | (undefined & !large.nan);
        pipe.raise(m, Exception::Invalid, invalid);
        let aligned = shift_right_into(m, "align", little.significand, distance, f + 3);
        let (mut augend, mut exponent) = (large.significand, m.wire("big_exponent", large.exponent));
        let mut addend = cat(&[aligned.value, aligned.lost]);
        pipe.cut(m, [("augend", &mut augend), ("addend", &mut addend), ("exponent", &mut exponent)]);

        m.comment("The lowest column is a carry in: a difference is the sum with the complement, plus one.");
        let minus = pipe.now(subtract);
        let left = cat(&[bit().lit(0), augend, uint(3).lit(0), bit().lit(1)]);
        let right = cat(&[minus, addend ^ minus.repeat(f + 4), minus]);
        let mut sum = m.wire("total", left.wrapping_add(right)).slice(1..f + 6);
        pipe.cut(m, [("sum", &mut sum), ("exponent", &mut exponent)]);

        m.comment("Normalised, but not below the smallest exponent.");
        let normal = normalise(m, "normal", sum, Some(exponent), f + 2, bit().lit(0));
        let mut places = m.wire("places", normal.count);
        let mut significand = m.wire("significand", normal.value);
        let mut sticky = m.wire("sticky", normal.any_below);
        let data = [
            ("significand", &mut significand),
            ("sticky", &mut sticky),
            ("exponent", &mut exponent),
            ("places", &mut places),
        ];
        pipe.cut(m, data);

        m.comment("Rounded. A difference of zero is positive.");
        let exponent = m.wire("normal_exponent", exponent.wrapping_add(1).wrapping_sub(places));
        let guard = significand.bit(0);
        let vanished = m.wire("vanished", !significand.any() & pipe.now(subtract));
        let unrounded = Unrounded {
            sign: pipe.now(sign) & !vanished,
            exponent: exponent & significand.msb().repeat(exponent.width()),
            fraction: significand.slice(1..f + 1),
            up: m.wire("up", guard & (significand.bit(1) | sticky)),
            inexact: guard | sticky,
            special: pipe.now(special),
            nan: pipe.now(nan),
            too_large: TooLarge::Infinity,
        };
        unrounded.finish(m, pipe, (format, self.subnormals), (io.result_o, &io.flags));
    }

    /// Specials, signs, and between which numbers the result lies.
    fn properties(&self, m: &mut Module, io: &FloatAddPorts) {
        let seen = [("a", io.a_i), ("b", io.b_i), ("result", io.result_o)];
        let [a, b, result] = Seen::all(m, seen, self.format, self.subnormals);
        let b_sign = m.wire("seen_b_sign", io.subtract_i.map_or(b.sign, |subtract| b.sign ^ subtract));
        let differ = m.wire("seen_differ", a.sign ^ b_sign);
        let undefined = m.wire("seen_undefined", a.nan | b.nan | (a.infinite & b.infinite & differ));
        result.is_nan_where(m, undefined);
        m.assert_always("infinite_augend", implies(!undefined & a.infinite, result.is_infinity(a.sign)));
        m.assert_always("infinite_addend", implies(!undefined & b.infinite, result.is_infinity(b_sign)));
        let both_zero = m.wire("seen_zeros", a.zero & b.zero);
        m.assert_always("zeros", implies(both_zero, result.is_zero(a.sign & b_sign)));
        let alone = !undefined & !both_zero;
        m.assert_always("augend_alone", implies(alone & b.zero, result.bits.eq(a.bits)));
        m.assert_always("addend_alone", implies(alone & a.zero, result.is(b_sign, b.magnitude)));
        let larger = m.wire("seen_larger", a.magnitude.gt(b.magnitude));
        let same = m.wire("seen_same", a.magnitude.eq(b.magnitude));
        let numbers = m.wire("seen_numbers", !(undefined | both_zero | a.infinite | b.infinite));
        m.assert_always("cancelled", implies(numbers & same & differ, result.is_zero(bit().lit(0))));
        let sign = mux(larger, a.sign, b_sign);
        m.assert_always("sign_of_the_larger", implies(numbers & !(same & differ), result.has_sign(sign)));
        let most = m.wire("seen_most", mux(larger, a.magnitude, b.magnitude));
        m.assert_always("sum_is_larger", implies(numbers & !differ, result.magnitude.ge(most)));
        m.assert_always("difference_is_smaller", implies(numbers & differ, result.magnitude.le(most)));
        result.is_flushed(m);
        m.cover("too_large", numbers & result.infinite);
        m.cover(
            "cancelled_to_the_last_place",
            numbers & differ & result.magnitude.eq(1u64 << self.format.fraction_bits()),
        );
    }
}

impl FloatAdd {
    /// Most ranks of registers.
    pub(super) const MOST_STAGES: u32 = DEPTHS.len() as u32 - 1;
}

impl CatalogBlock for FloatAdd {
    fn configurations() -> Vec<Self> {
        let set = |format, stages, subnormals, subtract| Self { format, stages, subnormals, subtract, flags: true };
        vec![
            set(FloatFormat::E3m2, 0, Subnormals::Ieee, true),
            set(FloatFormat::E5m2, 4, Subnormals::Flush, true),
            set(FloatFormat::Fp16, 1, Subnormals::Flush, false),
            set(FloatFormat::Bf16, 2, Subnormals::Ieee, true),
            set(FloatFormat::Fp32, 3, Subnormals::Ieee, true),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove =
            |format, subnormals, subtract| proof(Self { format, stages: 0, subnormals, subtract, flags: false });
        vec![prove(FloatFormat::Fp16, Subnormals::Ieee, true), prove(FloatFormat::Bf16, Subnormals::Flush, false)]
    }
}
