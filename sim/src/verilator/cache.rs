//! A folder of finished builds, addressed by a hash of their inputs.
//!
//! An entry is built in a temporary folder inside the cache and renamed into place, so it exists completely or not at
//! all. With a file lock per key, threads and processes that want the same entry wait for one build. The system
//! releases the lock of a killed process.
//!
//! Disks fill up and machines lose power. The loader does not refuse a damaged shared object: the program crashes. So
//! an entry lists the checksums of its files, which are compared before the entry is used. A damaged entry is built
//! again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::{Error, Result, files};

/// The list of checksums in an entry: one line a file, checksum and name.
pub(super) const SUMS: &str = "checksums.txt";

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

    /// The finished folder for `key` in the section `kind`, if it is there and whole.
    pub(crate) fn find(&self, kind: &str, key: &str) -> Option<PathBuf> {
        let path = absolute(&self.root()).ok()?.join(kind).join(key);
        is_whole(&path).then(|| {
            note_use(&path);
            path
        })
    }

    /// As [`Self::entry`], for entries that many models need: their checksums are compared once in a process.
    pub(crate) fn shared(&self, kind: &str, key: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        static WHOLE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
        let known = || WHOLE.lock().unwrap_or_else(PoisonError::into_inner);
        let path = absolute(&self.root())?.join(kind).join(key);
        // Another process may have removed it to make room.
        if known().contains(&path) && path.join(SUMS).is_file() {
            note_use(&path);
            return Ok(path);
        }
        let path = self.entry(kind, key, build)?;
        known().insert(path.clone());
        Ok(path)
    }

    /// The finished folder for `key` in the section `kind`. If there is none yet, or it is damaged, `build` fills a
    /// temporary folder.
    pub(crate) fn entry(&self, kind: &str, key: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
        let root = absolute(&self.root())?;
        if let Some(path) = self.find(kind, key) {
            return Ok(path);
        }
        let limit = self.limit()?;
        let path = root.join(kind).join(key);
        let staging = root.join("tmp");
        for folder in [&root.join(kind), &staging, &root.join("lock")] {
            fs::create_dir_all(folder).map_err(Error::io(folder))?;
        }
        let lock_path = root.join("lock").join(key);
        clear_unless(&lock_path, fs::FileType::is_file)?;
        let lock = fs::File::create(&lock_path).map_err(Error::io(&lock_path))?;
        lock.lock().map_err(Error::io(&lock_path))?;
        if is_whole(&path) {
            return Ok(path);
        }
        files::sweep(&staging);
        let scratch = files::scratch_in(&staging).map_err(Error::io(&staging))?;
        let contents = scratch.path().join("entry");
        fs::create_dir(&contents).map_err(Error::io(&contents))?;
        build(&contents)?;
        let sums: String = sums_of(&contents)?.iter().map(|(name, sum)| format!("{sum}  {name}\n")).collect();
        fs::write(contents.join(SUMS), sums).map_err(Error::io(&contents))?;
        // A damaged entry is moved away first: a folder cannot be renamed onto a folder that is not empty. A process
        // that has loaded its model keeps the files.
        clear_unless(&path, |_| false)?;
        fs::rename(&contents, &path).map_err(Error::io(&path))?;
        limit.map_or(Ok(()), |most| self.keep(most))?;
        Ok(path)
    }
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(Error::io(path))
}

/// Removes the file or folder at `path`, unless it is of the right kind. An empty path is no error.
fn clear_unless(path: &Path, right: impl Fn(&fs::FileType) -> bool) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if right(&found.file_type()) {
        return Ok(());
    }
    if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.map_err(Error::io(path))
}

/// The entry exists, and has exactly the files that were put into it, unchanged.
fn is_whole(entry: &Path) -> bool {
    let Some(text) = files::read_regular(&entry.join(SUMS)).ok().and_then(|bytes| String::from_utf8(bytes).ok()) else {
        return false;
    };
    let listed: BTreeMap<_, _> =
        text.lines().filter_map(|l| l.split_once("  ")).map(|(sum, name)| (name.to_owned(), sum.to_owned())).collect();
    sums_of(entry).is_ok_and(|found| found == listed)
}

