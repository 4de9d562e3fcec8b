//! The folder in which a tool works.
//!
//! The names of the temporary folder and of a library come from the user or the system. They may hold blanks, quotes
//! and semicolons, and Yosys hands names on to ABC through a shell and through scripts. So a tool runs *in* its folder
//! and gets only names of files there, which we choose. Its own temporary files go there as well.

use std::fs;
use std::path::{Path, PathBuf};

use sim::files::{Scratch, scratch};
use sim::process::Tool;

use crate::error::{Failure, Result};

/// A temporary folder for one piece of work.
#[derive(Debug)]
pub struct Workspace {
    folder: Scratch,
}

impl Workspace {
    /// An empty one.
    ///
    /// # Errors
    /// The system's temporary folder cannot be written.
    pub fn new() -> Result<Self> {
        Ok(Self { folder: scratch().map_err(|e| Failure::NoAnswer(e.to_string()))? })
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

    /// A file that a tool wrote.
    ///
    /// # Errors
    /// There is no such file.
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

/// The end of a log.
pub(crate) fn last_lines(log: &str, number: usize) -> String {
    let lines: Vec<_> = log.lines().collect();
    lines[lines.len().saturating_sub(number)..].join("\n")
}
