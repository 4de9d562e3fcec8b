//! Conversion between floating-point formats.
//!
//! Into a wider exponent, subnormal numbers become normal ones: they are normalised. Into a narrower one, numbers become
//! subnormal ones: they are shifted to the right. With equal exponents there is nothing to shift.

use std::cmp::Ordering;

use super::exceptions::Exception;
use super::format::{FloatFormat, RoundingDirection, Subnormals};
use super::ranks::Ranks;
use super::round::{Operand, Remainder, TooLarge, Unrounded};
use super::seen::{Seen, implies};
use super::shape::Shape;
use super::shift::{normalise, shift_right};
use super::unit::{FloatUnit, UnaryPorts, proof};
use crate::lang::{About, CatalogBlock, Module, Proof, Signal, bit, cat, mux, parameters, uint};

parameters! {
    /// Elaboration parameters.
    pub struct FloatConvert {
        /// Format of the operand.
        from: FloatFormat = FloatFormat::Fp32, tag "";
        /// Format of the result.
        to: FloatFormat = FloatFormat::Fp16, tag "";
        /// Ranks of registers inside, the latency in cycles; 0 is combinational.
        stages: u32 = 0, in 0..=DEPTHS.len() as u32 - 1, tag "s";
        /// Subnormal numbers, or zeros instead.
        subnormals: Subnormals = Subnormals::Ieee, tag "";
        /// How a number is rounded that the target does not have.
        rounding: RoundingDirection = RoundingDirection::NearestEven;
        /// Outputs for IEEE 754's exceptions.
        flags: bool = false, tag "flags";
    }
}

/// Levels of the parts between the places where registers may stand, about: how far to shift, shift, round.
const DEPTHS: &[u32] = &[16, 17, 12];

/// A significand of the target's width with a guard bit, its exponent field, and whether there are ones below.
struct Placed {
    significand: Signal,
    exponent: Signal,
    lost: Option<Signal>,
}

impl FloatUnit for FloatConvert {
    type Ports = UnaryPorts;
    const ABOUT: About = About {
        name: "float_convert",
        summary: "conversion between floating-point formats",
        contract: "result_o = a_i of `stages` cycles ago in format `to`, rounded as `rounding` says, by default to\n\
            nearest, ties to even. Every NaN is the canonical quiet one.",
        reference: "IEEE 754-2019, sections 4.3 and 5.4.2",
    };

    fn shape(&self) -> Shape {
        let shape = Shape { result: self.to.ty(), ..Shape::new(self.from, self.stages, DEPTHS) };
        shape.raising(self.flags, Exception::WHEN_ROUNDED)
    }

    fn compute(&self, m: &mut Module, pipe: &mut Ranks, io: &UnaryPorts) {
        let f = self.to.fraction_bits();
        let sign = pipe.keep(m, "sign", io.a_i.msb());
        let a = Operand::new(m, "a", io.a_i, self.from, self.subnormals);
        let nan = pipe.keep(m, "nan", a.nan);
        let special = pipe.carry("special", a.special);
        pipe.raise(m, Exception::Invalid, a.signalling);
        let (exponent, significand) = (m.wire("a_exponent", a.exponent), a.significand);
        let mut placed = match self.to.exponent_bits().cmp(&self.from.exponent_bits()) {
            Ordering::Greater => self.normalised(m, pipe, exponent, significand),
            Ordering::Equal => self.in_place(m, pipe, exponent, significand),
            Ordering::Less => self.lowered(m, pipe, exponent, significand),
        };
        let is_exact = placed.lost.is_none();
        if matches!(self.rounding, RoundingDirection::TowardZero | RoundingDirection::NearestAway) && !self.flags {
            // The guard bit alone decides.
            placed.lost.take().into_iter().for_each(|lost| m.unused(lost));
        }
        let data = [("significand", &mut placed.significand), ("exponent", &mut placed.exponent)];
        pipe.cut(m, data.into_iter().chain(placed.lost.as_mut().map(|lost| ("lost", lost))));

        m.comment("Rounded.");
        let guard = placed.significand.bit(0);
        let zero = bit().lit(0);
        let (up, inexact) = if is_exact {
            // The guard bit is always 0 then.
            (zero, zero)
        } else {
            let more = placed.lost.unwrap_or(zero);
            let rest = Remainder { half: guard, more, odd: placed.significand.bit(1) };
            (rest.rounds_up(self.rounding, pipe.now(sign)), guard | more)
        };
        if is_exact || (self.rounding == RoundingDirection::TowardZero && !self.flags) {
            m.unused(guard);
        }
        let unrounded = Unrounded {
            sign: pipe.now(sign),
            exponent: placed.exponent & placed.significand.msb().repeat(placed.exponent.width()),
            fraction: placed.significand.slice(1..f + 1),
            up,
            inexact,
            special: pipe.now(special),
            nan: pipe.now(nan),
            too_large: TooLarge::rounded(self.rounding, pipe.now(sign)),
        };
        unrounded.finish(m, pipe, (self.to, self.subnormals), (io.result_o, &io.flags));
    }

