//! Errors of models as failures of a command.

use anyhow::Error;
use models::WrongRequest;

use crate::error::Failure;

/// What a user has given wrongly.
pub(crate) fn refused(error: Error) -> Failure {
    told(&error, Failure::Usage)
}

/// What a model or an accelerator could not do.
pub(crate) fn failed(error: Error) -> Failure {
    told(&error, Failure::Check)
}

/// What the system refused is told as such, and a wrong request, too; everything else by `other`.
fn told(error: &Error, other: fn(String) -> Failure) -> Failure {
    let text = chain(error);
    if error.is::<WrongRequest>() {
        return Failure::Usage(text);
    }
    match error.chain().find_map(|cause| cause.downcast_ref::<std::io::Error>()) {
        Some(system) => Failure::io(text, system),
        None => other(text),
    }
}

/// All causes. Some errors have the text of their cause at their end already.
pub(crate) fn chain(error: &Error) -> String {
    let mut all: Vec<String> = Vec::new();
    for cause in error.chain().map(ToString::to_string) {
        if !all.last().is_some_and(|last| last.ends_with(&cause)) {
            all.push(cause);
        }
    }
    all.join(": ")
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let missing = || io::Error::from_raw_os_error(2);
        let error = sim::Error::Io { path: PathBuf::from("config.json"), source: missing() };
        let told = refused(Error::from(error).context("the model"));
        assert_eq!(told.to_string(), "the model: config.json: No such file or directory (os error 2)");
        let plain = Error::from(missing()).context("config.json");
        assert_eq!(chain(&plain), "config.json: No such file or directory (os error 2)");
    }

    #[test]
    fn a_wrong_request_is_no_failed_check() {
        let told = failed(Error::from(WrongRequest("take --half".into())).context("a scheme"));
        assert_eq!((told.exit_code(), told.to_string().as_str()), (2, "a scheme: take --half"));
        assert_eq!(failed(anyhow::anyhow!("differs")).exit_code(), 1);
    }
}
