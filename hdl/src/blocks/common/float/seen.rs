//! Operands and results as properties (`ifdef FORMAL`) see them: classes and bits by their definition, not by the
//! unit's wires.

use super::format::{FloatFormat, Subnormals};
use crate::lang::{Module, Signal, cat, uint};

/// An operand or a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    format: FloatFormat,
    subnormals: Subnormals,
    /// All of it.
    pub bits: Signal,
    /// Its sign.
    pub sign: Signal,
    /// All but the sign.
    pub magnitude: Signal,
    pub nan: Signal,
    pub infinite: Signal,
    /// Zero, or flushed.
    pub zero: Signal,
    pub subnormal: Signal,
}

impl Seen {
    /// The wire is called `seen_` and `name`.
    pub fn new(m: &mut Module, name: &str, bits: Signal, format: FloatFormat, subnormals: Subnormals) -> Self {
        let (f, w) = (format.fraction_bits(), format.width());
        // Not every property needs all of this, so only the bits are wires.
        let bits = m.wire(&format!("seen_{name}"), bits);
        let magnitude = bits.slice(0..w - 1);
        let infinity = (1u64 << (w - 1)) - (1 << f);
        let least = if subnormals == Subnormals::Flush { 1u64 << f } else { 1 };
        Self {
            format,
            subnormals,
            bits,
            sign: bits.msb(),
            magnitude,
            nan: magnitude.gt(infinity),
            infinite: magnitude.eq(infinity),
            zero: magnitude.lt(least),
            subnormal: magnitude.any() & magnitude.lt(1u64 << f),
        }
    }

    /// Numbers of one format, with names.
    pub fn all<const N: usize>(
        m: &mut Module,
        numbers: [(&str, Signal); N],
        format: FloatFormat,
        subnormals: Subnormals,
    ) -> [Self; N] {
        numbers.map(|(name, bits)| Self::new(m, name, bits, format, subnormals))
    }

    /// Asserts of a result that it is the canonical NaN in these cases, and no NaN in others.
    pub fn is_nan_where(self, m: &mut Module, undefined: Signal) {
        m.assert_always("undefined_is_nan", implies(undefined, self.is_quiet()));
        m.assert_always("else_no_nan", undefined | !self.nan);
    }

    /// Asserts of a result that it is not subnormal, where these are flushed.
    pub fn is_flushed(self, m: &mut Module) {
        if self.subnormals == Subnormals::Flush {
            m.assert_always("no_subnormal_result", !self.subnormal);
        }
    }

    /// It is the canonical NaN.
    pub fn is_quiet(self) -> Signal {
        let (f, w) = (self.format.fraction_bits(), self.format.width());
        self.bits.eq((1u64 << (w - 1)) - (1 << (f - 1)))
    }

    /// It is the infinity of this sign.
    pub fn is_infinity(self, sign: Signal) -> Signal {
        self.infinite & self.has_sign(sign)
    }

    /// All bits below the sign are 0, and the sign is this.
    pub fn is_zero(self, sign: Signal) -> Signal {
        !self.magnitude.any() & self.has_sign(sign)
    }

    /// It is a normal number.
    pub fn is_normal(self) -> Signal {
        let least = 1u64 << self.format.fraction_bits();
        self.magnitude.ge(least) & !(self.infinite | self.nan)
    }

    /// It is the number of this sign and magnitude.
    pub fn is(self, sign: Signal, magnitude: Signal) -> Signal {
        self.bits.eq(cat(&[sign, magnitude]))
    }

    /// The sign is this one.
    pub fn has_sign(self, sign: Signal) -> Signal {
        !(self.sign ^ sign)
    }

    /// Bits below the sign of the power of two with this exponent, which must be a normal number's exponent.
    pub fn power(format: FloatFormat, exponent: i64) -> u64 {
        let field = u64::try_from(i64::from(format.bias()) + exponent).unwrap_or(0);
        field << format.fraction_bits()
    }
}

/// `conclusion` where `condition` holds.
pub(super) fn implies(condition: Signal, conclusion: Signal) -> Signal {
    !condition | conclusion
}

/// A number that rises in totalOrder: negative patterns have all bits inverted, positive ones only the sign.
pub(super) fn total_order(m: &mut Module, name: &str, bits: Signal) -> Signal {
    let width = bits.width();
    let turned = cat(&[uint(1).lit(1), bits.msb().repeat(width - 1)]);
    m.wire(name, bits ^ turned)
}
