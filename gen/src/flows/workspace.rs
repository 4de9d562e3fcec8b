//! The folder in which a tool works.
//!
//! Names that a user or the system chose, of the temporary folder or of a library, may hold blanks, quotes and
//! semicolons, and Yosys hands names on to ABC through a shell and through scripts. So a tool runs *in* its folder, and is
//! told names in it only, which we choose; its own temporary files go there as well.

use std::fs;
use std::path::{Path, PathBuf};

use sim::process::{Output, ProcessError, Tool};
use tempfile::TempDir;

use crate::error::{Failure, Result};

/// A temporary folder for one piece of work.
#[derive(Debug)]
pub struct Workspace {
    folder: TempDir,
}

impl Workspace {
    /// An empty one.
    ///
    /// # Errors
    /// The system's temporary folder cannot be written.
    pub fn new() -> Result<Self> {
        let folder = tempfile::tempdir().map_err(|e| Failure::NoAnswer(format!("temporary folder: {e}")))?;
        Ok(Self { folder })
    }

    /// A file in it.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    ///
    /// # Errors
    /// The disk is full, for example.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        let path = self.path(name);
        fs::write(&path, text).map_err(|e| Failure::NoAnswer(format!("cannot write {}: {e}", path.display())))
    }

    /// What a tool wrote.
    ///
    /// # Errors
    /// It wrote nothing of the kind.
    pub fn read(&self, name: &str) -> Result<String> {
        let path = self.path(name);
        fs::read_to_string(&path).map_err(|e| Failure::NoAnswer(format!("cannot read {}: {e}", path.display())))
    }

    /// Makes a file from elsewhere available under a name of ours.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn link(&self, name: &str, file: &Path) -> Result<()> {
        let to = std::path::absolute(file).map_err(|e| Failure::file("find", file, &e))?;
        let failed = |e| Failure::NoAnswer(format!("cannot link {}: {e}", to.display()));
        std::os::unix::fs::symlink(&to, self.path(name)).map_err(failed)
    }

    /// A tool that works here.
    pub fn tool(&self, program: &str) -> Tool {
        Tool::new(program).dir(self.folder.path()).env("TMPDIR", ".")
    }
}

/// The output of a tool that came to its end by itself.
///
/// # Errors
/// [`Failure::NoAnswer`] when a signal ended it: whatever it printed, it is no answer.
pub fn finished(tool: &Tool, run: Result<Output, ProcessError>) -> Result<Output> {
    let output = run?;
    if output.code.is_none() {
        let what = format!("`{}` was ended by a signal", tool.command_line());
        return Err(Failure::NoAnswer(format!("{what}; its last output:\n{}", last_lines(&output.log(), 10))));
    }
    Ok(output)
}

/// The end of a log.
pub(crate) fn last_lines(log: &str, number: usize) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(number)..].join("\n")
}
