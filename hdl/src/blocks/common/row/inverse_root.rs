//! The square root of a quotient of two integers, digit by digit. A norm multiplies its row by it.
//!
//! For normalised a and b, r = sqrt(a / b) lies in 1 to 2 after an even number of places. When r has k digits, the rest
//! a - r^2 b decides the next digit. The rest is kept times 2^k, so that every row subtracts numbers of about the same
//! width: V' = 2 V - R if that is not negative, R = 2 r b + b / 2^(k + 1). R is updated from digit to digit, without a
//! multiplication: it grows by 3 b / 2^(k + 2) or falls by b / 2^(k + 2).

use super::adder::add;
use super::normaliser::{normalise, normalise_latency};
use super::pipe::later;
use crate::lang::{About, Block, CatalogBlock, In, Module, Out, Timing, bit, cat, mux, parameters, ports, sint, uint};

/// Digits of the root.
pub const DIGITS: u32 = 18;
/// Bits of its exponent.
pub const EXPONENT: u32 = 9;
/// Bits of the divisor that count.
const DIVISOR: u32 = 20;

/// Bits of the rest and of the trial R: units are halved with every digit, and both are below 10 times b's leading one.
const STATE: u32 = DIVISOR + 2 + DIGITS;

parameters! {
    /// No parameters.
    pub struct RootDigit {
    }
}

ports! {
    /// Ports of [`RootDigit`].
    pub struct RootDigitPorts(p: &RootDigit) {
        /// The rest V so far.
        rest_i: In = uint(STATE),
        /// The trial R.
        trial_i: In = uint(STATE),
        /// b.
        divisor_i: In = uint(DIVISOR),
        /// 3 b.
        thrice_i: In = uint(DIVISOR + 2),
        /// The next digit.
        digit_o: Out = bit(),
        /// The next rest, in half units.
        rest_o: Out = uint(STATE),
        /// The next R, in half units.
        trial_o: Out = uint(STATE),
    }
}

impl Block for RootDigit {
    type Ports = RootDigitPorts;
    const ABOUT: About = About {
        name: "root_digit",
        summary: "a digit of the square root of a quotient",
        contract: "digit_o = 4 V >= R; rest_o = 4 V - digit_o * R; trial_o = 2 R + 3 b after a 1, 2 R - b after a 0.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &RootDigitPorts) {
        let twice = m.wire("twice", io.rest_i.shl(2));
        let difference = add(m, "less", twice, io.trial_i.extend(STATE + 2), true);
        let difference = m.wire("difference", difference);
        let digit = m.wire("digit", !difference.msb());
        let next = io.trial_i.slice(0..STATE - 1).shl(1);
        let up = add(m, "up", next, io.thrice_i, false);
        let down = add(m, "down", next, io.divisor_i, true);
        m.connect(io.digit_o, digit);
        m.connect(io.rest_o, mux(digit, difference, twice.extend(STATE + 3)).truncate(STATE));
        m.connect(io.trial_o, mux(digit, up, down).truncate(STATE));
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct InverseRoot {
        /// Bits of the numerator.
        numerator_width: u32 = 16, in 1..=20, tag "n";
        /// Bits of the denominator.
        denominator_width: u32 = 96, in 20..=160, tag "d";
        /// The root is multiplied by 2 to the power of this.
        places: u32 = 24, in 0..=64, tag "p";
    }
}

ports! {
    /// Ports of [`InverseRoot`].
    pub struct InverseRootPorts(p: &InverseRoot) {
        /// Numerator, not zero.
        numerator_i: In = uint(p.numerator_width),
        /// Denominator.
        denominator_i: In = uint(p.denominator_width),
        /// 18 digits of the root, the first one 1.
        digits_o: Out = uint(DIGITS),
        /// The root is digits_o * 2^exponent_o.
        exponent_o: Out = sint(EXPONENT),
        /// The denominator is zero, and the other outputs are undefined.
        zero_o: Out = bit(),
    }
}

impl InverseRoot {
    /// Cycles from operands to root.
    #[must_use]
    pub fn latency(&self) -> u32 {
        normalise_latency(self.denominator_width) + 2 + DIGITS - 1
    }
}

impl Block for InverseRoot {
    type Ports = InverseRootPorts;
    const ABOUT: About = About {
        name: "inverse_root",
        summary: "square root of a quotient of integers, 18 digits",
        contract: "digits_o * 2^exponent_o = sqrt(numerator_i / denominator_i) * 2^places of `latency` cycles\n\
            ago. The denominator is truncated to its first 20 bits, the root to 18 digits. The relative error is at\n\
            most 2^-17 downwards and 2^-20 upwards.",
        reference: "Ercegovac and Lang, Digital Arithmetic, chapter 6",
    };

