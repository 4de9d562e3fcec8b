//! Errors of models as failures of the command.

use crate::error::Failure;

pub(super) fn refused(error: anyhow::Error) -> Failure {
    failed(&error, Failure::Usage)
}

/// What the system refused is told as such, and everything else by `other`.
pub(super) fn failed(error: &anyhow::Error, other: fn(String) -> Failure) -> Failure {
    let told = format!("{error:#}");
    match error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()) {
        Some(system) => Failure::io(told, system),
        None => other(told),
    }
}
