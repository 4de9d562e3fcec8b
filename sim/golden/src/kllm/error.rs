//! Errors of the quantization.

use std::error::Error;
use std::fmt;

use super::orizuru::OrizuruError;

/// The reason to refuse an operand or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum KllmError {
    /// A parameter is out of its range.
    Parameter {
        /// Its name.
        name: &'static str,
        /// The value as given.
        value: String,
        /// The allowed values.
        allowed: String,
    },
    /// A value that has to be finite is an infinity or a NaN.
    NotFinite {
        /// The list that it is an element of.
        what: &'static str,
        /// Its position there.
        index: usize,
    },
    /// Two operands differ in length, though they must not.
    Length {
        /// The operand.
        what: &'static str,
        /// The length as given.
        length: usize,
        /// The length it should have.
        expected: usize,
    },
    /// An exact result does not fit 128 bits.
    TooLarge {
        /// The result.
        what: &'static str,
    },
    /// The outlier finder refuses its input.
    Orizuru(OrizuruError),
}

impl fmt::Display for KllmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter { name, value, allowed } => write!(f, "{name} is {value}, allowed: {allowed}"),
            Self::NotFinite { what, index } => write!(f, "{what}[{index}] is not finite"),
            Self::Length { what, length, expected } => write!(f, "{what} has {length} elements, expected {expected}"),
            Self::TooLarge { what } => write!(f, "{what} does not fit 128 bits"),
            Self::Orizuru(source) => write!(f, "{source}"),
        }
    }
}

impl Error for KllmError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Orizuru(source) => Some(source),
            _ => None,
        }
    }
}

impl From<OrizuruError> for KllmError {
    fn from(source: OrizuruError) -> Self {
        Self::Orizuru(source)
    }
}

/// Refuses two lengths that differ.
pub(super) fn check_length(what: &'static str, length: usize, expected: usize) -> Result<(), KllmError> {
    if length == expected { Ok(()) } else { Err(KllmError::Length { what, length, expected }) }
}