/// Checksums of the files of an entry by name. Entries have no folders inside.
fn sums_of(entry: &Path) -> Result<BTreeMap<String, String>> {
    let mut sums = BTreeMap::new();
    for file in fs::read_dir(entry).map_err(Error::io(entry))? {
        let path = file.map_err(Error::io(entry))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name != SUMS {
            let bytes = files::read_regular(&path).map_err(Error::io(&path))?;
            sums.insert(name, blake3::hash(&bytes).to_hex()[..32].to_owned());
        }
    }
    Ok(sums)
}

/// Notes that an entry is used, because many systems note reads only once a day. Without permission to write, nothing
/// is noted.
pub(super) fn note_use(entry: &Path) {
    if let Ok(sums) = fs::File::open(entry.join(SUMS)) {
        let _ = sums.set_times(fs::FileTimes::new().set_accessed(SystemTime::now()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

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

    /// Damages an entry in one way; the next request must build it again and find it whole afterwards.
    fn is_rebuilt(damage: impl Fn(&Path)) -> bool {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::At(root.path().into());
        let path = cache.entry("models", "key", |folder| write(folder, "whole")).unwrap();
        damage(&path);
        let mut builds = 0;
        for _ in 0..2 {
            let again = cache.entry("models", "key", |folder| {
                builds += 1;
                write(folder, "whole")
            });
            assert_eq!(fs::read_to_string(again.unwrap().join("file")).unwrap(), "whole");
        }
        builds == 1
    }

    fn fifo(path: &Path) {
        use crate::process::Tool;
        assert!(Tool::new("mkfifo").arg(path).run().unwrap().success());
    }

    #[test]
    fn damaged_entries_are_built_again() {
        assert!(!is_rebuilt(|_| ()));
        assert!(is_rebuilt(|path| fs::write(path.join("file"), "whale").unwrap()));
        assert!(is_rebuilt(|path| fs::write(path.join("file"), "who").unwrap()));
        assert!(is_rebuilt(|path| fs::write(path.join(SUMS), "").unwrap()));
        assert!(is_rebuilt(|path| fs::remove_file(path.join("file")).unwrap()));
        assert!(is_rebuilt(|path| fs::remove_file(path.join(SUMS)).unwrap()));
        // The other end of a FIFO may never be opened.
        assert!(is_rebuilt(|path| {
            fs::remove_file(path.join("file")).unwrap();
            fifo(&path.join("file"));
        }));
        assert!(is_rebuilt(|path| {
            fs::remove_file(path.join(SUMS)).unwrap();
            fifo(&path.join(SUMS));
        }));
        assert!(is_rebuilt(|path| {
            fs::remove_dir_all(path).unwrap();
            fifo(path);
        }));
        assert!(is_rebuilt(|path| {
            let lock = path.join("../../lock/key");
            fs::remove_file(&lock).unwrap();
            fifo(&lock);
            fs::remove_dir_all(path).unwrap();
        }));
    }

    #[test]
    fn leftovers_of_the_dead_go_and_those_of_the_living_stay() {
        let root = tempfile::tempdir().unwrap();
        let tmp = root.path().join("tmp");
        fs::create_dir(&tmp).unwrap();
        let living = files::scratch_in(&tmp).unwrap();
        fs::write(tmp.join(".senbazuru-dead.lock"), "").unwrap();
        fs::create_dir_all(tmp.join(".senbazuru-dead/entry")).unwrap();
        Cache::At(root.path().into()).entry("models", "key", |folder| write(folder, "x")).unwrap();
        assert!(living.path().exists());
        assert_eq!(fs::read_dir(&tmp).unwrap().count(), 2);
    }
}
