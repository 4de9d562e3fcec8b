//! Floating point on raw bits. Values come from `rustc_apfloat`, which rounds exactly once; exceptions come from exact
//! arithmetic.
//!
//! Every result is rounded to nearest, ties to even, unless a [`Direction`] says otherwise. Every NaN result is the
//! canonical quiet NaN: sign 0, exponent all ones, only the top bit of the fraction set (0x7e00 in fp16). Values travel
//! in the low bits of a `u64`, as in [`Format`](crate::format::Format); bits above the width are ignored.
//!
//! [`Subnormals::Flush`] means three steps. A subnormal operand counts as the zero of its sign. The operation is then
//! carried out and rounded as in IEEE 754, with subnormal results. A result that is subnormal after this rounding
//! becomes the zero of its sign. (So a value that IEEE rounds up to the smallest normal number stays this number.)
//!
//! [`Flags`] follow IEEE 754-2019, section 7, to the letter, with tininess detected *before* rounding (7.5 b). The
//! flags of `rustc_apfloat` would not do: it misses inexact results that are rounded up to the smallest normal number.
//! So the exact value, an integer of any size, is compared with the result and with the smallest normal number. A
//! flushed result is a result like another: inexact, and it underflows. A flushed operand raises nothing. `invalid` is
//! also raised by signalling NaNs, and by 0 * infinity + NaN.

use rustc_apfloat::ieee::{IeeeFloat, Semantics};
use rustc_apfloat::{Float as _, StatusAnd};
use serde::{Deserialize, Serialize};

use exact::Exact;
use flags::Operands;

pub use crate::format::FloatFormat;
pub use exp::ExpTable;
pub use flags::Flags;
pub use table::{Function, FunctionTable};
pub use to_int::{Direction, Integers};

mod add;
mod between;
pub mod binary16;
mod class;
mod compare;
mod convert;
mod directed;
mod divide;
mod exact;
mod exp;
mod flags;
mod fma;
mod from_int;
mod mul;
pub(super) mod real;
mod reciprocal;
mod rsqrt;
mod semantics;
mod sigmoid;
pub mod single;
mod sqrt;
mod table;
mod to_int;

/// How subnormal numbers are treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subnormals {
    /// As IEEE 754 says.
    Ieee,
    /// Subnormal operands, and results that are subnormal after rounding, become the zero of their sign.
    Flush,
}

/// A result and its exceptions.
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
    /// How subnormal numbers are treated.
    pub subnormals: Subnormals,
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
