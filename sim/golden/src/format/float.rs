//! Formats of floating-point numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A floating-point format with signed zeros, subnormals, infinities and NaNs as in IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FloatFormat {
    /// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
    Fp16,
    /// bfloat16: 8 bits of exponent, 7 of fraction.
    Bf16,
    /// IEEE 754 binary32: 8 bits of exponent, 23 of fraction.
    Fp32,
    /// 8-bit float of the Open Compute Project, fp8: 5 bits of exponent, 2 of fraction.
    E5m2,
    /// 6 bits with IEEE 754's rules: 3 bits of exponent, 2 of fraction. Small enough for all triples.
    E3m2,
}

impl FloatFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Fp16, Self::Bf16, Self::Fp32, Self::E5m2, Self::E3m2];

    /// Text form.
    pub fn name(self) -> &'static str {
        match self {
            Self::Fp16 => "fp16",
            Self::Bf16 => "bf16",
            Self::Fp32 => "fp32",
            Self::E5m2 => "e5m2",
            Self::E3m2 => "e3m2",
        }
    }

    /// Bits of exponent.
    pub fn exponent_bits(self) -> u32 {
        match self {
            Self::Fp16 | Self::E5m2 => 5,
            Self::Bf16 | Self::Fp32 => 8,
            Self::E3m2 => 3,
        }
    }

    /// Bits of fraction.
    pub fn fraction_bits(self) -> u32 {
        match self {
            Self::Fp16 => 10,
            Self::Bf16 => 7,
            Self::Fp32 => 23,
            Self::E5m2 | Self::E3m2 => 2,
        }
    }

    /// Width in bits.
    pub fn width(self) -> u32 {
        1 + self.exponent_bits() + self.fraction_bits()
    }

    /// The pattern with every bit of a value set.
    pub fn mask(self) -> u64 {
        (1 << self.width()) - 1
    }

    /// The canonical quiet NaN.
    pub fn nan(self) -> u64 {
        self.infinity(false) | 1 << (self.fraction_bits() - 1)
    }

    /// Infinity.
    pub fn infinity(self, negative: bool) -> u64 {
        self.zero(negative) | ((1 << self.exponent_bits()) - 1) << self.fraction_bits()
    }

    /// Zero.
    pub fn zero(self, negative: bool) -> u64 {
        u64::from(negative) << (self.width() - 1)
    }

    /// The exponent field.
    pub(crate) fn exponent_field(self, bits: u64) -> u64 {
        bits >> self.fraction_bits() & ((1 << self.exponent_bits()) - 1)
    }

    /// Whether `bits` is a number: neither an infinity nor a NaN.
    pub fn is_finite(self, bits: u64) -> bool {
        self.exponent_field(bits) + 1 < 1 << self.exponent_bits()
    }

    /// Whether `bits` is a NaN whose top bit of the fraction is 0.
    pub(crate) fn is_signalling(self, bits: u64) -> bool {
        self.is_nan(bits) && bits >> (self.fraction_bits() - 1) & 1 == 0
    }

    /// Whether `bits` is a NaN.
    pub fn is_nan(self, bits: u64) -> bool {
        bits & self.mask() & !self.zero(true) > self.infinity(false)
    }

    /// Whether `bits` is a subnormal number; zeros are not.
    pub fn is_subnormal(self, bits: u64) -> bool {
        let magnitude = bits & self.mask() & !self.zero(true);
        magnitude != 0 && magnitude < 1 << self.fraction_bits()
    }
}

impl fmt::Display for FloatFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
