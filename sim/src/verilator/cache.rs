//! A folder of finished builds, addressed by what went into them.
//!
//! An entry is built in a temporary folder inside the cache and renamed into place, so it exists completely or not at
//! all. A file lock per key lets threads and processes that want the same entry wait for one build; the system releases
//! the lock of a killed process.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::{Error, Result};

/// Leftovers of killed builds are removed after this time; no build takes as long.
const STALE: Duration = Duration::from_secs(24 * 3600);

/// Where compiled models are kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Cache {
    /// `$SENBAZURU_CACHE`, else `$XDG_CACHE_HOME/senbazuru`, else `~/.cache/senbazuru`, else a folder in the system's
    /// temporary folder.
    #[default]
    User,
    /// A folder of the caller's choice; it is created when missing.
    At(PathBuf),
}

impl Cache {
    /// The folder.
    pub fn root(&self) -> PathBuf {
        let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
        match self {
            Self::At(path) => path.clone(),
            Self::User => var("SENBAZURU_CACHE")
                .or_else(|| var("XDG_CACHE_HOME").map(|p| p.join("senbazuru")))
                .or_else(|| var("HOME").map(|p| p.join(".cache/senbazuru")))
                .unwrap_or_else(|| std::env::temp_dir().join("senbazuru")),
        }
    }

    /// The finished folder for `key` in the section `kind`; `build` fills a temporary folder when there is none yet.
    pub(crate) fn entry(&self, kind: &str, key: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let root = absolute(&self.root())?;
        let path = root.join(kind).join(key);
        if path.is_dir() {
            return Ok(path);
        }
        for folder in [root.join(kind), root.join("tmp"), root.join("lock")] {
            fs::create_dir_all(&folder).map_err(Error::io(&folder))?;
        }
        let lock_path = root.join("lock").join(key);
        let lock = fs::File::create(&lock_path).map_err(Error::io(&lock_path))?;
        lock.lock().map_err(Error::io(&lock_path))?;
        if path.is_dir() {
            return Ok(path);
        }
        remove_stale(&root.join("tmp"));
        let staging = tempfile::Builder::new()
            .prefix(&format!("{}-", &key[..key.len().min(12)]))
            .tempdir_in(root.join("tmp"))
            .map_err(Error::io(root.join("tmp")))?;
        let contents = staging.path().join("entry");
        fs::create_dir(&contents).map_err(Error::io(&contents))?;
        build(&contents)?;
        fs::rename(&contents, &path).map_err(Error::io(&path))?;
        Ok(path)
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(Error::io(path))
}

fn remove_stale(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let now = SystemTime::now();
    for entry in entries.flatten() {
        let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| now.duration_since(t).ok());
        if age.is_some_and(|age| age > STALE) {
            // Another process may be removing the same leftover.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn write(folder: &Path, text: &str) -> Result<()> {
        fs::write(folder.join("file"), text).map_err(Error::io(folder))
    }

    #[test]
    fn concurrent_requests_build_once() {
        let root = tempfile::tempdir().unwrap();
        let (cache, builds) = (Cache::At(root.path().into()), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let path = cache.entry("models", "key", |folder| {
                        builds.fetch_add(1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(30));
                        write(folder, "built")
                    });
                    assert_eq!(fs::read_to_string(path.unwrap().join("file")).unwrap(), "built");
                });
            }
        });
        assert_eq!(builds.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn failed_build_leaves_nothing_and_can_be_repeated() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::At(root.path().into());
        let failed = cache.entry("models", "key", |folder| {
            write(folder, "half")?;
            Err(Error::Unsupported("on purpose".into()))
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(root.path().join("tmp")).unwrap().count(), 0);
        let path = cache.entry("models", "key", |folder| write(folder, "whole")).unwrap();
        assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "whole");
    }

    #[test]
    fn old_leftovers_go_and_young_ones_stay() {
        let root = tempfile::tempdir().unwrap();
        let (old, young) = (root.path().join("tmp/old"), root.path().join("tmp/young"));
        for folder in [&old, &young] {
            fs::create_dir_all(folder.join("entry")).unwrap();
        }
        let past = SystemTime::now() - STALE - Duration::from_secs(60);
        fs::File::open(&old).unwrap().set_modified(past).unwrap();
        Cache::At(root.path().into()).entry("models", "key", |folder| write(folder, "x")).unwrap();
        assert!(!old.exists() && young.exists());
    }
}
