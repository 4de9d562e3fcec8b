//! Exact values of floats and of their sums and products. They decide the exceptions of a result.

use num_bigint::BigInt;

use super::FloatFormat;

/// The number `units` * 2^-`scale`.
#[derive(Clone, Debug)]
pub(super) struct Exact {
    pub(super) units: BigInt,
    pub(super) scale: u32,
}

impl Exact {
    /// An integer.
    pub(super) fn integer(value: i128) -> Self {
        Self { units: value.into(), scale: 0 }
    }

    /// The value of a finite float, in units of the smallest subnormal number of its format.
    pub(super) fn of(format: FloatFormat, bits: u64) -> Self {
        let fraction = bits % (1 << format.fraction_bits());
        let units = match format.exponent_field(bits) {
            0 => BigInt::from(fraction),
            field => BigInt::from(fraction + (1 << format.fraction_bits())) << (field - 1),
        };
        let negative = bits & format.zero(true) != 0;
        Self { units: if negative { -units } else { units }, scale: smallest(format) }
    }

    /// The product.
    pub(super) fn times(&self, other: &Self) -> Self {
        Self { units: &self.units * &other.units, scale: self.scale + other.scale }
    }

    /// The sum.
    pub(super) fn plus(&self, other: &Self) -> Self {
        let scale = self.scale.max(other.scale);
        Self { units: self.in_units_of(scale) + other.in_units_of(scale), scale }
    }

    /// Whether the numbers are the same.
    pub(super) fn equals(&self, other: &Self) -> bool {
        let scale = self.scale.max(other.scale);
        self.in_units_of(scale) == other.in_units_of(scale)
    }

    /// Whether this is less than the smallest normal number of `format`, in magnitude.
    pub(super) fn is_tiny(&self, format: FloatFormat) -> bool {
        let scale = self.scale.max(smallest(format));
        // The smallest normal number is 2^(fraction bits) times the smallest subnormal number.
        let limit = scale - smallest(format) + format.fraction_bits();
        self.in_units_of(scale).bits() <= u64::from(limit)
    }

    fn in_units_of(&self, scale: u32) -> BigInt {
        &self.units << (scale - self.scale)
    }
}

/// The smallest subnormal number is 2 to the power of minus this number.
pub(super) fn smallest(format: FloatFormat) -> u32 {
    let bias = (1 << (format.exponent_bits() - 1)) - 1;
    bias - 1 + format.fraction_bits()
}
