//! What is selected from, what is selected, and why an input is refused.

use std::error::Error;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::format::{Format, FormatError};

/// How NaNs are treated. Integers have none, so the policy changes nothing for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NanPolicy {
    /// NaNs sort at the two ends, as in totalOrder, and are selected first.
    #[default]
    TotalOrder,
    /// A NaN is an unavailable leaf: neither side ever selects it.
    NeverSelected,
}

impl NanPolicy {
    /// Whether a leaf that holds `raw` takes part.
    pub fn admits(self, format: Format, raw: u64) -> bool {
        self == Self::TotalOrder || !format.is_nan(raw)
    }
}

/// One of the two independent selections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The largest values, largest first.
    Max,
    /// The smallest values, smallest first.
    Min,
}

/// One selected element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pop {
    /// Position in the input vector, from 0.
    pub index: usize,
    /// Raw bit pattern at that position.
    pub value: u64,
}

/// The reason to refuse an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrizuruError {
    /// The vector has no element.
    Empty,
    /// The format itself is wrong.
    Format(FormatError),
    /// An element does not fit the format.
    Value {
        /// Position in the input vector.
        index: usize,
        /// The error of the element.
        source: FormatError,
    },
    /// An outlier share above 1000 per mille.
    Permille {
        /// The share as given.
        permille: u32,
    },
}

impl fmt::Display for OrizuruError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "Orizuru input is empty: expected at least 1 value"),
            Self::Format(source) => write!(f, "Orizuru format: {source}"),
            Self::Value { index, source } => write!(f, "Orizuru input[{index}]: {source}"),
            Self::Permille { permille } => {
                write!(f, "outlier share {permille} per mille: expected 0 to 1000")
            }
        }
    }
}

impl Error for OrizuruError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Format(source) | Self::Value { source, .. } => Some(source),
            Self::Empty | Self::Permille { .. } => None,
        }
    }
}

/// The checks of every entry point.
pub(super) fn check_input(values: &[u64], format: Format) -> Result<(), OrizuruError> {
    format.check().map_err(OrizuruError::Format)?;
    if values.is_empty() {
        return Err(OrizuruError::Empty);
    }
    for (index, &raw) in values.iter().enumerate() {
        format.check_raw(raw).map_err(|source| OrizuruError::Value { index, source })?;
    }
    Ok(())
}
