//! The exceptions of an operation, IEEE 754-2019, section 7.

use super::FloatFormat;
use super::exact::Exact;

/// IEEE 754 exceptions of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flags {
    /// No useful result is defined, or an operand is a signalling NaN.
    pub invalid: bool,
    /// An exact infinity from finite operands.
    pub division_by_zero: bool,
    /// The rounded result would be larger than the largest finite number.
    pub overflow: bool,
    /// The result is inexact, and the exact one is closer to zero than the smallest normal number.
    pub underflow: bool,
    /// The result differs from the exact result.
    pub inexact: bool,
}

impl Flags {
    /// The exceptions of the result `bits` in `format`. `exact` gives the result with unbounded range and precision.
    pub(super) fn judge(format: FloatFormat, bits: u64, operands: Operands, exact: impl FnOnce() -> Exact) -> Self {
        if !operands.finite {
            // Infinities are exact. A NaN without a NaN operand stands for an undefined result.
            let invalid = operands.signalling || (format.is_nan(bits) && !operands.nan);
            return Self { invalid, ..Self::default() };
        }
        let exact = exact();
        let overflow = !format.is_finite(bits);
        let inexact = overflow || !exact.equals(&Exact::of(format, bits));
        Self { overflow, underflow: inexact && exact.is_tiny(format), inexact, ..Self::default() }
    }

    /// The exceptions of two steps of one operation.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            invalid: self.invalid | other.invalid,
            division_by_zero: self.division_by_zero | other.division_by_zero,
            overflow: self.overflow | other.overflow,
            underflow: self.underflow | other.underflow,
            inexact: self.inexact | other.inexact,
        }
    }
}

/// Classes of the operands of an operation.
pub(super) struct Operands {
    /// All of them are numbers.
    finite: bool,
    /// There is a NaN among them.
    nan: bool,
    /// There is a signalling NaN among them.
    signalling: bool,
}

impl Operands {
    pub(super) fn of(format: FloatFormat, operands: &[u64]) -> Self {
        let any = |is: fn(FloatFormat, u64) -> bool| operands.iter().any(|&bits| is(format, bits));
        let finite = operands.iter().all(|&bits| format.is_finite(bits));
        Self { finite, nan: any(FloatFormat::is_nan), signalling: any(FloatFormat::is_signalling) }
    }
}
