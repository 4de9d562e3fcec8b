//! Floating point on raw bits: values of `rustc_apfloat`, which rounds exactly once; exceptions by exact arithmetic.
//!
//! Every result is rounded to nearest, ties to even. Every NaN that comes out is the canonical quiet one: sign 0,
//! exponent all ones, only the top bit of the fraction set (0x7e00 in fp16). Values travel in the low bits of a `u64`,
//! as in [`Format`](crate::format::Format); bits above the width are ignored.
//!
//! What [`Subnormals::Flush`] means: a subnormal operand counts as the zero of its sign; the operation is then carried
//! out and rounded as IEEE 754 says, with subnormal results; and a result that is subnormal after this rounding becomes
//! the zero of its sign. (So a value that IEEE rounds up to the smallest normal number stays that number.)
//!
//! [`Flags`] follow IEEE 754-2019, section 7, to the letter, with tininess detected *before* rounding (7.5 b). They are not
//! those of `rustc_apfloat`, which misses inexact results that are rounded up to the smallest normal number: the exact
//! value, an integer of any size, is compared with the result and with the smallest normal number. A flushed result is
//! a result like another: inexact, and it underflows. A flushed operand raises nothing. `invalid` is raised by
//! signalling NaNs too, and by 0 * infinity + NaN.

use std::cmp::Ordering;

use rustc_apfloat::ieee::{BFloatS, Float8E5M2S, HalfS, IeeeFloat, Semantics, SingleS};
use rustc_apfloat::{Float as _, FloatConvert as _, StatusAnd};
use serde::{Deserialize, Serialize};

use exact::Exact;
use flags::Operands;

pub use crate::format::FloatFormat;
pub use exp::ExpTable;
pub use flags::Flags;
pub use functions::{Direction, Integers};

mod between;
mod exact;
mod exp;
mod flags;
mod functions;
pub(super) mod real;

/// `rustc_apfloat`'s description of [`FloatFormat::E3m2`].
struct E3m2S;

impl Semantics for E3m2S {
    const BITS: usize = 6;
    const EXP_BITS: usize = 3;
}

/// Whether subnormal numbers take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subnormals {
    /// As IEEE 754 says.
    Ieee,
    /// Subnormal operands, and results that are subnormal after rounding, become the zero of their sign.
    Flush,
}

/// A result and what happened on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounded {
    /// The result.
    pub bits: u64,
    /// Its exceptions.
    pub flags: Flags,
}

/// Arithmetic in one format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Float {
    /// Format of operands and result.
    pub format: FloatFormat,
    /// What subnormal numbers do.
    pub subnormals: Subnormals,
}

/// Runs `$body` with `$s` the semantics of `$format`.
macro_rules! with_semantics {
    ($format:expr, $s:ident => $body:expr) => {
        match $format {
            FloatFormat::Fp16 => {
                type $s = HalfS;
                $body
            }
            FloatFormat::Bf16 => {
                type $s = BFloatS;
                $body
            }
            FloatFormat::Fp32 => {
                type $s = SingleS;
                $body
            }
            FloatFormat::E5m2 => {
                type $s = Float8E5M2S;
                $body
            }
            FloatFormat::E3m2 => {
                type $s = E3m2S;
                $body
            }
        }
    };
}

impl Float {
    /// IEEE arithmetic with subnormals.
    pub const fn ieee(format: FloatFormat) -> Self {
        Self { format, subnormals: Subnormals::Ieee }
    }

    /// Arithmetic that flushes subnormals to zero.
    pub const fn flush(format: FloatFormat) -> Self {
        Self { format, subnormals: Subnormals::Flush }
    }

    /// a + b.
    pub fn add(self, a: u64, b: u64) -> Rounded {
        let bits = with_semantics!(self.format, S => self.bits(self.operand::<S>(a) + self.operand::<S>(b)));
        self.judged(bits, &[a, b], || self.exact(a).plus(&self.exact(b)))
    }

    /// a - b.
    pub fn sub(self, a: u64, b: u64) -> Rounded {
        let bits = with_semantics!(self.format, S => self.bits(self.operand::<S>(a) - self.operand::<S>(b)));
        self.judged(bits, &[a, b], || self.exact(a).plus(&self.exact(b ^ self.format.zero(true))))
    }

    /// a * b.
    pub fn mul(self, a: u64, b: u64) -> Rounded {
        let bits = with_semantics!(self.format, S => self.bits(self.operand::<S>(a) * self.operand::<S>(b)));
        self.judged(bits, &[a, b], || self.exact(a).times(&self.exact(b)))
    }

