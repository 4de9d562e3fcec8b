//! IEEE 754's exceptions and their outputs.

use crate::lang::{Module, OutOption, Signal, bit, ports};

/// An exception of IEEE 754-2019, section 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exception {
    /// The operation has no usefully definable result.
    Invalid,
    /// Finite operands give an exact infinity.
    DivisionByZero,
    /// The result is too large.
    Overflow,
    /// The result is inexact, and below the smallest normal number.
    Underflow,
    /// The result is not exact.
    Inexact,
}

impl Exception {
    /// In the order of the ports.
    pub(super) const ALL: Exceptions =
        &[Self::Invalid, Self::DivisionByZero, Self::Overflow, Self::Underflow, Self::Inexact];

    /// Of an operation that rounds.
    pub(super) const WHEN_ROUNDED: Exceptions = &[Self::Invalid, Self::Overflow, Self::Underflow, Self::Inexact];

    /// The name of a wire that carries it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::DivisionByZero => "division_by_zero",
            Self::Overflow => "overflow",
            Self::Underflow => "underflow",
            Self::Inexact => "inexact",
        }
    }
}

/// The exceptions that have an output.
pub type Exceptions = &'static [Exception];

ports! {
    /// Outputs for the exceptions of this operation, each where the unit can raise it and its parameters ask for it.
    pub struct FloatFlags(raises: &Exceptions) {
        /// IEEE 754's invalid operation, of this result only.
        invalid_o: OutOption = bit().when(raises.contains(&Exception::Invalid)),
        /// The result is an infinity because a finite number other than zero is divided by zero.
        division_by_zero_o: OutOption = bit().when(raises.contains(&Exception::DivisionByZero)),
        /// The result was too large: it is an infinity, or the largest number where the rounding is towards zero.
        overflow_o: OutOption = bit().when(raises.contains(&Exception::Overflow)),
        /// The result is inexact, and the exact one is below the smallest normal number in magnitude.
        underflow_o: OutOption = bit().when(raises.contains(&Exception::Underflow)),
        /// The result is rounded (or flushed).
        inexact_o: OutOption = bit().when(raises.contains(&Exception::Inexact)),
    }
}

impl FloatFlags {
    /// The output for an exception, if there is one.
    pub(super) fn port(&self, exception: Exception) -> Option<Signal> {
        match exception {
            Exception::Invalid => self.invalid_o,
            Exception::DivisionByZero => self.division_by_zero_o,
            Exception::Overflow => self.overflow_o,
            Exception::Underflow => self.underflow_o,
            Exception::Inexact => self.inexact_o,
        }
    }

    /// Connects all outputs that there are.
    pub(super) fn connect(&self, m: &mut Module, raised: impl Fn(Exception) -> Signal) {
        for &exception in Exception::ALL {
            if let Some(port) = self.port(exception) {
                let raised = raised(exception);
                m.connect(port, raised);
            }
        }
    }
}
