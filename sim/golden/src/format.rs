//! Number formats: widths, raw bit patterns, and the order of the values.
//!
//! A value travels as its raw bit pattern in the low [`Format::width`] bits of a `u64`. The order of
//! floats is IEEE 754-2019 section 5.10 (totalOrder), written from the clauses of the standard and not
//! through the integer key that hardware compares; the tests show that both agree.

mod float;

use std::cmp::Ordering;
use std::error::Error;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use float::FloatFormat;

/// A number format. Its text form, in serde too, is `fp16`, `bf16`, `fp32`, `e5m2`, `e3m2`, `int8`, `uint12`, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Format {
    /// Floating point.
    Float(FloatFormat),
    /// Two's complement integer.
    Int {
        /// Width, 1 to 32.
        bits: u32,
    },
    /// Unsigned integer.
    Uint {
        /// Width, 1 to 32.
        bits: u32,
    },
}

/// The reason to refuse a format or a raw bit pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormatError {
    /// The text names no format.
    Unknown {
        /// The text as given.
        text: String,
    },
    /// An integer format is narrower than 1 bit or wider than 32.
    Bits {
        /// The format's text form.
        format: String,
    },
    /// A raw bit pattern has a bit set above the format's width.
    TooWide {
        /// The format.
        format: Format,
        /// The raw bit pattern.
        raw: u64,
    },
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { text } => {
                write!(f, "unknown number format `{text}`: expected fp16, bf16, fp32, e5m2, e3m2, ")?;
                write!(f, "int1 to int32, or uint1 to uint32")
            }
            Self::Bits { format } => {
                write!(f, "number format `{format}`: an integer has 1 to 32 bits")
            }
            Self::TooWide { format, raw } => {
                write!(f, "raw value {raw:#x} does not fit {format}: ")?;
                write!(f, "the largest pattern of {} bits is {:#x}", format.width(), format.mask())
            }
        }
    }
}

impl Error for FormatError {}

impl Format {
    /// IEEE 754 binary16.
    pub const FP16: Self = Self::Float(FloatFormat::Fp16);
    /// bfloat16.
    pub const BF16: Self = Self::Float(FloatFormat::Bf16);
    /// IEEE 754 binary32.
    pub const FP32: Self = Self::Float(FloatFormat::Fp32);

    /// Width of a value in bits.
    pub fn width(self) -> u32 {
        match self {
            Self::Float(float) => float.width(),
            Self::Int { bits } | Self::Uint { bits } => bits,
        }
    }

    /// The pattern with every bit of a value set.
    pub fn mask(self) -> u64 {
        1u64.checked_shl(self.width()).map_or(u64::MAX, |bit| bit - 1)
    }

    /// Checks that an integer format has 1 to 32 bits.
    ///
    /// # Errors
    /// [`FormatError::Bits`] otherwise.
    pub fn check(self) -> Result<(), FormatError> {
        match self.width() {
            1..=32 => Ok(()),
            _ => Err(FormatError::Bits { format: self.to_string() }),
        }
    }

    /// Checks that `raw` has no bit set above the format's width.
    ///
    /// # Errors
    /// [`FormatError::TooWide`] otherwise.
    pub fn check_raw(self, raw: u64) -> Result<(), FormatError> {
        if raw & !self.mask() == 0 { Ok(()) } else { Err(FormatError::TooWide { format: self, raw }) }
    }

    /// Whether `raw` is a NaN: exponent all ones, mantissa not zero. Never so for an integer.
    pub fn is_nan(self, raw: u64) -> bool {
        self.decode(raw).is_some_and(|float| float.datum.is_nan())
    }

    /// The order of two values: numeric for integers, IEEE 754 totalOrder for floats
    /// (-NaN < -infinity < ... < -0 < +0 < ... < +infinity < +NaN). Bits above the width are ignored.
    ///
    /// `Equal` only for the same bit pattern.
    pub fn total_cmp(self, a: u64, b: u64) -> Ordering {
        match (self.decode(a), self.decode(b)) {
            (Some(a), Some(b)) => a.total_order(b),
            _ => self.integer(a).cmp(&self.integer(b)),
        }
    }

    /// The value as `f64`, exact in every format. For display only; a NaN loses its payload.
    pub fn value(self, raw: u64) -> f64 {
        match self {
            Self::Float(float) => match float {
                FloatFormat::Fp16 => half::f16::from_bits(raw as u16).to_f64(),
                FloatFormat::Bf16 => half::bf16::from_bits(raw as u16).to_f64(),
                FloatFormat::Fp32 => f64::from(f32::from_bits(raw as u32)),
                FloatFormat::E5m2 | FloatFormat::E3m2 => {
                    let single = crate::common::float::Float::ieee(float).convert(raw, FloatFormat::Fp32);
                    f64::from(f32::from_bits(single.bits as u32))
                }
            },
            Self::Int { .. } | Self::Uint { .. } => self.integer(raw) as f64,
        }
    }

    /// Bits and value for a message, for example `0x3c00 (1)`.
    pub fn show(self, raw: u64) -> String {
        let digits = self.width().div_ceil(4) as usize;
        format!("0x{raw:0digits$x} ({})", self.value(raw))
    }

