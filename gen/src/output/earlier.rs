//! Files that an earlier run left in a folder. Only files that are known to be the generator's are ever removed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::layout::MODULES;
use super::{Bundle, Layout, host, package};
use crate::error::{Failure, Result};

/// Files in the folder of a bundle that are not part of it; paths are relative to the folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Earlier {
    /// The generator's: of other designs, or of none.
    pub stale: BTreeSet<PathBuf>,
    /// Other designs with their files, by the name of the manifest; in a flat folder only.
    pub others: BTreeMap<String, BTreeSet<PathBuf>>,
    /// Verilog of somebody else: in folders that belong to the generator, or where a module is to be written.
    pub foreign: BTreeSet<PathBuf>,
}

impl Earlier {
    /// Looks into `dir`, which may not exist.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub fn find(dir: &Path, bundle: &Bundle) -> Result<Self> {
        let mut found = Self::default();
        for folder in folders(dir, bundle.layout())? {
            let names = entries(&dir.join(&folder))?;
            for name in names.iter().filter(|(_, is_dir)| !**is_dir).map(|(name, _)| name) {
                let path = folder.join(name);
                let Some(kind) = Kind::of(&path) else { continue };
                let (planned, library) = (bundle.files().contains_key(&path), bundle.layout() == Layout::Library);
                match kind.is_ours(&dir.join(&path)) {
                    true if !planned => drop(found.stale.insert(path)),
                    false if kind == Kind::Module && planned != library => drop(found.foreign.insert(path)),
                    // A user's own Makefile, say.
                    false if kind == Kind::Package && planned => drop(found.foreign.insert(path)),
                    _ => {}
                }
            }
        }
        if bundle.layout() == Layout::Flat {
            for path in found.stale.iter().filter(|p| Kind::of(p) == Some(Kind::Manifest)) {
                let files = manifest(&dir.join(path)).map(|m| modules(&m)).unwrap_or_default();
                let beside = ["json", "f"].into_iter().chain(host::extensions()).map(|e| path.with_extension(e));
                let top = path.file_stem().unwrap_or_default().to_string_lossy();
                let packaged = package::names(&top).into_iter().map(PathBuf::from);
                let files = files.into_iter().map(PathBuf::from).chain(beside).chain(packaged);
                found.others.insert(path.display().to_string(), files.collect());
            }
        }
        Ok(found)
    }

    /// The generator's files that belong to no design at all.
    #[must_use]
    pub fn orphans(&self) -> Vec<&PathBuf> {
        self.stale.iter().filter(|path| !self.others.values().any(|files| files.contains(*path))).collect()
    }

    /// Removes stale files, and folders that are empty then. Returns how many files went.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub fn remove(&mut self, dir: &Path) -> Result<usize> {
        let stale = std::mem::take(&mut self.stale);
        self.others.clear();
        let mut folders = BTreeSet::new();
        for path in &stale {
            let path = dir.join(path);
            fs::remove_file(&path).map_err(|e| Failure::file("remove", &path, &e))?;
            folders.extend(path.parent().map(Path::to_owned));
        }
        for folder in folders.iter().filter(|f| *f != dir) {
            // A folder that is not empty holds files of the user.
            let _ = fs::remove_dir(folder);
        }
        Ok(stale.len())
    }
}

/// Removes the folders in `dir` that are not in `keep`, as far as they hold files of the generator; the rest stays.
///
/// # Errors
/// A folder that cannot be read, a file that cannot be removed.
pub fn remove_stale(dir: &Path, keep: &BTreeSet<String>) -> Result<()> {
    for (name, _) in entries(dir)?.into_iter().filter(|(name, is_dir)| *is_dir && !keep.contains(name)) {
        let folder = dir.join(name);
        Earlier::find(&folder, &Bundle::new(Layout::Flat))?.remove(&folder)?;
        let _ = fs::remove_dir(&folder);
    }
    Ok(())
}

/// The folders in which a layout has its files, relative to `dir`.
fn folders(dir: &Path, layout: Layout) -> Result<Vec<PathBuf>> {
    if layout == Layout::Flat {
        return Ok(vec![PathBuf::new()]);
    }
    let mut found = vec![PathBuf::from(MODULES)];
    for (name, _) in entries(dir)?.into_iter().filter(|(name, is_dir)| *is_dir && name != MODULES) {
        let folder = PathBuf::from(&name);
        if leads_to_modules(&dir.join(&folder))? {
            found.push(folder);
        }
    }
    Ok(found)
}

/// Whether a folder holds file lists of a library. Its family is not in the catalogue any more.
fn leads_to_modules(folder: &Path) -> Result<bool> {
    let prefix = format!("../{MODULES}/");
    let is_list = |name: &String| {
        Kind::of(Path::new(name)) == Some(Kind::List)
            && fs::read_to_string(folder.join(name)).is_ok_and(|text| text.lines().all(|l| l.starts_with(&prefix)))
    };
    Ok(entries(folder)?.keys().any(is_list))
}

/// Kinds of files that a generator writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Module,
    List,
    Manifest,
    Registers,
    Package,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        if package::is_name(path.file_name()?.to_str()?) {
            return Some(Self::Package);
        }
        match path.extension()?.to_str()? {
            "v" => Some(Self::Module),
            "f" => Some(Self::List),
            "json" => Some(Self::Manifest),
            other => host::extensions().any(|e| e == other).then_some(Self::Registers),
        }
    }

    /// Whether this program wrote the file: modules and manifests say so, a list stands beside its manifest.
    fn is_ours(self, path: &Path) -> bool {
        match self {
            Self::Module => fs::read(path).is_ok_and(|bytes| {
                let text = String::from_utf8_lossy(&bytes);
                text.lines().take_while(|l| l.starts_with("//")).any(|l| l.starts_with("// Generated by senbazuru "))
            }),
            Self::Registers => manifest(&path.with_extension("json")).is_some() && says_so(path),
            Self::Package => says_so(path),
            Self::List => manifest(&path.with_extension("json")).is_some(),
            Self::Manifest => manifest(path).is_some(),
        }
    }
}

/// Whether a file says at its head that this program wrote it.
fn says_so(path: &Path) -> bool {
    let says = |text: String| text.lines().take(3).any(|l| l.contains("Generated by senbazuru "));
    fs::read_to_string(path).is_ok_and(says)
}

/// A manifest of ours, whatever its version.
fn manifest(path: &Path) -> Option<Value> {
    let value: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let ours = value["generator"].as_str()?.starts_with("senbazuru ") && value["modules"].is_array();
    ours.then_some(value)
}

/// The files of the modules in a manifest.
fn modules(manifest: &Value) -> Vec<String> {
    let names = manifest["modules"].as_array().into_iter().flatten().filter_map(|m| m["name"].as_str());
    names.map(|name| format!("{name}.v")).collect()
}

/// The entries of a folder, sorted by name, each with whether it is a folder; nothing when there is no folder.
fn entries(dir: &Path) -> Result<BTreeMap<String, bool>> {
    let failed = |e: io::Error| Failure::file("read", dir, &e);
    let list = match fs::read_dir(dir) {
        // Whoever writes there will say what is in the way.
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(BTreeMap::new());
        }
        other => other.map_err(failed)?,
    };
    let mut found = BTreeMap::new();
    for entry in list {
        let entry = entry.map_err(failed)?;
        let is_dir = entry.file_type().map_err(failed)?.is_dir();
        found.insert(entry.file_name().to_string_lossy().into_owned(), is_dir);
    }
    Ok(found)
}
