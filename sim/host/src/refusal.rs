//! Why a job is refused.

use std::borrow::Cow;

use crate::ErrorCode;

/// Why the hardware would refuse a job.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} is {value}, must be {expected}; the hardware would end the job with {code}")]
pub struct Refusal {
    /// The value that `ERROR_CODE` would have.
    pub code: ErrorCode,
    /// The field, or what it belongs to.
    pub field: Cow<'static, str>,
    /// Its value.
    pub value: String,
    /// Values that the hardware accepts.
    pub expected: String,
}

impl Refusal {
    /// A refusal with `code` of a field that has `value`, where the hardware accepts what is `expected`.
    #[must_use]
    pub fn new(code: ErrorCode, field: &'static str, value: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { code, field: field.into(), value: value.into(), expected: expected.into() }
    }
}
