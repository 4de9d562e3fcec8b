//! Size and cleaning of the cache.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::cache::{Cache, SUMS};
use crate::held::{Aged, Held, Left, keep_newest, limit};
use crate::{Error, Result, files};

/// The limit for [`Cache::User`], in MiB. Builds beyond the limit are removed when a new one comes.
pub const LIMIT: &str = "SENBAZURU_CACHE_LIMIT";

/// A build that was used in this time is not removed by the limit: a process may be about to load it.
const RECENT: Duration = Duration::from_secs(600);

/// A finished build.
struct Entry {
    path: PathBuf,
    lock: PathBuf,
}

impl Cache {
    /// The content of each section, by name: models, the runtime, included headers, verdicts of equivalence.
    ///
    /// # Errors
    /// The folder exists and cannot be read.
    pub fn held(&self) -> Result<BTreeMap<String, Held>> {
        let mut held = BTreeMap::<String, Held>::new();
        for entry in entries(&self.root())? {
            let section = entry.what.path.parent().and_then(Path::file_name).unwrap_or_default();
            held.entry(section.to_string_lossy().into_owned()).or_default().add(entry.bytes);
        }
        Ok(held)
    }

    /// Removes finished builds, beginning with the build that was unused for the longest time, until at most `most`
    /// bytes remain. An entry that is being built stays. A process that is about to load a removed entry fails, as on a
    /// full disk.
    ///
    /// # Errors
    /// A folder cannot be read, or an entry cannot be removed.
    pub fn shrink(&self, most: u64) -> Result<Left> {
        let root = self.root();
        keep_newest(entries(&root)?, most, |entry| remove(&root, &entry.what))
    }

    /// The value of [`LIMIT`], in bytes.
    pub(super) fn limit(&self) -> Result<Option<u64>> {
        if *self == Self::User { limit(LIMIT) } else { Ok(None) }
    }

    /// Keeps the limit after a new build. Builds that were used in the last minutes stay.
    pub(super) fn keep(&self, most: u64) -> Result<()> {
        self.shrink_old(most, RECENT)
    }

    fn shrink_old(&self, most: u64, recent: Duration) -> Result<()> {
        let (root, now) = (self.root(), SystemTime::now());
        keep_newest(entries(&root)?, most, |entry| {
            // A time in the future is a recent one.
            let old = now.duration_since(entry.used).is_ok_and(|age| age > recent);
            Ok::<_, Error>(old && remove(&root, &entry.what)?)
        })?;
        Ok(())
    }
}

/// Removes an entry in one step, under its lock. False if another process has the lock.
fn remove(root: &Path, entry: &Entry) -> Result<bool> {
    let lock = fs::File::create(&entry.lock).map_err(Error::io(&entry.lock))?;
    if !is_free(&lock) {
        return Ok(false);
    }
    let staging = root.join("tmp");
    let scratch = files::scratch_in(&staging).map_err(Error::io(&staging))?;
    match fs::rename(&entry.path, scratch.path().join("entry")) {
        // Another cleaning was faster.
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(true),
        other => other.map(|()| true).map_err(Error::io(&entry.path)),
    }
}

/// Takes a lock that nobody has. A lock that was just released may look taken: a process that another thread starts has
/// all open files up to its `exec`.
fn is_free(lock: &fs::File) -> bool {
    (0..50).any(|_| {
        let free = lock.try_lock().is_ok();
        if !free {
            std::thread::sleep(Duration::from_millis(2));
        }
        free
    })
}

/// Only folders with a list of checksums are entries. Other content of the folder, such as downloads, has no such list.
fn entries(root: &Path) -> Result<Vec<Aged<Entry>>> {
    let mut all = Vec::new();
    for section in folders(root)? {
        if section.ends_with("tmp") {
            continue;
        }
        for path in folders(&section)? {
            let lock = root.join("lock").join(path.file_name().unwrap_or_default());
            match look(&path) {
                Ok((bytes, used)) => all.push(Aged { what: Entry { path, lock }, bytes, used }),
                // No entry, or one that just went.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                Err(e) => return Err(Error::io(&path)(e)),
            }
        }
    }
    Ok(all)
}

/// Bytes of an entry, and when it was used.
fn look(path: &Path) -> io::Result<(u64, SystemTime)> {
    let sums = fs::metadata(path.join(SUMS))?;
    let mut bytes = 0;
    for file in fs::read_dir(path)? {
        bytes += file?.metadata()?.len();
    }
    let written = sums.modified()?;
    Ok((bytes, sums.accessed().map_or(written, |read| read.max(written))))
}

/// The folders in a folder, which need not be there.
fn folders(of: &Path) -> Result<Vec<PathBuf>> {
    let found = match fs::read_dir(of) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
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
            let then = SystemTime::now() - Duration::from_secs(86_400 * age);
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
    fn the_limit_spares_what_was_just_used() {
        let (folder, cache) = three();
        cache.find("models", "a").unwrap();
        cache.shrink_old(0, RECENT).unwrap();
        assert!(folder.path().join("models/a").exists());
        assert_eq!(cache.held().unwrap()["models"].entries, 1);
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