    /// The value of an integer format's raw bits.
    fn integer(self, raw: u64) -> i64 {
        let magnitude = (raw & self.mask()) as i64;
        match self {
            // The top bit weighs -2^(bits - 1) instead of +2^(bits - 1).
            Self::Int { bits: bits @ 1..=32 } if magnitude >> (bits - 1) == 1 => magnitude - (1 << bits),
            _ => magnitude,
        }
    }

    /// The fields of a float; `None` for an integer format.
    fn decode(self, raw: u64) -> Option<Float> {
        let Self::Float(float) = self else { return None };
        let (exponent_bits, mantissa_bits) = (float.exponent_bits(), float.fraction_bits());
        let mantissa = raw % (1 << mantissa_bits);
        let exponent = (raw >> mantissa_bits) % (1 << exponent_bits);
        let negative = (raw >> (mantissa_bits + exponent_bits)) % 2 == 1;
        let all_ones = (1 << exponent_bits) - 1;
        let quiet_bit = 1 << (mantissa_bits - 1);
        let datum = match (exponent, mantissa) {
            (0, 0) => Datum::Zero,
            // A subnormal has the scale of the smallest normal exponent and no implicit one.
            (0, significand) => Datum::Finite { exponent: 1, significand },
            (e, 0) if e == all_ones => Datum::Infinity,
            (e, m) if e == all_ones => Datum::Nan { quiet: m >= quiet_bit, payload: m % quiet_bit },
            (exponent, m) => Datum::Finite { exponent, significand: (1 << mantissa_bits) + m },
        };
        Some(Float { negative, datum })
    }
}

/// A decoded float.
#[derive(Clone, Copy)]
struct Float {
    negative: bool,
    datum: Datum,
}

/// The value of a float, without its sign.
#[derive(Clone, Copy)]
enum Datum {
    Zero,
    /// Not zero; `significand * 2^exponent`, up to a constant factor of the format.
    Finite {
        exponent: u64,
        significand: u64,
    },
    Infinity,
    Nan {
        quiet: bool,
        payload: u64,
    },
}

impl Datum {
    fn is_nan(self) -> bool {
        matches!(self, Self::Nan { .. })
    }

    /// Compares the magnitudes of two data that are not NaN.
    fn cmp_magnitude(self, other: Self) -> Ordering {
        let class = |datum| match datum {
            Self::Zero => 0,
            Self::Finite { .. } => 1,
            Self::Infinity | Self::Nan { .. } => 2,
        };
        match (self, other) {
            // A larger exponent means a normal number, whose implicit one outweighs any
            // significand at a smaller exponent; so the exponent decides first.
            (Self::Finite { exponent: ea, significand: sa }, Self::Finite { exponent: eb, significand: sb }) => {
                ea.cmp(&eb).then(sa.cmp(&sb))
            }
            _ => class(self).cmp(&class(other)),
        }
    }
}

impl Float {
    /// IEEE 754-2019 section 5.10, clause by clause.
    fn total_order(self, other: Self) -> Ordering {
        let reversed_if = |negative: bool, order: Ordering| {
            if negative { order.reverse() } else { order }
        };
        match (self.datum, other.datum) {
            // d.3: negative sign below positive; then signalling below quiet, then the lesser
            // payload below the greater, both reversed for negative NaNs.
            (Datum::Nan { quiet: qa, payload: pa }, Datum::Nan { quiet: qb, payload: pb }) => {
                other.negative.cmp(&self.negative).then(reversed_if(self.negative, qa.cmp(&qb).then(pa.cmp(&pb))))
            }
            // d.1 and d.2: a negative NaN is below every number, a positive one above.
            (Datum::Nan { .. }, _) => reversed_if(self.negative, Ordering::Greater),
            (_, Datum::Nan { .. }) => reversed_if(other.negative, Ordering::Less),
            // a and b: numeric order. c: -0 is below +0, which also follows from "negative below positive".
            (a, b) => other.negative.cmp(&self.negative).then(reversed_if(self.negative, a.cmp_magnitude(b))),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Float(float) => fmt::Display::fmt(float, f),
            Self::Int { bits } => f.pad(&format!("int{bits}")),
            Self::Uint { bits } => f.pad(&format!("uint{bits}")),
        }
    }
}

impl FromStr for Format {
    type Err = FormatError;

    fn from_str(text: &str) -> Result<Self, FormatError> {
        let unknown = || FormatError::Unknown { text: text.to_owned() };
        if let Some(float) = FloatFormat::ALL.into_iter().find(|float| float.name() == text) {
            return Ok(Self::Float(float));
        }
        let (signed, digits) = match (text.strip_prefix("int"), text.strip_prefix("uint")) {
            (Some(digits), _) => (true, digits),
            (_, Some(digits)) => (false, digits),
            _ => return Err(unknown()),
        };
        // One text per format: no sign, no leading zero.
        let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if !plain || (digits.len() > 1 && digits.starts_with('0')) {
            return Err(unknown());
        }
        let out_of_range = || FormatError::Bits { format: text.to_owned() };
        let bits = digits.parse().map_err(|_| out_of_range())?;
        let format = if signed { Self::Int { bits } } else { Self::Uint { bits } };
        format.check()?;
        Ok(format)
    }
}

impl TryFrom<String> for Format {
    type Error = FormatError;

    fn try_from(text: String) -> Result<Self, FormatError> {
        text.parse()
    }
}

impl From<Format> for String {
    fn from(format: Format) -> Self {
        format.to_string()
    }
}

#[cfg(test)]
mod tests;
