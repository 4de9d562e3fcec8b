//! How much the cache holds, and how it gets smaller.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Cache;
use super::cache::SUMS;
use crate::{Error, Result, files};

/// What a section of the cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Finished builds.
    pub entries: u64,
    /// Bytes of their files.
    pub bytes: u64,
}

/// What a cleaning did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// What went.
    pub removed: Held,
    /// What stayed, since it was used last or is in use.
    pub kept: Held,
}

/// A finished build.
struct Entry {
    path: PathBuf,
    lock: PathBuf,
    bytes: u64,
    used: SystemTime,
}

impl Held {
    fn add(&mut self, bytes: u64) {
        self.entries += 1;
        self.bytes += bytes;
    }
}

impl Cache {
    /// What the sections hold, by name: models, the runtime, what they include, verdicts of equivalence.
    ///
    /// # Errors
    /// The folder is there and cannot be read.
    pub fn held(&self) -> Result<BTreeMap<String, Held>> {
        let mut held = BTreeMap::<String, Held>::new();
        for entry in entries(&self.root())? {
            let section = entry.path.parent().and_then(Path::file_name).unwrap_or_default();
            held.entry(section.to_string_lossy().into_owned()).or_default().add(entry.bytes);
        }
        Ok(held)
    }

    /// Removes finished builds, those unused for the longest time first, until at most `most` bytes are left. An entry that
    /// is being built stays; one that a process is about to load makes that process fail, as on a full disk.
    ///
    /// # Errors
    /// A folder cannot be read, or an entry cannot be removed.
    pub fn shrink(&self, most: u64) -> Result<Left> {
        let root = self.root();
        let mut all = entries(&root)?;
        all.sort_by_key(|entry| entry.used);
        let (mut left, mut bytes) = (Left::default(), all.iter().map(|entry| entry.bytes).sum::<u64>());
        for entry in all {
            if bytes > most && remove(&root, &entry)? {
                bytes -= entry.bytes;
                left.removed.add(entry.bytes);
            } else {
                left.kept.add(entry.bytes);
            }
        }
        Ok(left)
    }
}

/// An entry goes as it came: in one step, under its lock. False if somebody has that.
fn remove(root: &Path, entry: &Entry) -> Result<bool> {
    let lock = fs::File::create(&entry.lock).map_err(Error::io(&entry.lock))?;
    if lock.try_lock().is_err() {
        return Ok(false);
    }
    let staging = root.join("tmp");
    let scratch = files::scratch_in(&staging).map_err(Error::io(&staging))?;
    fs::rename(&entry.path, scratch.path().join("entry")).map_err(Error::io(&entry.path))?;
    Ok(true)
}

/// What has a list of checksums is an entry: nothing else in the folder is one, such as downloads.
fn entries(root: &Path) -> Result<Vec<Entry>> {
    let mut all = Vec::new();
    for section in folders(root)? {
        if section.ends_with("tmp") {
            continue;
        }
        for path in folders(&section)? {
            let Ok(sums) = fs::metadata(path.join(SUMS)) else { continue };
            let lock = root.join("lock").join(path.file_name().unwrap_or_default());
            let mut bytes = 0;
            for file in fs::read_dir(&path).map_err(Error::io(&path))? {
                bytes += file.and_then(|file| file.metadata()).map_err(Error::io(&path))?.len();
            }
            let written = sums.modified().map_err(Error::io(&path))?;
            // Looked at in every use; some systems note that once a day only.
            let used = sums.accessed().map_or(written, |read| read.max(written));
            all.push(Entry { path, lock, bytes, used });
        }
    }
    Ok(all)
}

/// The folders in a folder, which need not be there.
fn folders(of: &Path) -> Result<Vec<PathBuf>> {
    let found = match fs::read_dir(of) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other.map_err(Error::io(of))?,
    };
    let mut all = Vec::new();
    for entry in found {
        let entry = entry.map_err(Error::io(of))?;
        if entry.file_type().map_err(Error::io(of))?.is_dir() {
            all.push(entry.path());
        }
    }
    all.sort();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cache of three builds of 100 bytes, used in the order of their names, and a download.
    fn three() -> (tempfile::TempDir, Cache) {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::At(folder.path().into());
        for (age, key) in [(30, "a"), (20, "b"), (10, "c")] {
            let write = |folder: &Path| fs::write(folder.join("model.so"), [7; 100]).map_err(Error::io(folder));
            let path = cache.entry("models", key, write).unwrap();
            let then = SystemTime::now() - std::time::Duration::from_secs(86_400 * age);
            let times = fs::FileTimes::new().set_accessed(then).set_modified(then);
            fs::File::options().write(true).open(path.join(SUMS)).unwrap().set_times(times).unwrap();
        }
        fs::create_dir(folder.path().join("weights")).unwrap();
        fs::write(folder.path().join("weights/model.gguf"), "98 MB").unwrap();
        (folder, cache)
    }

    #[test]
    fn sizes() {
        let (_folder, cache) = three();
        let held = cache.held().unwrap();
        assert_eq!(held.keys().collect::<Vec<_>>(), ["models"]);
        assert_eq!(held["models"].entries, 3);
        assert!(held["models"].bytes > 300);
        assert_eq!(Cache::At("/no/such/folder".into()).held().unwrap(), BTreeMap::new());
    }

    #[test]
    fn the_longest_unused_go_first() {
        let (folder, cache) = three();
        let each = cache.held().unwrap()["models"].bytes / 3;
        let left = cache.shrink(2 * each).unwrap();
        assert_eq!((left.removed.entries, left.kept), (1, Held { entries: 2, bytes: 2 * each }));
        assert!(!folder.path().join("models/a").exists() && folder.path().join("models/b").exists());
        assert_eq!(cache.shrink(0).unwrap().removed.entries, 2);
        assert!(folder.path().join("weights/model.gguf").exists());
        assert_eq!(fs::read_dir(folder.path().join("tmp")).unwrap().count(), 0);
    }

    #[test]
    fn what_is_in_use_stays() {
        let (folder, cache) = three();
        let lock = fs::File::open(folder.path().join("lock/a")).unwrap();
        lock.lock().unwrap();
        let left = cache.shrink(0).unwrap();
        assert_eq!((left.removed.entries, left.kept.entries), (2, 1));
        assert!(folder.path().join("models/a").exists());
    }
}