    /// Specials and signs, and between which numbers of the target the result lies.
    fn properties(&self, m: &mut Module, io: &UnaryPorts) {
        let (from, to) = (self.from, self.to);
        let a = Seen::new(m, "a", io.a_i, from, self.subnormals);
        let result = Seen::new(m, "result", io.result_o, to, self.subnormals);
        result.is_nan_where(m, a.nan);
        m.assert_always("sign_stays", a.nan | result.has_sign(a.sign));
        m.assert_always("infinity_stays", implies(a.infinite, result.infinite));
        m.assert_always("zero_stays", implies(a.zero, !result.magnitude.any()));
        // A number is written in the target's exponents, with a fraction of both widths: no less than the result's
        // neighbour below, no more than its neighbour above.
        let (f, g) = (from.fraction_bits(), to.fraction_bits());
        let width = from.exponent_bits().max(to.exponent_bits()) + 2 + f.max(g);
        let normal = m.wire("seen_normal", !(a.nan | a.infinite | a.zero | a.subnormal));
        let wide = |magnitude: Signal, fraction: u32| magnitude.shl(f.max(g) - fraction).extend(width);
        let offset = i64::from(to.bias()) - i64::from(from.bias());
        let offset = uint(width).lit((offset << f.max(g)).rem_euclid(1 << width));
        let exact = m.wire("seen_exact", wide(a.magnitude, f).wrapping_add(offset));
        let place = m.wire("seen_place", wide(result.magnitude, g));
        let infinity = ((1u64 << to.exponent_bits()) - 1) << g;
        let above = m.wire("seen_above", normal & !exact.msb() & exact.ge(infinity << (f.max(g) - g)));
        let inside = !above & !result.infinite & !exact.msb() & exact.ge(1u64 << f.max(g));
        let inside = m.wire("seen_inside", normal & inside);
        let unit = 1u64 << (f.max(g) - g);
        // How far above and below the exact number the result may be, in magnitude, and whether less than that.
        let within = |up: u64, down: u64| place.le(exact.wrapping_add(up)) & exact.le(place.wrapping_add(down));
        let (cut, raised) = (within(0, unit - 1), within(unit - 1, 0));
        let near = match self.rounding {
            RoundingDirection::NearestEven | RoundingDirection::NearestAway => within(unit / 2, unit / 2),
            RoundingDirection::TowardZero => cut,
            RoundingDirection::Down => mux(a.sign, raised, cut),
            RoundingDirection::Up => mux(a.sign, cut, raised),
        };
        m.assert_always("neighbour_of_normal_numbers", implies(inside, near));
        let largest = result.magnitude.eq(infinity - 1);
        let too_large = match self.rounding {
            RoundingDirection::NearestEven | RoundingDirection::NearestAway => result.infinite,
            RoundingDirection::TowardZero => largest,
            RoundingDirection::Down => mux(a.sign, result.infinite, largest),
            RoundingDirection::Up => mux(a.sign, largest, result.infinite),
        };
        m.assert_always("what_is_too_large", implies(above, too_large));
        if to.exponent_bits() >= from.exponent_bits() && g >= f {
            m.assert_always("a_wider_format_holds_all", implies(normal, place.eq(exact)));
        } else if g < f {
            m.cover("is_rounded", inside & place.ne(exact));
        }
        if to.exponent_bits() < from.exponent_bits() {
            m.cover("too_large", normal & result.infinite);
            m.cover("vanishes", normal & !result.magnitude.any());
        }
        m.cover("a_number", cat(&[inside, result.sign]).all());
    }
}

impl FloatConvert {
    /// `significand` in the width of the target with its guard bit, and whether ones are below.
    fn fit(&self, significand: Signal) -> (Signal, Option<Signal>) {
        let (width, wanted) = (significand.width(), self.to.fraction_bits() + 2);
        match width.cmp(&wanted) {
            Ordering::Less => (significand.shl(wanted - width), None),
            Ordering::Equal => (significand, Some(bit().lit(0))),
            Ordering::Greater => {
                (significand.slice(width - wanted..width), Some(significand.slice(0..width - wanted).any()))
            }
        }
    }

    /// Same exponent: subnormal numbers stay what they are.
    fn in_place(&self, m: &mut Module, pipe: &mut Ranks, mut exponent: Signal, mut significand: Signal) -> Placed {
        pipe.cut(m, [("significand", &mut significand), ("exponent", &mut exponent)]);
        let (significand, lost) = self.fit(significand);
        let lost = lost.map(|lost| m.wire("lost", lost));
        Placed { significand: m.wire("placed", significand), exponent: m.wire("exponent", exponent), lost }
    }

