//! Profiles: what a library does not say of itself, or says in a way that tools cannot read.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::parser::parse;
use crate::error::{Failure, Result};

/// Profiles of this program by name.
const KNOWN: [(&str, &str); 5] = [
    ("sky130hd", include_str!("profiles/sky130hd.toml")),
    ("gf180mcu", include_str!("profiles/gf180mcu.toml")),
    ("ihp-sg13g2", include_str!("profiles/ihp-sg13g2.toml")),
    ("nangate45", include_str!("profiles/nangate45.toml")),
    ("asap7", include_str!("profiles/asap7.toml")),
];
/// Largest load in femtofarads.
const MOST: f64 = 1e6;

/// The names of the profiles.
pub const PROFILES: [&str; 5] = [KNOWN[0].0, KNOWN[1].0, KNOWN[2].0, KNOWN[3].0, KNOWN[4].0];

/// A profile of a library.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Profile {
    /// A profile of this program, for all that is not said here.
    like: Option<String>,
    /// The Liberty files, relative to the profile's file.
    #[serde(default)]
    pub files: Vec<PathBuf>,
    /// The cell that drives inputs; else the weakest buffer.
    pub driver: Option<String>,
    /// The load of each output in femtofarads; else 10.
    pub load: Option<f64>,
    /// Cells that are left out; `*` stands for any characters.
    pub dont_use: Option<Vec<String>>,
    /// Text that the installed tools cannot read.
    pub replace: Option<Vec<Replace>>,
}

/// Text that stands for another one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Replace {
    from: String,
    to: String,
}

/// Whether a word of a list of libraries is a profile: a name, or a TOML file.
fn is_profile(word: &Path) -> bool {
    PROFILES.iter().any(|name| word == Path::new(name)) || word.extension().is_some_and(|e| e == "toml")
}

/// The profile in a list of libraries, its bytes, and the files of the library.
pub(super) fn split(list: &[PathBuf]) -> Result<(Profile, Vec<u8>, Vec<PathBuf>)> {
    let (profiles, mut files): (Vec<_>, Vec<_>) = list.iter().cloned().partition(|word| is_profile(word));
    let word = match &profiles[..] {
        [] => return Ok((Profile::default(), Vec::new(), files)),
        [word] => word,
        [one, other, ..] => {
            let (one, other) = (one.display(), other.display());
            return Err(Failure::Usage(format!("{one} and {other} are two profiles of one library; one is wanted")));
        }
    };
    let (profile, bytes) = Profile::read(word)?;
    let folder = word.parent().unwrap_or(Path::new(""));
    files.extend(profile.files.iter().map(|file| folder.join(file)));
    if files.is_empty() {
        return Err(Failure::Usage(format!(
            "the profile {} has no Liberty file: give files with one more --liberty each, or as `files` in a profile of yours",
            word.display()
        )));
    }
    Ok((profile, bytes, files))
}

impl Profile {
    fn read(word: &Path) -> Result<(Self, Vec<u8>)> {
        let wrong = |what: String| Failure::Usage(format!("{}: {what}", word.display()));
        let named = |name: &Path| KNOWN.iter().find(|(known, _)| name == Path::new(known)).map(|(_, text)| *text);
        let text = match named(word) {
            Some(text) => text.to_owned(),
            None => fs::read_to_string(word).map_err(|e| Failure::file("read", word, &e))?,
        };
        let mut profile = Self::parse(&text).map_err(&wrong)?;
        let mut bytes = text.into_bytes();
        if let Some(like) = profile.like.take() {
            let base = named(Path::new(&like))
                .ok_or_else(|| wrong(format!("`like` is `{like}`, wanted is one of {}", PROFILES.join(", "))))?;
            bytes.extend(base.bytes());
            let base = Self::parse(base).map_err(&wrong)?;
            profile.driver = profile.driver.or(base.driver);
            profile.load = profile.load.or(base.load);
            profile.dont_use = profile.dont_use.or(base.dont_use);
            profile.replace = profile.replace.or(base.replace);
        }
        Ok((profile, bytes))
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let profile: Self = toml::from_str(text).map_err(|e| e.to_string().trim_end().to_owned())?;
        if let Some(load) = profile.load.filter(|load| !(0.0..=MOST).contains(load)) {
            return Err(format!("`load` is {load}, allowed: femtofarads from 0 to {MOST}"));
        }
        if profile.replace.iter().flatten().any(|replace| replace.from.is_empty()) {
            return Err("a `replace` with an empty `from`: say which text cannot be read".into());
        }
        Ok(profile)
    }

    /// The text of a file with what tools can read.
    pub fn readable(&self, text: String) -> String {
        self.replace.iter().flatten().fold(text, |text, Replace { from, to }| text.replace(from, to))
    }

    /// The library without the cells that are not used.
    pub fn used(&self, text: String) -> std::result::Result<String, String> {
        let Some(unused) = self.dont_use.as_ref().filter(|unused| !unused.is_empty()) else { return Ok(text) };
        let mut kept = String::with_capacity(text.len());
        let mut from = 0;
        for cell in parse(&text)?.all("cell").filter(|cell| unused.iter().any(|pattern| fits(pattern, cell.name()))) {
            // The group is a part of the text.
            let at = cell.text.as_ptr() as usize - text.as_ptr() as usize;
            kept += &text[from..at];
            // Line numbers in messages stay.
            kept.extend(cell.text.chars().filter(|c| *c == '\n'));
            from = at + cell.text.len();
        }
        Ok(kept + &text[from..])
    }
}

/// Whether a pattern with `*` fits a name.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(first) else { return false };
    (0..=name.len()).filter(|at| name.is_char_boundary(*at)).any(|at| fits(rest, &name[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("a*", "abc", true),
            ("a*", "bac", false),
            ("*x1p*_A*", "INVx1p5_ASAP7", true),
            ("*x1p*_A*", "INVx1_ASAP7", false),
            ("inv", "inv", true),
            ("inv", "inv_1", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn profiles_of_this_program_are_right() {
        for name in PROFILES {
            let (profile, bytes) = Profile::read(Path::new(name)).unwrap();
            assert!(profile.driver.is_some() && profile.load.is_some() && !bytes.is_empty(), "{name}");
        }
    }

    #[test]
    fn cells_are_left_out_and_lines_stay() {
        let text = "library (l) {\n cell (probe_1) {\n area : 1;\n }\n cell (inv) { area : 2; }\n}\n";
        let profile = Profile { dont_use: Some(vec!["probe*".into()]), ..Profile::default() };
        let used = profile.used(text.into()).unwrap();
        assert_eq!(used.lines().count(), text.lines().count());
        assert_eq!(parse(&used).unwrap().all("cell").map(|c| c.name()).collect::<Vec<_>>(), ["inv"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| Profile::parse(text).unwrap_err();
        assert!(error("load = -1").contains("`load` is -1, allowed: femtofarads"));
        assert!(error("load = nan").contains("`load` is NaN"));
        assert!(error("drive = \"x\"").contains("unknown field"));
        assert!(error("[[replace]]\nfrom = \"\"\nto = \"\"").contains("empty `from`"));
        let twice = split(&["asap7".into(), "sky130hd".into(), "a.lib".into()]).unwrap_err().to_string();
        assert!(twice.contains("two profiles"), "{twice}");
        let none = split(&["asap7".into()]).unwrap_err().to_string();
        assert!(none.contains("no Liberty file"), "{none}");
    }
}
