//! The designs in a folder of Verilog.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sim::SourceFile;

use crate::error::{Failure, Result};

/// A design and the modules in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    /// Its block, where a manifest says so.
    pub name: String,
    /// Top module; none: the one that no other places.
    pub top: Option<String>,
    /// Reset, low while it resets.
    pub reset: Option<String>,
    /// Modules with their text, children before parents.
    pub modules: Vec<Module>,
}

/// A module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Name.
    pub name: String,
    /// Verilog.
    pub text: String,
    /// A module from outside: only its ports are known.
    pub black_box: bool,
}

impl Design {
    /// A module.
    #[must_use]
    pub fn module(&self, name: &str) -> Option<&Module> {
        self.modules.iter().find(|m| m.name == name)
    }

    /// The modules that a module places.
    #[must_use]
    pub fn children(&self, module: &Module) -> BTreeSet<&str> {
        // The line of an instance begins with its module.
        let words: BTreeSet<&str> = module.text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        self.modules
            .iter()
            .map(|m| m.name.as_str())
            .filter(|name| *name != module.name && words.contains(name))
            .collect()
    }

    /// Files of all modules.
    #[must_use]
    pub fn files_of_all(&self) -> Vec<SourceFile> {
        self.modules.iter().map(|m| SourceFile { name: format!("{}.v", m.name), text: m.text.clone() }).collect()
    }

    /// Files of a module and of all modules inside it.
    #[must_use]
    pub fn files(&self, top: &str) -> Vec<SourceFile> {
        let mut needed = BTreeSet::from([top]);
        for module in self.modules.iter().rev().filter(|m| !m.black_box) {
            if needed.contains(module.name.as_str()) {
                needed.extend(self.children(module));
            }
        }
        let kept = self.modules.iter().filter(|m| needed.contains(m.name.as_str()));
        kept.map(|m| SourceFile { name: format!("{}.v", m.name), text: m.text.clone() }).collect()
    }
}

/// All designs of a folder by name: every design that a manifest names, in the folder or in a folder inside it. Without
/// a manifest, all Verilog of the folder is one design.
///
/// # Errors
/// A folder that cannot be read or holds no Verilog; a manifest whose files are missing.
pub fn read(folder: &Path) -> Result<BTreeMap<String, Design>> {
    let mut found = manifests(folder)?;
    for inner in entries(folder)?.into_iter().filter(|path| path.is_dir()) {
        found.extend(manifests(&inner)?);
    }
    if found.is_empty() {
        found.push(loose(folder)?);
    }
    // Several of one block go by their tops, which have the parameters in them.
    let blocks: Vec<String> = found.iter().map(|d| d.name.clone()).collect();
    for design in &mut found {
        if blocks.iter().filter(|block| **block == design.name).count() > 1 {
            design.name = design.top.clone().unwrap_or_default();
        }
    }
    Ok(found.into_iter().map(|design| (design.name.clone(), design)).collect())
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let failed = |e| Failure::file("read", folder, &e);
    let list = fs::read_dir(folder).map_err(failed)?;
    let mut paths = list.map(|entry| Ok(entry.map_err(failed)?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e == extension)
}

fn manifests(folder: &Path) -> Result<Vec<Design>> {
    let files = entries(folder)?.into_iter().filter(|path| has_extension(path, "json"));
    files.filter_map(|path| manifest(&path).map(|manifest| described(&path, &manifest))).collect()
}

/// A manifest of ours, whatever its version.
fn manifest(path: &Path) -> Option<Value> {
    let value: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    (value["generator"].as_str()?.starts_with("senbazuru ") && value["modules"].is_array()).then_some(value)
}

fn described(path: &Path, manifest: &Value) -> Result<Design> {
    let word = |name: &str| manifest[name].as_str().map(str::to_owned);
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut modules = Vec::new();
    for module in manifest["modules"].as_array().into_iter().flatten() {
        let name = module["name"].as_str().unwrap_or_default().to_owned();
        let file = format!("{name}.v");
        let place =
            [folder.join(&file), folder.join("../modules").join(&file)].into_iter().find(|place| place.is_file());
        let place = place.ok_or_else(|| {
            Failure::Usage(format!("{}: its module {file} is neither beside it nor in ../modules", path.display()))
        })?;
        let text = fs::read_to_string(&place).map_err(|e| Failure::file("read", &place, &e))?;
        modules.push(Module { name, text, black_box: module["black_box"] == true });
    }
    let block = word("block").unwrap_or_default();
    Ok(Design { name: block, top: word("top"), reset: word("reset"), modules })
}

/// All Verilog of a folder.
fn loose(folder: &Path) -> Result<Design> {
    let mut modules = Vec::new();
    for path in entries(folder)?.into_iter().filter(|path| has_extension(path, "v")) {
        let text = fs::read_to_string(&path).map_err(|e| Failure::file("read", &path, &e))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        modules.push(Module { name, text, black_box: false });
    }
    if modules.is_empty() {
        return Err(Failure::Usage(format!(
            "{}: there is neither a manifest of senbazuru nor a file .v; name a folder that `senbazuru gen` wrote",
            folder.display()
        )));
    }
    Ok(Design { name: "design".into(), top: None, reset: None, modules })
}