    /// Wider exponent: all numbers are normal.
    fn normalised(&self, m: &mut Module, pipe: &mut Ranks, exponent: Signal, significand: Signal) -> Placed {
        m.comment("All numbers are normal in the wider range.");
        let e = self.to.exponent_bits();
        let wanted = self.to.fraction_bits() + 2;
        let width = significand.width();
        let padded = significand.shl(wanted.saturating_sub(width));
        let mut normal = normalise(m, "normal", padded, None, wanted, bit().lit(0));
        let mut raised = m.wire("raised", exponent.extend(e).wrapping_add(self.to.bias() - self.from.bias()));
        let data = [("value", &mut normal.value), ("count", &mut normal.count), ("raised", &mut raised)];
        let any_below = Some(("any_below", &mut normal.any_below)).filter(|_| width >= wanted);
        pipe.cut(m, data.into_iter().chain(any_below));
        let exponent = m.wire("exponent", raised.wrapping_sub(normal.count));
        let lost = (width >= wanted).then(|| m.wire("lost", normal.any_below));
        Placed { significand: normal.value, exponent, lost }
    }

    /// Narrower exponent: some numbers become subnormal, or zero.
    fn lowered(&self, m: &mut Module, pipe: &mut Ranks, exponent: Signal, mut significand: Signal) -> Placed {
        m.comment("Numbers below the narrower range are shifted into it.");
        let e = self.from.exponent_bits();
        let difference = i64::from(self.from.bias() - self.to.bias());
        let distance = m.wire("distance", exponent.extend(e + 1).wrapping_sub(uint(e + 1).lit(difference + 1)));
        let below = m.wire("below_normal", distance.msb());
        let shift = m.wire("shift", !distance.slice(0..e) & below.repeat(e));
        let mut shift = m.wire("amount", shift.extend(e + 1).wrapping_add(below));
        let mut exponent = m.wire("exponent", distance.slice(0..e).wrapping_add(1) & !below.repeat(e));
        let data = [("significand", &mut significand), ("amount", &mut shift), ("exponent", &mut exponent)];
        pipe.cut(m, data);
        let wanted = self.to.fraction_bits() + 2;
        let padded = significand.shl(wanted.saturating_sub(significand.width()));
        let shifted = shift_right(m, "align", padded, shift, padded.width());
        let (significand, lost) = self.fit(shifted.value);
        let lost = m.wire("lost", lost.map_or(shifted.lost, |lost| lost | shifted.lost));
        Placed { significand: m.wire("placed", significand), exponent, lost: Some(lost) }
    }
}

impl CatalogBlock for FloatConvert {
    fn configurations() -> Vec<Self> {
        use FloatFormat::{Bf16, E3m2, E5m2, Fp16, Fp32};
        let rounding = RoundingDirection::NearestEven;
        let set = |from, to, stages, subnormals| Self { from, to, stages, subnormals, rounding, flags: true };
        let other = |rounding, set: Self| Self { rounding, ..set };
        vec![
            other(RoundingDirection::Down, set(Fp32, Fp16, 1, Subnormals::Ieee)),
            other(RoundingDirection::Up, set(Fp16, E5m2, 0, Subnormals::Ieee)),
            other(RoundingDirection::NearestAway, set(Fp32, Bf16, 0, Subnormals::Flush)),
            other(RoundingDirection::TowardZero, set(Bf16, Fp16, 0, Subnormals::Flush)),
            other(RoundingDirection::Down, set(Bf16, Fp32, 0, Subnormals::Ieee)),
            set(E3m2, E3m2, 0, Subnormals::Ieee),
            set(Fp16, Bf16, 0, Subnormals::Ieee),
            set(Fp16, Fp32, 2, Subnormals::Ieee),
            set(Bf16, Fp16, 1, Subnormals::Ieee),
            set(Bf16, Fp32, 0, Subnormals::Flush),
            set(Fp32, Bf16, 1, Subnormals::Ieee),
            set(Fp32, Fp16, 2, Subnormals::Flush),
            set(Bf16, Fp32, 1, Subnormals::Ieee),
            set(Fp16, E5m2, 0, Subnormals::Ieee),
        ]
    }

    fn proofs() -> Vec<Proof<Self>> {
        let prove = |from, to, subnormals| proof(Self { from, to, subnormals, ..Self::default() });
        use FloatFormat::{Bf16, Fp16, Fp32};
        let mut down = prove(Fp32, Fp16, Subnormals::Ieee);
        down.block.rounding = RoundingDirection::Down;
        vec![
            prove(Fp32, Fp16, Subnormals::Ieee),
            prove(Fp16, Fp32, Subnormals::Ieee),
            prove(Fp32, Bf16, Subnormals::Flush),
            down,
        ]
    }
}