    fn build(&self, m: &mut Module, io: &InverseRootPorts) {
        let (nw, dw) = (self.numerator_width, self.denominator_width);
        let first = normalise_latency(dw);
        let (b, b_count) = normalise(m, "denominator", io.denominator_i);
        let zero = m.wire("zero", !b.msb());
        m.comment("Top bits are 1. Otherwise the root is undefined.");
        let one = bit().lit(1);
        let b = cat(&[one, b.slice(dw - DIVISOR..dw - 1)]);
        let (a, a_count) = if nw == 1 {
            m.unused(io.numerator_i);
            (one, bit().lit(0))
        } else {
            let (a, count) = normalise(m, "numerator", io.numerator_i);
            let spare = first - normalise_latency(nw);
            (cat(&[one, later(m, "a", a.slice(0..nw - 1), spare)]), later(m, "a_count", count, spare))
        };

        m.comment("In 1 to 4, by an even number of places.");
        let a = a.shl(DIVISOR - nw);
        let wide = EXPONENT;
        let offset = i64::from(nw) - i64::from(dw);
        let exponent = b_count
            .extend(wide)
            .wrapping_sub(a_count.extend(wide))
            .wrapping_add(uint(wide).lit(offset.rem_euclid(1 << wide)));
        let exponent = m.wire("exponent", exponent);
        let odd = m.wire("odd", exponent.bit(0));
        let below = m.wire("below", a.lt(b) & !odd);
        let shifted = mux(below, a.shl(2), mux(odd, a.shl(1).extend(DIVISOR + 2), a.extend(DIVISOR + 2)));
        let a = later(m, "shifted", shifted, 1);
        let (exponent, below) = (later(m, "exponent_first", exponent, 1), later(m, "below_first", below, 1));
        let half = exponent.slice(1..wide).as_sint().extend(wide).as_uint();
        let half = half.wrapping_sub(below);
        // The first digit is at 2^0, the last one at 2^-(DIGITS - 1).
        let offset = i64::from(self.places) - i64::from(DIGITS - 1);
        let half = half.wrapping_add(uint(wide).lit(offset.rem_euclid(1 << wide)));
        let b = later(m, "b_shifted", b, 1);
        let exponent = later(m, "half", half, 1);

        m.comment("The first digit is 1; then R is 5/2 b, in half units.");
        let rest = a.wrapping_sub(b.extend(DIVISOR + 2));
        let five = (b.shl(2) + b).truncate(DIVISOR + 3);
        let three = (b.shl(1) + b).truncate(DIVISOR + 2);
        let rows = DIGITS - 1;
        let state = uint(STATE);
        let (v, r) = (m.regs("rest", state, rows), m.regs("trial", state, rows));
        let divisor = m.regs("divisor", uint(DIVISOR), rows);
        let thrice = m.regs("thrice", uint(DIVISOR + 2), rows);
        let digits = m.regs("digits", uint(DIGITS), DIGITS);
        v.next(m, 0, rest.extend(STATE));
        r.next(m, 0, five.extend(STATE));
        divisor.next(m, 0, b);
        thrice.next(m, 0, three);
        digits.next(m, 0, uint(DIGITS).lit(1));

        m.comment("A digit a rank.");
        let (v_next, r_next) = (m.nets("next_rest", state, rows), m.nets("next_trial", state, rows));
        m.for_each("digits", rows, |m, i| {
            let u = m.instance("u_digit", RootDigit {});
            m.connect(u.rest_i, v.q.at(i));
            m.connect(u.trial_i, r.q.at(i));
            m.connect(u.divisor_i, divisor.q.at(i));
            m.connect(u.thrice_i, thrice.q.at(i));
            m.connect(v_next.at(i), u.rest_o);
            m.connect(r_next.at(i), u.trial_o);
            digits.next(m, i + 1, cat(&[digits.q.at(i).slice(0..DIGITS - 1), u.digit_o]));
        });
        m.for_each("ranks", rows - 1, |m, i| {
            v.next(m, i + 1, v_next.at(i));
            r.next(m, i + 1, r_next.at(i));
            divisor.next(m, i + 1, divisor.q.at(i));
            thrice.next(m, i + 1, thrice.q.at(i));
        });
        let digits = digits.q.at(DIGITS - 1);
        m.connect(io.digits_o, digits);
        let exponent = later(m, "exponent_late", exponent, DIGITS - 1);
        m.connect(io.exponent_o, exponent.as_sint());
        let zero = later(m, "zero_late", zero, DIGITS + 1);
        m.connect(io.zero_o, zero);
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(self.latency())
    }
}

impl CatalogBlock for InverseRoot {
    const SAMPLE: &'static [(&'static str, u32)] = &[("numerator_width", 16), ("denominator_width", 40)];

    fn configurations() -> Vec<Self> {
        let set = |numerator_width, denominator_width, places| Self { numerator_width, denominator_width, places };
        vec![set(1, 20, 0), set(3, 84, 24), set(20, 33, 64)]
    }
}
