//! Why a command fails, and with which exit code.

use std::fmt;
use std::io::{self, Write as _};
use std::path::Path;

use hdl::lang::ElabError;
use sim::process::{ProcessError, ToolMissing};

/// The result of a command.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

/// A failed command. The text is for a person; the kind decides the exit code.
#[derive(Clone, Debug)]
pub enum Failure {
    /// A check did not pass, or a tool rejected the design: exit code 1.
    Check(String),
    /// The request is wrong: arguments, parameters, files. Exit code 2.
    Usage(String),
    /// A tool is not installed: exit code 3.
    Tool(ToolMissing),
    /// The result, already printed, is a failure: exit code 1.
    Reported,
    /// There is no answer: a tool was killed, or ran out of time, memory or disk. Nothing is known of the design, and
    /// another run may well succeed. Exit code 4.
    NoAnswer(String),
}

impl Failure {
    /// The text for a person. Errors of a description name themselves, each with its place.
    #[must_use]
    pub fn told(&self) -> String {
        let text = self.to_string();
        if text.starts_with("error: ") { text } else { format!("error: {text}") }
    }

    /// Exit code of the process.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Check(_) | Self::Reported => 1,
            Self::Usage(_) => 2,
            Self::Tool(_) => 3,
            Self::NoAnswer(_) => 4,
        }
    }

    /// A file or folder that could not be used. A full disk says nothing about the request.
    pub fn file(action: &str, path: &Path, error: &io::Error) -> Self {
        Self::io(format!("cannot {action} {}: {error}", path.display()), error)
    }

    /// An action that the system refused, with its error.
    pub fn io(text: String, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::NoAnswer(text)
            }
            _ => Self::Usage(text),
        }
    }
}

/// Writes a line to the standard error. One that is full or closed must not change how a command ends.
pub fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check(text) | Self::Usage(text) | Self::NoAnswer(text) => f.write_str(text),
            Self::Tool(missing) => missing.fmt(f),
            Self::Reported => f.write_str("a check failed"),
        }
    }
}

impl std::error::Error for Failure {}

impl From<ElabError> for Failure {
    fn from(error: ElabError) -> Self {
        match error {
            ElabError::Param { .. } => Self::Usage(error.to_string()),
            ElabError::Design(_) => Self::Check(error.to_string()),
        }
    }
}

impl From<ProcessError> for Failure {
    fn from(error: ProcessError) -> Self {
        match error {
            ProcessError::Missing(missing) => Self::Tool(missing),
            other => Self::NoAnswer(other.to_string()),
        }
    }
}

impl From<sim::Error> for Failure {
    fn from(error: sim::Error) -> Self {
        match error {
            sim::Error::Process(process) => process.into(),
            sim::Error::Data { .. } | sim::Error::Setting { .. } => Self::Usage(error.to_string()),
            verdict if verdict.is_verdict() => Self::Check(verdict.to_string()),
            other => Self::NoAnswer(other.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_called_one_once() {
        assert_eq!(Failure::Usage("no block".into()).told(), "error: no block");
        let design = "error: wire `a` is never read".to_owned();
        assert_eq!(Failure::Check(design.clone()).told(), design);
    }

    #[test]
    fn where_nothing_can_be_written_there_is_no_answer() {
        for kind in [io::ErrorKind::StorageFull, io::ErrorKind::QuotaExceeded, io::ErrorKind::FileTooLarge] {
            assert_eq!(Failure::file("write", Path::new("x"), &kind.into()).exit_code(), 4);
        }
        assert_eq!(Failure::file("write", Path::new("x"), &io::ErrorKind::NotFound.into()).exit_code(), 2);
    }
}