    /// a * b + c, rounded once.
    pub fn fma(self, a: u64, b: u64, c: u64) -> Rounded {
        let bits = with_semantics!(self.format, S => {
            self.bits(self.operand::<S>(a).mul_add(self.operand::<S>(b), self.operand::<S>(c)))
        });
        let mut result = self.judged(bits, &[a, b, c], || self.exact(a).times(&self.exact(b)).plus(&self.exact(c)));
        // 0 * infinity: section 7.2 c) leaves open what it is with a quiet NaN as the addend. Here it is invalid.
        result.flags.invalid |= [(a, b), (b, a)].iter().any(|&(zero, infinity)| {
            let infinite = !self.format.is_finite(infinity) && !self.format.is_nan(infinity);
            infinite && self.flushed(zero) & !self.format.zero(true) == 0
        });
        result
    }

    /// a * b + c with the product rounded (and flushed) first. The flags are those of both steps.
    pub fn mul_then_add(self, a: u64, b: u64, c: u64) -> Rounded {
        let product = self.mul(a, b);
        let sum = self.add(product.bits, c);
        // A signalling NaN is quiet after the product.
        Rounded { flags: sum.flags.or(product.flags), ..sum }
    }

    /// The float nearest to an integer. Integers that are too large give an infinity and raise `overflow`.
    pub fn from_int(self, value: i128) -> Rounded {
        let bits = with_semantics!(self.format, S => self.bits(IeeeFloat::<S>::from_i128(value)));
        self.judged(bits, &[], || Exact::integer(value))
    }

    /// A value of this format in format `to`; the same meaning of subnormals on both sides.
    pub fn convert(self, bits: u64, to: FloatFormat) -> Rounded {
        let target = Self { format: to, subnormals: self.subnormals };
        let converted = with_semantics!(self.format, S => {
            let value = self.operand::<S>(bits);
            with_semantics!(to, T => {
                let mut loses_info = false;
                let converted: StatusAnd<IeeeFloat<T>> = value.convert(&mut loses_info);
                target.bits(converted)
            })
        });
        let operands = Operands::of(self.format, &[bits]);
        Rounded { bits: converted, flags: Flags::judge(to, converted, operands, || self.exact(bits)) }
    }

    /// IEEE comparison: `None` when a or b is a NaN; the zeros are equal.
    pub fn compare(self, a: u64, b: u64) -> Option<Ordering> {
        with_semantics!(self.format, S => self.operand::<S>(a).partial_cmp(&self.operand::<S>(b)))
    }

    /// IEEE 754's totalOrder (section 5.10), strict: whether a comes before b. Nothing is flushed.
    pub fn total_less(self, a: u64, b: u64) -> bool {
        let negative = |bits: u64| bits & self.format.zero(true) != 0;
        let payload = |bits: u64| bits & (self.format.zero(true) - 1);
        match (self.format.is_nan(a), self.format.is_nan(b)) {
            // Negative NaNs before all numbers, positive ones after.
            (true, false) => negative(a),
            (false, true) => !negative(b),
            // By sign, then signalling before quiet, then by payload: the quiet bit is on top of the payload. Both the
            // other way round for negative NaNs.
            (true, true) => match (negative(a), negative(b)) {
                (false, false) => payload(a) < payload(b),
                (true, true) => payload(b) < payload(a),
                (a_negative, _) => a_negative,
            },
            (false, false) => match Self::ieee(self.format).compare(a, b) {
                Some(Ordering::Less) => true,
                // Only zeros are equal with different bits.
                Some(Ordering::Equal) => negative(a) && !negative(b),
                _ => false,
            },
        }
    }

    /// The value of an operand, flushed if it has to be.
    fn operand<S: Semantics>(self, bits: u64) -> IeeeFloat<S> {
        IeeeFloat::<S>::from_bits(u128::from(self.flushed(bits)))
    }

    /// The bits of a result, canonical or flushed.
    fn bits<S: Semantics>(self, result: StatusAnd<IeeeFloat<S>>) -> u64 {
        let value = result.value;
        if value.is_nan() {
            return self.format.nan();
        }
        if self.subnormals == Subnormals::Flush && value.is_denormal() {
            return self.format.zero(value.is_negative());
        }
        value.to_bits() as u64
    }

    /// `bits`, or the zero of its sign.
    fn flushed(self, bits: u64) -> u64 {
        let flush = self.subnormals == Subnormals::Flush && self.format.is_subnormal(bits);
        bits & if flush { self.format.zero(true) } else { self.format.mask() }
    }

    /// The exact value of a finite operand.
    fn exact(self, bits: u64) -> Exact {
        Exact::of(self.format, self.flushed(bits))
    }

    /// A result with its exceptions; `exact` is what it would be with unbounded range and precision.
    fn judged(self, bits: u64, operands: &[u64], exact: impl FnOnce() -> Exact) -> Rounded {
        let flags = Flags::judge(self.format, bits, Operands::of(self.format, operands), exact);
        Rounded { bits, flags }
    }
}

#[cfg(test)]
mod tests;
