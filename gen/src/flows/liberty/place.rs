//! Where something is wrong in a library.

use std::collections::BTreeMap;

use super::ast::{Attribute, Lines};

/// The range that a number must have.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    Any,
    FromZero,
    AboveZero,
}

impl Wanted {
    fn fits(self, number: f64) -> bool {
        let in_range = match self {
            Self::Any => true,
            Self::FromZero => number >= 0.0,
            Self::AboveZero => number > 0.0,
        };
        number.is_finite() && in_range
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Any => "a number",
            Self::FromZero => "a number, 0 or more",
            Self::AboveZero => "a number above 0",
        }
    }
}

/// Where something is wrong: a file's lines, and the cell around it.
pub(super) struct Place<'a> {
    pub(super) lines: Lines<'a>,
    pub(super) cell: Option<&'a str>,
}

impl Place<'_> {
    /// `line 12, cell INVX1: what`.
    pub(super) fn wrong(&self, at: &str, what: &str) -> String {
        let cell = self.cell.map_or_else(String::new, |cell| format!(", cell {cell}"));
        format!("line {}{cell}: {what}", self.lines.of(at))
    }

    pub(super) fn number(&self, attribute: &Attribute<'_>, wanted: Wanted) -> Result<(), String> {
        let name = attribute.name;
        let told = match attribute.values[..] {
            [text] if text.trim().parse().is_ok_and(|number| wanted.fits(number)) => return Ok(()),
            [] => format!("{name} has no value; {} is wanted", wanted.text()),
            _ => format!("{name} is `{}`; {} is wanted", attribute.values.join(" ").trim(), wanted.text()),
        };
        Err(self.wrong(attribute.values.first().unwrap_or(&name), &told))
    }

    /// Refuses the second of two things of which one is wanted.
    pub(super) fn once<'k, K: Ord>(
        &self,
        seen: &mut BTreeMap<K, &'k str>,
        key: K,
        at: &'k str,
        what: &str,
    ) -> Result<(), String> {
        match seen.insert(key, at) {
            Some(first) => {
                Err(self.wrong(at, &format!("{what} stands in line {} too; one is wanted", self.lines.of(first))))
            }
            None => Ok(()),
        }
    }
}
