//! Two versions of the same designs: does each do what it did?
//!
//! Modules with the same text are skipped. The others are compared from the leaves upwards. Modules inside them that
//! are known to do the same are left out: a change in one module of an accelerator is a question about that module.
//! Where that does not decide, the whole design is compared.

mod folder;

pub use folder::{Design, Module, read};

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::error::Result;
use crate::flows::equal::{self, How, Side, Verdict};

/// How to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// Length of the runs in which a difference is looked for.
    pub cycles: u32,
    /// Time for each question about a design.
    pub limit: Duration,
    /// Folder for waveforms.
    pub traces: PathBuf,
}

/// The result for a design.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "result")]
pub enum Outcome {
    /// The same text.
    Identical,
    /// Another text: these modules are not the same, or are new.
    Compared {
        /// The result of the comparison.
        verdict: Verdict,
        /// Modules whose text changed.
        changed: Vec<String>,
    },
    /// In the old folder only.
    Removed,
    /// In the new folder only.
    Added,
}

impl Outcome {
    /// Whether nobody who uses the design needs to know.
    #[must_use]
    pub fn is_same(&self) -> bool {
        matches!(self, Self::Identical | Self::Added | Self::Compared { verdict: Verdict::Equal { .. }, .. })
    }

    /// Whether there is no answer.
    #[must_use]
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Compared { verdict: Verdict::Open { .. }, .. })
    }
}

/// A comparison that remembers its results by module, since many designs have the same modules.
pub struct Comparison {
    options: Options,
    /// Modules with all inside them, by hash: whether leaving them out is right.
    known: BTreeMap<(String, String), bool>,
}

impl Comparison {
    /// A new one.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, known: BTreeMap::new() }
    }

    /// Compares a design.
    ///
    /// # Errors
    /// A missing tool; a design that Yosys rejects, or that has several clocks.
    pub fn design(&mut self, old: &Design, new: &Design) -> Result<Outcome> {
        let changed: Vec<String> = new
            .modules
            .iter()
            .filter(|m| old.module(&m.name).is_none_or(|before| before.text != m.text))
            .map(|m| m.name.clone())
            .collect();
        if changed.is_empty() && old.top == new.top && old.top.is_some() {
            return Ok(Outcome::Identical);
        }
        let done = |verdict| Ok(Outcome::Compared { verdict, changed: changed.clone() });
        let (Some(old_top), Some(new_top)) = (&old.top, &new.top) else {
            return done(self.whole(old, new)?);
        };
        let mut same = BTreeSet::new();
        for module in new.modules.iter().filter(|m| m.name != *new_top && m.name != *old_top) {
            if self.can_be_left_out(old, new, module, &same)? {
                same.insert(module.name.as_str());
            }
        }
        let boxes = self.boxes(old, new, (old_top, new_top), &same);
        // Nets that a box drives are free inputs here. So equal designs are equal, but a difference need not be real.
        if !boxes.is_empty() {
            let verdict = self.compare(old, new, (old_top, new_top), &boxes, false)?;
            if matches!(verdict, Verdict::Equal { .. }) {
                return done(verdict);
            }
        }
        done(self.whole(old, new)?)
    }

    /// Everything at once; only the boxes of somebody else are left out.
    fn whole(&self, old: &Design, new: &Design) -> Result<Verdict> {
        let is_box = |m: &&Module| m.black_box;
        let boxes: Vec<String> = new.modules.iter().filter(is_box).map(|m| m.name.clone()).collect();
        let side = |name, design: &Design| {
            let files = design.top.as_ref().map_or_else(|| design.files_of_all(), |top| design.files(top));
            Side { name, files, top: design.top.clone(), boxes: boxes.clone() }
        };
        let options = equal::Options {
            reset: new.reset.clone().or_else(|| Some("rst_ni".to_owned())),
            cycles: self.options.cycles,
            limit: self.options.limit,
            registers_only: false,
            trace: Some(self.options.traces.join(format!("{}-diff.vcd", new.name))),
        };
        equal::compare(&side("old", old), &side("new", new), &options)
    }

    /// Whether a module of this name does in both the same with the same values in the registers of the same name.
    fn can_be_left_out(&mut self, old: &Design, new: &Design, module: &Module, same: &BTreeSet<&str>) -> Result<bool> {
        let Some(before) = old.module(&module.name) else { return Ok(false) };
        if module.black_box || before.black_box {
            return Ok(module.black_box == before.black_box && module.text == before.text);
        }
        let inside_is_same = new.children(module).iter().all(|child| same.contains(child));
        if before.text == module.text && inside_is_same {
            return Ok(true);
        }
        let hash = |design: &Design| {
            let mut hasher = blake3::Hasher::new();
            for file in design.files(&module.name) {
                hasher.update(file.text.as_bytes());
            }
            hasher.finalize().to_hex().to_string()
        };
        let key = (hash(old), hash(new));
        if let Some(known) = self.known.get(&key) {
            return Ok(*known);
        }
        let tops = (module.name.as_str(), module.name.as_str());
        let boxes = self.boxes(old, new, tops, same);
        let verdict = self.compare(old, new, tops, &boxes, true)?;
        // A relation with an inverted register need not hold at the start.
        let found = verdict == Verdict::Equal { how: How::Registers };
        self.known.insert(key, found);
        Ok(found)
    }

    /// The modules to leave out of both: as many as possible.
    fn boxes(&self, old: &Design, new: &Design, tops: (&str, &str), same: &BTreeSet<&str>) -> Vec<String> {
        let inside = |design: &Design, top: &str| -> BTreeSet<String> {
            design.files(top).into_iter().map(|f| f.name.trim_end_matches(".v").to_owned()).collect()
        };
        let (in_old, in_new) = (inside(old, tops.0), inside(new, tops.1));
        let in_both = same.iter().filter(|name| in_old.contains(**name) && in_new.contains(**name));
        in_both.filter(|name| **name != tops.1).map(|&name| name.to_owned()).collect()
    }

    fn compare(
        &self,
        old: &Design,
        new: &Design,
        tops: (&str, &str),
        boxes: &[String],
        registers_only: bool,
    ) -> Result<Verdict> {
        let side = |name, design: &Design, top: &str| Side {
            name,
            files: design.files(top),
            top: Some(top.to_owned()),
            boxes: boxes.to_vec(),
        };
        let options = equal::Options {
            reset: new.reset.clone(),
            cycles: self.options.cycles,
            limit: self.options.limit,
            registers_only,
            trace: None,
        };
        equal::compare(&side("old", old, tops.0), &side("new", new, tops.1), &options)
    }
}
