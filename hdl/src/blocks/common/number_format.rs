//! Number formats of activations, and their order as unsigned integer keys.
//!
//! Comparators in hardware compare keys: unsigned integers in the order of the values. Floats follow IEEE 754
//! totalOrder (-NaN < -inf < .. < -0 < +0 < .. < +inf < NaN). The map is a bijection, so nothing else is stored.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use super::float::FloatFormat;
use crate::lang::{ParamError, ParameterValue, Signal, Type, bit, cat, choices, mux, sint, uint};

/// Format of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberFormat {
    /// Floating point.
    Float(FloatFormat),
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

choices! {
    /// How a NaN is treated where the largest or smallest values are picked.
    pub enum NanPolicy {
        /// NaNs take part, beyond the infinities of their sign.
        TotalOrder,
        /// NaNs are never picked.
        NeverSelected,
    }
}

impl fmt::Display for NumberFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float(format) => f.write_str(format.name()),
            Self::Int { bits } => write!(f, "int{bits}"),
            Self::Uint { bits } => write!(f, "uint{bits}"),
        }
    }
}

impl FromStr for NumberFormat {
    type Err = ParamError;

    fn from_str(text: &str) -> Result<Self, ParamError> {
        let number = |prefix: &str| text.strip_prefix(prefix).and_then(|n| n.parse::<u32>().ok());
        let float = FloatFormat::ALL.iter().copied().find(|f| f.name() == text).map(Self::Float);
        let parsed = float.or(match (number("int"), number("uint")) {
            (Some(bits @ 2..=32), _) => Some(Self::Int { bits }),
            (_, Some(bits @ 1..=32)) => Some(Self::Uint { bits }),
            _ => None,
        });
        // The text form is unique: no int08.
        parsed.filter(|f| f.to_string() == text).ok_or_else(|| ParamError::new("format", text, NumberFormat::ALLOWED))
    }
}

impl ParameterValue for NumberFormat {
    fn json(&self) -> Value {
        self.to_string().into()
    }

    fn from_json(value: &Value) -> Result<Self, ParamError> {
        let format = value.as_str().and_then(|text| text.parse().ok());
        format.ok_or_else(|| ParamError::new("", value, Self::ALLOWED))
    }

    fn choices(&self) -> String {
        Self::ALLOWED.into()
    }
}

impl NumberFormat {
    /// IEEE 754 binary16.
    pub const FP16: Self = Self::Float(FloatFormat::Fp16);
    /// bfloat16.
    pub const BF16: Self = Self::Float(FloatFormat::Bf16);
    /// IEEE 754 binary32.
    pub const FP32: Self = Self::Float(FloatFormat::Fp32);

    /// Legal values in words.
    pub const ALLOWED: &'static str = "fp16, bf16, fp32, e5m2, e3m2, int2 to int32, uint1 to uint32";

    /// Width in bits.
    #[must_use]
    pub fn width(self) -> u32 {
        match self {
            Self::Float(format) => format.width(),
            Self::Int { bits } | Self::Uint { bits } => bits,
        }
    }

    /// Type of a port that carries a value: signed for integers with sign, plain bits for floats.
    #[must_use]
    pub fn ty(self) -> Type {
        if let Self::Int { bits } = self { sint(bits) } else { uint(self.width()) }
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
            Self::Float(_) => cat(&[!bits.msb(), rest(bits.msb())]),
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
            Self::Float(_) => cat(&[negative, key.slice(0..self.width() - 1) ^ negative.repeat(self.width() - 1)]),
        }
    }

    /// High for a NaN; constant 0 for integers.
    #[track_caller]
    #[must_use]
    pub fn is_nan(self, value: Signal) -> Signal {
        match self {
            Self::Float(format) => {
                let f = format.fraction_bits();
                value.slice(f..self.width() - 1).all() & value.slice(0..f).any()
            }
            Self::Int { .. } | Self::Uint { .. } => bit().lit(0),
        }
    }
}

/// The smaller of two unsigned values of one width.
#[track_caller]
#[must_use]
pub fn minimum(a: Signal, b: Signal) -> Signal {
    mux(a.lt(b), a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_back() {
        for text in ["fp16", "bf16", "fp32", "e5m2", "e3m2", "int2", "int32", "uint1", "uint32"] {
            let format: NumberFormat = text.parse().unwrap();
            assert_eq!((format.to_string().as_str(), format.json()), (text, Value::from(text)));
        }
        for text in ["fp8", "int1", "int33", "uint0", "uint33", "int08", "Fp16", ""] {
            let refused = text.parse::<NumberFormat>().unwrap_err();
            assert_eq!(refused.allowed, NumberFormat::ALLOWED, "{text}");
        }
    }
}
