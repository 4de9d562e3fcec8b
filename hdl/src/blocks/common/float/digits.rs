//! Quotients and square roots digit by digit: a row subtracts, and keeps the difference if it is not negative.

use super::format::{FloatFormat, Subnormals};
use super::ranks::{Crossing, Ranks};
use super::round::Operand;
use super::shift::{Normalised, normalise};
use crate::lang::{Module, Signal, bit, cat, mux, uint};

/// Levels of a row, about: a carry chain and a choice.
pub(super) const ROW: u32 = 16;

/// The depths of the parts between the places where registers may stand: the first part, `rows`, the last part.
pub(super) fn depths(first: &[u32], rows: u32, last: &[u32]) -> Vec<u32> {
    [first, &vec![ROW; rows as usize], last].concat()
}

/// A significand with its leading one at the top, and the places that it was shifted for that, if there may be any.
pub(super) fn to_the_top(
    m: &mut Module,
    name: &'static str,
    significand: Signal,
    subnormals: Subnormals,
) -> (Signal, Option<Signal>) {
    match subnormals {
        Subnormals::Flush => (significand, None),
        Subnormals::Ieee => {
            let Normalised { value, count, .. } =
                normalise(m, name, significand, None, significand.width(), bit().lit(0));
            (m.wire(&format!("{name}_value"), value), Some(count))
        }
    }
}

/// The values that go from row to row of a unit that works digit by digit.
pub(super) struct Rows {
    /// Digits so far, the first at the top.
    pub digits: Signal,
    /// The remainder.
    pub remainder: Signal,
    number: u32,
}

impl Rows {
    /// After the first digit.
    pub(super) fn new(digits: Signal, remainder: Signal) -> Self {
        Self { digits, remainder, number: 1 }
    }

    fn names(&mut self) -> impl Fn(&str) -> String + use<> {
        self.number += 1;
        let number = self.number;
        move |what| format!("{what}_{number}")
    }

    /// Another digit of a quotient; the remainder stays at most the divisor, in the divisor's width.
    pub(super) fn divide(&mut self, m: &mut Module, divisor: Signal) {
        let name = self.names();
        let width = divisor.width();
        // At most twice the divisor: the difference has the divisor's width and a sign.
        let twice = m.wire(&name("doubled"), self.remainder.shl(1));
        let difference = m.wire(&name("difference"), twice.wrapping_sub(divisor.extend(width + 1)));
        let digit = m.wire(&name("digit"), !difference.msb());
        let next = mux(digit, difference.slice(0..width), twice.slice(0..width));
        self.remainder = m.wire(&name("remainder"), next);
        self.digits = m.wire(&name("quotient"), cat(&[self.digits, digit]));
    }

    /// The last digit of a quotient, where the remainder is not needed.
    pub(super) fn divide_last(&mut self, m: &mut Module, divisor: Signal) {
        let name = self.names();
        let twice = m.wire(&name("doubled"), self.remainder.shl(1));
        let digit = m.wire(&name("digit"), twice.ge(divisor.extend(divisor.width() + 1)));
        self.digits = m.wire(&name("quotient"), cat(&[self.digits, digit]));
    }

    /// Another digit of a root, with the next two bits of the radicand. Of k digits, the remainder has k + 1 bits.
    pub(super) fn root(&mut self, m: &mut Module, next: Signal) {
        let name = self.names();
        let width = self.digits.width() + 3;
        let partial = m.wire(&name("partial"), cat(&[self.remainder, next]));
        let subtrahend = cat(&[self.digits, uint(2).lit(1)]).extend(width);
        let difference = m.wire(&name("difference"), partial.wrapping_sub(subtrahend));
        let digit = m.wire(&name("digit"), !difference.msb());
        let kept = mux(digit, difference.slice(0..width - 1), partial.slice(0..width - 1));
        self.remainder = m.wire(&name("remainder"), kept);
        self.digits = m.wire(&name("root"), cat(&[self.digits, digit]));
    }

    /// The last digit of a root, where the remainder is not needed.
    pub(super) fn root_last(&mut self, m: &mut Module, next: Signal) {
        let name = self.names();
        let partial = m.wire(&name("partial"), cat(&[self.remainder, next]));
        let subtrahend = cat(&[self.digits, uint(2).lit(1)]).extend(partial.width());
        let digit = m.wire(&name("digit"), partial.ge(subtrahend));
        self.digits = m.wire(&name("root"), cat(&[self.digits, digit]));
    }

    /// The place for registers after a row.
    pub(super) fn cut<'a>(
        &'a mut self,
        m: &mut Module,
        pipe: &mut Ranks,
        more: impl IntoIterator<Item = Crossing<'a>>,
    ) {
        let own = [("digits", &mut self.digits), ("remainder", &mut self.remainder)];
        pipe.cut(m, own.into_iter().chain(more));
    }
}

/// The exponent field less the places that a subnormal number was shifted, in `width` bits.
pub(super) fn true_exponent(exponent: Signal, count: Option<Signal>, width: u32) -> Signal {
    let exponent = exponent.extend(width);
    count.map_or(exponent, |count| exponent.wrapping_sub(count.extend(width)))
}

/// The significand of the operand of a root, and its exponent with the bias twice. The operand is in 1 to 4: it is twice
/// the significand if that exponent is odd.
pub(super) fn for_a_root(m: &mut Module, a: &Operand, format: FloatFormat, subnormals: Subnormals) -> (Signal, Signal) {
    m.comment("In 1 to 4: twice the significand if the exponent is odd. The exponent is halved, its bias is not.");
    let (significand, count) = to_the_top(m, "normal", a.significand, subnormals);
    let biased = true_exponent(a.exponent, count, format.exponent_bits() + 1).wrapping_add(format.bias());
    (significand, m.wire("double_exponent", biased))
}

/// Digits of a significand: the leading one, the fraction, and one to round by.
pub(super) const fn digits(format: FloatFormat) -> u32 {
    format.fraction_bits() + 2
}
