//! Errors of whoever asks.

use std::fmt;

/// Says, in the chain of an error, that the request is wrong: another option, file or model would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongRequest(
    /// What is wrong, and what would be right.
    pub String,
);

impl fmt::Display for WrongRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongRequest {}
