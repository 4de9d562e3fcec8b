//! Floating-point addition and subtraction.
//!
//! There is one path. The operands are swapped so that the larger magnitude stays in place, and the smaller one is
//! aligned to it. Then the sum is normalised and rounded. Two bits beyond the significand and a sticky bit are enough:
//! where more than one bit was shifted out, the operands were so far apart that the difference loses at most one
//! leading bit.

use super::format::{FloatFormat, Subnormals};
use super::ranks::Ranks;
use super::round::{Operand, TooLarge, Unrounded, connect_option, is_signalling, round, scale};
use super::seen::{Seen, implies};
use super::shift::{normalise, shift_right_into};
use crate::lang::{
    About, Block, CatalogBlock, In, InOption, Module, Out, OutOption, Proof, Signal, Timing, bit, cat, mux, parameters,
    ports, uint,
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
        /// The outputs are valid: they belong to the operands of `stages` cycles ago. Low after reset.
        valid_o: Out = bit(),
        /// a + b.
        result_o: Out = p.format.ty(),
        /// IEEE 754's invalid operation, of this result only; present with `flags`.
        invalid_o: OutOption = bit().when(p.flags),
        /// The result is an infinity because it was too large; present with `flags`.
        overflow_o: OutOption = bit().when(p.flags),
        /// The result is inexact, and the exact one is below the smallest normal number in magnitude; present with `flags`.
        underflow_o: OutOption = bit().when(p.flags),
        /// The result is rounded (or flushed); present with `flags`.
        inexact_o: OutOption = bit().when(p.flags),
    }
}

/// Levels of the parts between the places where registers may stand, about: swap, align, add, normalise, round.
const DEPTHS: &[u32] = &[17, 16, 17, 18, 16];

impl Block for FloatAdd {
    type Ports = FloatAddPorts;
    const ABOUT: About = About {
        name: "float_add",
        summary: "floating-point addition and subtraction",
        contract: "result_o = a_i + b_i (a_i - b_i where subtract_i is high) of `stages` cycles ago, rounded to nearest, ties to even;\n\
            every NaN is the canonical quiet one. valid_o is valid_i of `stages` cycles ago;\n\
            a reset may come at any time and drops the operations inside.",
        reference: "IEEE 754-2019, section 5.4.1",
    };

    fn build(&self, m: &mut Module, io: &FloatAddPorts) {
        let format = self.format;
        let (f, w) = (format.fraction_bits(), format.width());
        let mut pipe = Ranks::new(io.valid_i, self.stages, DEPTHS);

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
        pipe.cut(m, &mut [("big", &mut big), ("small", &mut small), ("distance", &mut distance)]);

        m.comment("The other one is aligned to it, with two more bits and a sticky one.");
        let large = Operand::new(m, "big", big, format, self.subnormals);
        let little = Operand::new(m, "small", small, format, self.subnormals);
        // A NaN is larger than all else, and infinities differ where one is subtracted from the other.
        let undefined = m.wire("undefined", large.special & little.special & pipe.now(subtract));
        let nan = pipe.carry("nan", large.nan | undefined);
        let special = pipe.carry("special", large.special);
        let invalid = self.flags.then(|| {
            let signalling = is_signalling(big, format) | is_signalling(small, format);
            pipe.carry("invalid", signalling | (undefined & !large.nan))
        });
        let aligned = shift_right_into(m, "align", little.significand, distance, f + 3);
        let (mut augend, mut exponent) = (large.significand, m.wire("big_exponent", large.exponent));
        let mut addend = cat(&[aligned.value, aligned.lost]);
        pipe.cut(m, &mut [("augend", &mut augend), ("addend", &mut addend), ("exponent", &mut exponent)]);

        m.comment("The lowest column is a carry in: a difference is the sum with the complement, plus one.");
        let minus = pipe.now(subtract);
        let left = cat(&[bit().lit(0), augend, uint(3).lit(0), bit().lit(1)]);
        let right = cat(&[minus, addend ^ minus.repeat(f + 4), minus]);
        let mut sum = m.wire("total", left.wrapping_add(right)).slice(1..f + 6);
        pipe.cut(m, &mut [("sum", &mut sum), ("exponent", &mut exponent)]);

        m.comment("Normalised, but not below the smallest exponent.");
        let normal = normalise(m, "normal", sum, Some(exponent), f + 2, bit().lit(0));
        let mut places = m.wire("places", normal.count);
        let mut significand = m.wire("significand", normal.value);
        let mut sticky = m.wire("sticky", normal.any_below);
        pipe.cut(
            m,
            &mut [
                ("significand", &mut significand),
                ("sticky", &mut sticky),
                ("exponent", &mut exponent),
                ("places", &mut places),
            ],
        );

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
        let result = round(m, &unrounded, format, self.subnormals);
        m.connect(io.result_o, result.bits);
        m.connect(io.valid_o, pipe.valid());
        if let Some(invalid) = invalid {
            connect_option(m, io.invalid_o, pipe.now(invalid));
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

impl FloatAdd {
    /// Most ranks of registers.
    pub(super) const MOST_STAGES: u32 = DEPTHS.len() as u32 - 1;

    /// What is proved (`ifdef FORMAL`): specials, signs, and between which numbers the result lies.
    fn properties(&self, m: &mut Module, io: &FloatAddPorts) {
        m.formal(|m| {
            let mut see = |name: &str, bits: Signal| Seen::new(m, name, bits, self.format, self.subnormals);
            let (a, b, result) = (see("seen_a", io.a_i), see("seen_b", io.b_i), see("seen_result", io.result_o));
            let b_sign = m.wire("seen_b_sign", io.subtract_i.map_or(b.sign, |subtract| b.sign ^ subtract));
            let differ = m.wire("seen_differ", a.sign ^ b_sign);
            let undefined = m.wire("seen_undefined", a.nan | b.nan | (a.infinite & b.infinite & differ));
            m.assert_always("undefined_is_nan", implies(undefined, result.is_quiet()));
            m.assert_always("else_no_nan", undefined | !result.nan);
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
            if self.subnormals == Subnormals::Flush {
                m.assert_always("no_subnormal_result", !result.subnormal);
            }
            m.cover("too_large", numbers & result.infinite);
            m.cover(
                "cancelled_to_the_last_place",
                numbers & differ & result.magnitude.eq(1u64 << self.format.fraction_bits()),
            );
        });
    }
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
        let prove = |format, subnormals, subtract| Proof {
            block: Self { format, stages: 0, subnormals, subtract, flags: false },
            depth: 1,
            cover_depth: 1,
            induction: true,
        };
        vec![prove(FloatFormat::Fp16, Subnormals::Ieee, true), prove(FloatFormat::Bf16, Subnormals::Flush, false)]
    }
}
