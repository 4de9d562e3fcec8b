//! The square root of a quotient of two integers, digit by digit: what a norm multiplies its row by.
//!
//! Of normalised a and b, r = sqrt(a / b) lies in 1 to 2 after an even number of places. With r of k digits, the rest
//! a - r^2 b decides the next one; it is kept times 2^k, so that every row subtracts numbers of about the same width:
//! V' = 2 V - R if that is not negative, R = 2 r b + b / 2^(k + 1). R is not multiplied but follows its digits: it
//! grows by 3 b / 2^(k + 2) or falls by b / 2^(k + 2).

use super::pipe::{add, later, normalise, normalise_latency};
use crate::lang::{About, Block, In, Module, Out, Timing, bit, mux, parameters, ports, sint, uint};

/// Digits of the root.
pub const DIGITS: u32 = 18;
/// Bits of its exponent.
pub const EXPONENT: u32 = 9;
/// Bits of the divisor that count.
const DIVISOR: u32 = 20;

parameters! {
    /// Elaboration parameters.
    pub struct InverseRoot {
        /// Bits of the numerator.
        numerator_width: u32 = 16, in 1..=20, tag "n";
        /// Bits of the denominator.
        denominator_width: u32 = 96, in 20..=160, tag "d";
        /// The root is times 2 to the power of this.
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
        /// The denominator is zero, and the other outputs mean nothing.
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
        contract: "digits_o * 2^exponent_o = sqrt(numerator_i / denominator_i) * 2^places of `latency` cycles ago, truncated to 18 digits after\n\
            the denominator was truncated to its first 20 bits: at most 2^-17 too small and 2^-20 too large, of its size.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &InverseRootPorts) {
        let (nw, dw) = (self.numerator_width, self.denominator_width);
        let first = normalise_latency(dw);
        let (b, b_count) = normalise(m, "denominator", io.denominator_i);
        let b = b.slice(dw - DIVISOR..dw);
        let (a, a_count) = normalise(m, "numerator", io.numerator_i);
        let spare = first - normalise_latency(nw);
        let (a, a_count) = (later(m, "a", a, spare), later(m, "a_count", a_count, spare));
        let zero = m.wire("zero", !b.msb());

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
        let mut b = later(m, "b", b, 1);
        let exponent = later(m, "half", half, 1);

        m.comment("The first digit is 1.");
        let rest = a.wrapping_sub(b.extend(DIVISOR + 2));
        // R is 5/2 b, in half units.
        let five = (b.shl(2) + b).truncate(DIVISOR + 3);
        let mut three = later(m, "three", (b.shl(1) + b).truncate(DIVISOR + 2), 1);
        let mut v = later(m, "rest", rest, 1);
        let mut r = later(m, "trial", five, 1);
        b = later(m, "b_first", b, 1);
        let mut digits = bit().lit(1);

        for row in 1..DIGITS {
            m.comment(&format!("Digit {}.", row + 1));
            // Units are halved in every row. All is below 10 b's leading ones.
            let width = DIVISOR + 3 + row;
            let twice = v.shl(2).extend(width + 2);
            let difference = add(m, &format!("less_{row}"), twice, r.extend(width + 2), true).truncate(width + 2);
            let difference = m.wire(&format!("difference_{row}"), difference);
            let digit = m.wire(&format!("digit_{row}"), !difference.msb());
            let last = row + 1 == DIGITS;
            if !last {
                let kept = mux(digit, difference.slice(0..width), twice.slice(0..width));
                let next = r.shl(1).extend(width + 1);
                let up = add(m, &format!("up_{row}"), next, three, false).truncate(width + 1);
                let down = add(m, &format!("down_{row}"), next, b, true).truncate(width + 1);
                r = later(m, &format!("trial_{row}"), mux(digit, up, down), 1);
                v = later(m, &format!("rest_{row}"), kept, 1);
                if row + 2 < DIGITS {
                    b = later(m, &format!("b_{row}"), b, 1);
                    three = later(m, &format!("three_{row}"), three, 1);
                }
            }
            digits = later(m, &format!("digits_{row}"), crate::lang::cat(&[digits, digit]), 1);
        }
        m.connect(io.digits_o, digits);
        let exponent = later(m, "exponent_late", exponent, DIGITS - 1);
        m.connect(io.exponent_o, exponent.as_sint());
        let zero = later(m, "zero_late", zero, DIGITS + 1);
        m.connect(io.zero_o, zero);
    }

    fn timing(&self) -> Timing {
        Timing::new().latency(self.latency()).beat(1u32)
    }
}
