//! Errors of models as failures of a command.

use crate::error::Failure;

/// What a user has given wrongly.
pub(in crate::commands) fn refused(error: anyhow::Error) -> Failure {
    Failure::Usage(format!("{error:#}"))
}

pub(in crate::commands) fn failed(error: anyhow::Error) -> Failure {
    Failure::Check(format!("{error:#}"))
}
