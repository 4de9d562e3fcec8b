//! Command lines for people to copy, and for schedulers.

use std::io;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The program that runs, in commands that are told to people.
static PROGRAM: OnceLock<String> = OnceLock::new();

/// An interpreter that has loaded this code.
static WITHIN: OnceLock<Program> = OnceLock::new();

/// How an interpreter runs the command line.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file with this code. Stored results hold for it.
    pub code: PathBuf,
    /// The words before a command, from the path of the interpreter on.
    pub words: Vec<String>,
}

impl Program {
    /// The first one holds.
    pub(crate) fn remember(self) {
        let _ = WITHIN.set(self);
    }

    /// This program: its own file, unless an interpreter has loaded it.
    ///
    /// # Errors
    /// The system does not tell the file.
    pub(crate) fn this() -> io::Result<Self> {
        if let Some(program) = WITHIN.get() {
            return Ok(program.clone());
        }
        let code = std::env::current_exe()?;
        Ok(Self { words: vec![code.display().to_string()], code })
    }
}

/// Remembers the name of this program: of its file.
pub(crate) fn remember_program() {
    if WITHIN.get().is_some() {
        return;
    }
    let path = std::env::current_exe().ok();
    if let Some(name) = path.as_deref().and_then(|path| path.file_name()?.to_str()) {
        PROGRAM.get_or_init(|| name.to_owned());
    }
}

/// Name of this program, of which [`Catalogue::cli`](crate::Catalogue::cli) makes a command line.
#[must_use]
pub fn program() -> &'static str {
    PROGRAM.get().map_or("senbazuru", String::as_str)
}

/// Words as a line that a shell reads back.
#[must_use]
pub fn line(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell wants it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=.,/:+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        assert_eq!(quoted("rows=8"), "rows=8");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
