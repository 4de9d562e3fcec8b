//! Numbers that a program has measured for documents. `--facts FILE` writes them as JSON, see `docs/sweeps.md`.

use std::path::PathBuf;
use std::{env, fs};

use crate::{Error, Result};
use serde_json::{Map, Value};

/// Measured numbers by name, and the file that they are for.
#[derive(Debug, Default)]
pub struct Facts {
    path: Option<PathBuf>,
    numbers: Vec<(String, f64)>,
}

impl Facts {
    /// Takes `--facts FILE` out of the arguments of this process, and returns the other arguments.
    ///
    /// # Errors
    /// `--facts` without a file, an argument that is not Unicode.
    pub fn from_args() -> Result<(Self, Vec<String>)> {
        let unicode =
            |a: std::ffi::OsString| a.into_string().map_err(|a| Error::Unsupported(format!("argument {a:?}")));
        Self::of(env::args_os().skip(1).map(unicode).collect::<Result<_>>()?)
    }

    fn of(mut arguments: Vec<String>) -> Result<(Self, Vec<String>)> {
        let mut facts = Self::default();
        if let Some(at) = arguments.iter().position(|a| a == "--facts") {
            arguments.remove(at);
            if at == arguments.len() {
                return Err(Error::Unsupported("--facts needs the file to write".into()));
            }
            facts.path = Some(arguments.remove(at).into());
        }
        Ok((facts, arguments))
    }

    /// Notes a number. Its name is `text` in lower case, with `_` for characters that are not letters or digits.
    pub fn add(&mut self, text: &str, number: f64) {
        let text = text.to_lowercase();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        self.numbers.push((words.collect::<Vec<_>>().join("_"), number));
    }

    /// Writes the file, if the arguments named one.
    ///
    /// # Errors
    /// Two numbers have one name, a number is not finite, or the file cannot be written.
    pub fn write(self) -> Result<()> {
        let Some(path) = self.path else { return Ok(()) };
        let mut facts = Map::new();
        for (name, number) in self.numbers {
            let bad = |problem: &str| Error::Data { path: path.clone(), problem: format!("`{name}` {problem}") };
            if !number.is_finite() {
                return Err(bad(&format!("would be {number}, wanted is a finite number")));
            }
            if facts.contains_key(&name) {
                return Err(bad("is there twice, names must differ"));
            }
            facts.insert(name, number.into());
        }
        let text = format!("{:#}\n", Value::from(facts));
        fs::write(&path, text).map_err(|source| Error::Io { path, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(path: &std::path::Path) -> Facts {
        Facts { path: Some(path.to_owned()), numbers: Vec::new() }
    }

    #[test]
    fn names_and_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.json");
        let arguments = ["lib", "--facts", path.to_str().unwrap(), "64"].map(String::from).to_vec();
        let (mut facts, rest) = Facts::of(arguments).unwrap();
        assert_eq!(rest, ["lib", "64"]);
        facts.add("AERP, 8 bits (64)", 0.5);
        facts.write().unwrap();
        assert_eq!(fs::read_to_string(path).unwrap(), "{\n  \"aerp_8_bits_64\": 0.5\n}\n");
    }

    #[test]
    fn what_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Facts::of(vec!["--facts".into()]).unwrap_err().to_string().contains("needs the file"));
        for (numbers, part) in [([1.0, 2.0], "twice"), ([f64::NAN, 1.0], "finite")] {
            let mut facts = facts(&folder.path().join("x.json"));
            numbers.iter().for_each(|&number| facts.add("a", number));
            assert!(facts.write().unwrap_err().to_string().contains(part));
        }
        assert!(matches!(facts(folder.path()).write(), Err(Error::Io { .. })));
        Facts::default().write().unwrap();
    }
}
