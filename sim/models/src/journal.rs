//! A file of results, a line for each, that a stopped program goes on from.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// A file that grows line by line. Its first line names the problem whose results it has.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens a file, or creates it, and returns its lines after the first, each with its place for messages. A file of
    /// another problem is refused, and so is a file that another program has open.
    ///
    /// A last line without an end is dropped: a program was stopped while it wrote the line.
    ///
    /// # Errors
    /// Names file and line.
    pub fn open(path: &Path, problem: &str) -> Result<(Self, Vec<(String, Value)>)> {
        let writing = || format!("cannot write {}", path.display());
        let mut file = OpenOptions::new().create(true).read(true).append(true).open(path).with_context(writing)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                bail!("{} is in use by another program; name another file", path.display())
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(|| format!("cannot read {}", path.display()))?;
        let whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(whole.lines()) {
            let place = format!("{}, line {number}", path.display());
            let line: Value = serde_json::from_str(line).with_context(|| place.clone())?;
            if number > 1 {
                lines.push((place, line));
                continue;
            }
            let found = line["problem"].as_str().unwrap_or("nothing");
            if found != problem {
                bail!("{} has results of `{found}`, not of `{problem}`; name another file", path.display());
            }
        }
        file.set_len(whole.len() as u64).with_context(writing)?;
        let mut journal = Self { path: path.to_owned(), file };
        if whole.is_empty() {
            journal.add(&json!({ "problem": problem }))?;
        }
        Ok((journal, lines))
    }

    /// Adds a line.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, line: &Value) -> Result<()> {
        let writing = || format!("cannot write {}", self.path.display());
        self.file.write_all(format!("{line}\n").as_bytes()).with_context(writing)?;
        self.file.flush().with_context(writing)
    }
}
