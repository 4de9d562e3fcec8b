//! Number formats of activations, and their order as unsigned integer keys.
//!
//! Comparators in hardware compare keys: unsigned integers in the order of the values. Floats follow IEEE 754
//! totalOrder (-NaN < -inf < .. < -0 < +0 < .. < +inf < NaN). The map is a bijection, so nothing else is stored.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::lang::{ParamError, Signal, Type, bit, cat, mux, sint, uint};

/// Format of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum NumberFormat {
    /// IEEE 754 binary16.
    Fp16,
    /// bfloat16: binary32's sign and exponent, 7 bits of fraction.
    Bf16,
    /// IEEE 754 binary32.
    Fp32,
    /// Two's complement.
    Int {
        /// Width, 2 to 32.
        bits: u32,
    },
    /// Unsigned.
    Uint {
        /// Width, 1 to 32.
        bits: u32,
    },
}

/// What a NaN does where the largest or smallest values are picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NanPolicy {
    /// NaNs take part, beyond the infinities of their sign.
    TotalOrder,
    /// NaNs are never picked.
    NeverSelected,
}

impl fmt::Display for NumberFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fp16 => write!(f, "fp16"),
            Self::Bf16 => write!(f, "bf16"),
            Self::Fp32 => write!(f, "fp32"),
            Self::Int { bits } => write!(f, "int{bits}"),
            Self::Uint { bits } => write!(f, "uint{bits}"),
        }
    }
}

impl From<NumberFormat> for String {
    fn from(format: NumberFormat) -> String {
        format.to_string()
    }
}

impl FromStr for NumberFormat {
    type Err = ParamError;

    fn from_str(text: &str) -> Result<Self, ParamError> {
        let number = |prefix: &str| text.strip_prefix(prefix).and_then(|n| n.parse::<u32>().ok());
        let parsed = match text {
            "fp16" => Some(Self::Fp16),
            "bf16" => Some(Self::Bf16),
            "fp32" => Some(Self::Fp32),
            _ => match (number("int"), number("uint")) {
                (Some(bits @ 2..=32), _) => Some(Self::Int { bits }),
                (_, Some(bits @ 1..=32)) => Some(Self::Uint { bits }),
                _ => None,
            },
        };
        // The text form is unique: no int08.
        parsed.filter(|f| f.to_string() == text).ok_or_else(|| ParamError::new("format", text, NumberFormat::ALLOWED))
    }
}

impl TryFrom<String> for NumberFormat {
    type Error = ParamError;

    fn try_from(text: String) -> Result<Self, ParamError> {
        text.parse()
    }
}

impl NumberFormat {
    /// Legal values in words.
    pub const ALLOWED: &'static str = "fp16, bf16, fp32, int2 to int32, uint1 to uint32";

    /// Width in bits.
    #[must_use]
    pub fn width(self) -> u32 {
        match self {
            Self::Fp16 | Self::Bf16 => 16,
            Self::Fp32 => 32,
            Self::Int { bits } | Self::Uint { bits } => bits,
        }
    }

    /// Type of a port that carries a value: signed for integers with sign, plain bits for floats.
    #[must_use]
    pub fn ty(self) -> Type {
        if let Self::Int { bits } = self { sint(bits) } else { uint(self.width()) }
    }

    /// Bits of fraction, for floats.
    fn fraction(self) -> Option<u32> {
        match self {
            Self::Fp16 => Some(10),
            Self::Bf16 => Some(7),
            Self::Fp32 => Some(23),
            Self::Int { .. } | Self::Uint { .. } => None,
        }
    }

    /// Key of a value: unsigned, same width, same order.
    #[track_caller]
    #[must_use]
    pub fn to_key(self, value: Signal) -> Signal {
        let bits = value.as_uint();
        let rest = |flip: Signal| bits.slice(0..self.width() - 1) ^ flip.repeat(self.width() - 1);
        match self {
            Self::Uint { .. } => bits,
            Self::Int { .. } => cat(&[!bits.msb(), bits.slice(0..self.width() - 1)]),
            _ => cat(&[!bits.msb(), rest(bits.msb())]),
        }
    }

    /// Value of a key: the inverse of [`NumberFormat::to_key`].
    #[track_caller]
    #[must_use]
    pub fn from_key(self, key: Signal) -> Signal {
        let negative = !key.msb();
        match self {
            Self::Uint { .. } => key,
            Self::Int { .. } => cat(&[negative, key.slice(0..self.width() - 1)]).as_sint(),
            _ => cat(&[negative, key.slice(0..self.width() - 1) ^ negative.repeat(self.width() - 1)]),
        }
    }

    /// High for a NaN; constant 0 for integers.
    #[track_caller]
    #[must_use]
    pub fn is_nan(self, value: Signal) -> Signal {
        match self.fraction() {
            Some(f) => value.slice(f..self.width() - 1).all() & value.slice(0..f).any(),
            None => bit().lit(0),
        }
    }
}

/// Number of ones among `bits`, as wide as it needs to be.
#[track_caller]
#[must_use]
pub fn count_ones(bits: &[Signal]) -> Signal {
    let sum = crate::lang::reduce(bits, |a, b| a + b).unwrap_or_else(|| bit().lit(0));
    sum.truncate(crate::lang::bits_for(bits.len() as u64))
}

/// The smaller of two unsigned values of one width.
#[track_caller]
#[must_use]
pub fn minimum(a: Signal, b: Signal) -> Signal {
    mux(a.lt(b), a, b)
}
