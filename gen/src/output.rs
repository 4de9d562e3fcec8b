//! Files: whole or not at all. Those of a generated design are compared with what is there as well.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hdl::emit::SourceFile;
use hdl::lang::Design;

use crate::error::{Failure, Result};

/// Every file of a design: one per module, `<top>.f` (file list, children first), `<top>.json` (manifest).
///
/// # Errors
/// A manifest that JSON cannot hold.
pub fn files(design: &Design) -> Result<Vec<SourceFile>> {
    let mut files = design.verilog();
    let top = design.top_name();
    let list: String = files.iter().map(|f| format!("{}\n", f.name)).collect();
    let manifest = serde_json::to_string_pretty(&design.manifest())
        .map_err(|e| Failure::Check(format!("manifest of {top}: {e}")))?;
    files.push(SourceFile { name: format!("{top}.f"), text: list });
    files.push(SourceFile { name: format!("{top}.json"), text: manifest + "\n" });
    Ok(files)
}

/// What a folder may hold besides the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The folder belongs to the generator: anything else in it is removed, and is stale in a comparison.
    Generator,
    /// The folder belongs to the user: anything else in it stays.
    User,
}

/// Writes `files` into `dir`, which is made when missing. Each file appears whole or not at all: everything is written
/// beside its place first and then renamed.
///
/// # Errors
/// Names the folder that cannot be written.
pub fn write(dir: &Path, files: &[SourceFile], owner: Owner) -> Result<()> {
    let failed = |e: io::Error| Failure::file("write", dir, &e);
    fs::create_dir_all(dir).map_err(failed)?;
    let temporary = tempfile::Builder::new().prefix(".senbazuru-").tempdir_in(dir).map_err(failed)?;
    for file in files {
        fs::write(temporary.path().join(&file.name), &file.text).map_err(failed)?;
    }
    for file in files {
        fs::rename(temporary.path().join(&file.name), dir.join(&file.name)).map_err(failed)?;
    }
    temporary.close().map_err(failed)?;
    if owner == Owner::Generator {
        let keep: Vec<_> = files.iter().map(|f| f.name.as_str()).collect();
        for name in contents(dir)?.iter().filter(|name| !keep.contains(&name.as_str())) {
            fs::remove_file(dir.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}

/// Writes a file so that a reader sees the old one, or the new one, and nothing else.
///
/// # Errors
/// A folder that cannot be made or written.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |e: io::Error| Failure::file("write", path, &e);
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(failed)?;
    // Readable by whom the user's umask allows: stores are shared.
    let permissions = fs::Permissions::from_mode(0o666);
    let mut builder = tempfile::Builder::new();
    let mut file = builder.prefix(".new-").permissions(permissions).tempfile_in(folder).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// What differs between `dir` and `files`, one line each; empty when the folder is fresh.
///
/// # Errors
/// A folder that exists but cannot be read.
pub fn compare(dir: &Path, files: &[SourceFile], owner: Owner) -> Result<Vec<String>> {
    let mut there = contents(dir)?;
    let mut stale = Vec::new();
    for file in files {
        let path = dir.join(&file.name);
        if !there.remove(&file.name) {
            stale.push(format!("{} is missing", path.display()));
            continue;
        }
        let text = fs::read(&path).map_err(|e| Failure::file("read", &path, &e))?;
        if text != file.text.as_bytes() {
            stale.push(format!("{}:{} differs", path.display(), first_difference(&text, &file.text)));
        }
    }
    if owner == Owner::Generator {
        stale.extend(there.iter().map(|name| format!("{} is not generated any more", dir.join(name).display())));
    }
    Ok(stale)
}

/// The folders in a folder, sorted; none when there is no folder.
///
/// # Errors
/// A folder that exists but cannot be read.
pub fn folders(dir: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(dir)?.into_iter().filter(|(_, is_dir)| *is_dir).map(|(name, _)| dir.join(name)).collect())
}

/// The plain files of a folder; none when there is no folder.
fn contents(dir: &Path) -> Result<BTreeSet<String>> {
    Ok(entries(dir)?.into_iter().filter(|(_, is_dir)| !is_dir).map(|(name, _)| name).collect())
}

/// What is in a folder, sorted by name, and whether it is a folder itself.
fn entries(dir: &Path) -> Result<BTreeMap<String, bool>> {
    let failed = |e: io::Error| Failure::file("read", dir, &e);
    let list = match fs::read_dir(dir) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
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

/// Line number of the first difference.
fn first_difference(old: &[u8], new: &str) -> usize {
    let same = old.iter().zip(new.as_bytes()).take_while(|(a, b)| a == b);
    1 + same.filter(|(a, _)| **a == b'\n').count()
}
