//! Formats of floating-point numbers, the treatment of subnormal numbers, and directions of rounding.

use crate::lang::{Type, choices, uint};

choices! {
    /// A format with signed zeros, subnormals, infinities and NaNs as in IEEE 754: sign, exponent, fraction from the top.
    pub enum FloatFormat {
        /// IEEE 754 binary16: 5 bits of exponent, 10 of fraction.
        Fp16,
        /// bfloat16: 8 bits of exponent, 7 of fraction.
        Bf16,
        /// IEEE 754 binary32: 8 bits of exponent, 23 of fraction.
        Fp32,
        /// 8-bit float of the Open Compute Project: 5 bits of exponent, 2 of fraction.
        E5m2,
        /// 6 bits with IEEE 754's rules: 3 bits of exponent, 2 of fraction. For proofs and tests of all triples.
        E3m2,
    }
}

choices! {
    /// Whether subnormal numbers take part.
    pub enum Subnormals {
        /// As IEEE 754 says.
        Ieee,
        /// A subnormal operand counts as the zero of its sign; a result that is subnormal after IEEE's rounding becomes the
        /// zero of its sign.
        Flush,
    }
}

choices! {
    /// The direction in which a number is rounded to an integer or to a float: the five of IEEE 754-2019, section 4.3.
    pub enum RoundingDirection {
        /// To the nearest; of two, to the even one.
        NearestEven,
        /// To the nearest; of two, to the one further from zero.
        NearestAway,
        /// Towards zero.
        TowardZero,
        /// Towards minus infinity.
        Down,
        /// Towards plus infinity.
        Up,
    }
}

impl FloatFormat {
    /// Name, as on the command line and in module names.
    #[must_use]
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
    #[must_use]
    pub const fn exponent_bits(self) -> u32 {
        match self {
            Self::Fp16 | Self::E5m2 => 5,
            Self::Bf16 | Self::Fp32 => 8,
            Self::E3m2 => 3,
        }
    }

    /// Bits of fraction; the significand has one more.
    #[must_use]
    pub const fn fraction_bits(self) -> u32 {
        match self {
            Self::Fp16 => 10,
            Self::Bf16 => 7,
            Self::Fp32 => 23,
            Self::E5m2 | Self::E3m2 => 2,
        }
    }

    /// Width in bits.
    #[must_use]
    pub const fn width(self) -> u32 {
        1 + self.exponent_bits() + self.fraction_bits()
    }

    /// The exponent field of 1.0.
    #[must_use]
    pub const fn bias(self) -> u32 {
        (1 << (self.exponent_bits() - 1)) - 1
    }

    /// Type of a port that carries a value: plain bits.
    #[must_use]
    pub const fn ty(self) -> Type {
        uint(self.width())
    }
}
