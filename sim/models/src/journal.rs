//! A file of results, a line for each, that a stopped program goes on from.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// All that results depend on, by name: where two problems differ, their results do.
pub type Problem = BTreeMap<String, String>;

/// What is other in a file than wanted.
fn differences(found: &Value, wanted: &Problem) -> Vec<String> {
    let Some(found) = found.as_object() else { return vec!["its first line has no `problem`".to_owned()] };
    let names: BTreeSet<&String> = found.keys().chain(wanted.keys()).collect();
    let of = |name: &String| {
        let (there, here) = (found.get(name).map(plain), wanted.get(name).cloned());
        let shown = |value: Option<String>| value.unwrap_or_else(|| "nothing".to_owned());
        (there != here).then(|| format!("`{name}` is {}, here it is {}", shown(there), shown(here)))
    };
    names.into_iter().filter_map(of).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A number as this program writes it in a line: as text, because JSON has no infinity, and its reader may miss the last
/// bit. `None`: a number that is written in another way is another one.
#[must_use]
pub fn number(value: &Value) -> Option<f64> {
    let text = value.as_str()?;
    text.parse::<f64>().ok().filter(|x| x.to_string() == text)
}

/// A file that grows line by line. Its first line names the problem whose results it has.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
}

impl Journal {
    /// Opens a file, or creates it, with its folder, and returns its lines after the first, each with its place for
    /// messages. A file of another problem is refused, and so is a file that another program has open.
    ///
    /// A last line without an end is dropped: a program was stopped while it wrote the line.
    ///
    /// # Errors
    /// Names file and line.
    pub fn open(path: &Path, problem: &Problem) -> Result<(Self, Vec<(String, Value)>)> {
        let writing = || format!("cannot write {}", path.display());
        let folder = path.parent().unwrap_or(Path::new(""));
        std::fs::create_dir_all(folder).with_context(writing)?;
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
            let differ = differences(&line["problem"], problem);
            if !differ.is_empty() {
                bail!("{} has results of something else: {}; name another file", path.display(), differ.join(", "));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of something else says what differs, and nothing that is the same.
    #[test]
    fn what_differs_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/store");
        let problem = |pairs: &[(&str, &str)]| -> Problem {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let first = problem(&[("model", "a"), ("text", "b"), ("rows", "8")]);
        drop(Journal::open(&path, &first).unwrap());
        drop(Journal::open(&path, &first).unwrap());
        let other = problem(&[("model", "a"), ("text", "c"), ("columns", "4")]);
        let error = Journal::open(&path, &other).unwrap_err().to_string();
        let wanted = "has results of something else: `columns` is nothing, here it is 4, `rows` is 8, here it is nothing, \
                      `text` is b, here it is c; name another file";
        assert!(error.ends_with(wanted), "{error}");
        std::fs::write(&path, "{}\n").unwrap();
        let error = Journal::open(&path, &first).unwrap_err().to_string();
        assert!(error.contains("its first line has no `problem`; name another file"), "{error}");
    }
}
