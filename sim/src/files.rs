//! Temporary folders that do not outlive their process by much, and reads that cannot hang.
//!
//! A [`Scratch`] folder is removed when its value is dropped. A process that is killed drops nothing. So each folder
//! has a lock file next to it. Its process holds the lock, and the system releases it when the process dies. When a
//! process makes its first folder, it removes all folders whose lock nobody holds. A process number would not do as a
//! mark of life: numbers are used again, and containers that share a folder do not see each other's numbers.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Once;

use tempfile::{Builder, TempDir};

/// Beginning of the names of folders and of their lock files: hidden, as they may be in a folder of the user.
const PREFIX: &str = ".senbazuru-";

/// End of the names of lock files.
const LOCK: &str = ".lock";

/// A temporary folder, removed with all that is in it when dropped.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    lock: PathBuf,
    _held: File,
}

impl Scratch {
    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The lock file is removed last: while it is there, other processes can finish an interrupted removal.
        let _ = fs::remove_dir_all(self.folder.path());
        let _ = fs::remove_file(&self.lock);
    }
}

/// A new folder in the system's temporary folder.
///
/// # Errors
/// The folder cannot be made.
pub fn scratch() -> io::Result<Scratch> {
    static SWEEP: Once = Once::new();
    let base = std::env::temp_dir();
    SWEEP.call_once(|| sweep(&base));
    scratch_in(&base)
}

/// A new folder in `base`.
///
/// # Errors
/// The folder cannot be made; the error names `base`.
pub fn scratch_in(base: &Path) -> io::Result<Scratch> {
    let named = |e: io::Error| io::Error::new(e.kind(), format!("temporary folder in {}: {e}", base.display()));
    loop {
        let file = Builder::new().prefix(PREFIX).suffix(LOCK).tempfile_in(base).map_err(named)?;
        let (held, lock) = file.keep().map_err(|e| named(e.error))?;
        held.lock().map_err(named)?;
        // Another process may have swept the file before it was locked.
        if !is(&held, &lock) {
            continue;
        }
        let name = lock.file_name().unwrap_or_default().to_string_lossy();
        let folder = Builder::new().prefix(name.trim_end_matches(LOCK)).rand_bytes(0).tempdir_in(base);
        return match folder {
            Ok(folder) => Ok(Scratch { folder, lock, _held: held }),
            Err(e) => {
                let _ = fs::remove_file(&lock);
                Err(named(e))
            }
        };
    }
}

/// Removes the folders in `base` that dead processes left. A folder that cannot be removed stays; it may belong to
/// another user.
pub fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(stem) = name.to_str().filter(|n| n.starts_with(PREFIX)).and_then(|n| n.strip_suffix(LOCK)) else {
            continue;
        };
        if !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue };
        if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) || !is(&file, &entry.path()) {
            continue;
        }
        let _ = fs::remove_dir_all(base.join(stem));
        let _ = fs::remove_file(entry.path());
    }
}

/// Whether the open `file` is still the file at `path`.
fn is(file: &File, path: &Path) -> bool {
    let (Ok(held), Ok(named)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (held.dev(), held.ino()) == (named.dev(), named.ino())
}

/// Reads a regular file, and refuses others: opening a FIFO waits for ever.
///
/// # Errors
/// The file is absent, of another kind, or cannot be read.
pub fn read_regular(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no regular file"));
    }
    fs::read(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(base: &Path) -> usize {
        fs::read_dir(base).unwrap().count()
    }

    #[test]
    fn a_dropped_folder_leaves_nothing() {
        let base = tempfile::tempdir().unwrap();
        let scratch = scratch_in(base.path()).unwrap();
        fs::write(scratch.path().join("file"), "x").unwrap();
        assert_eq!(names(base.path()), 2);
        drop(scratch);
        assert_eq!(names(base.path()), 0);
    }

    #[test]
    fn only_folders_of_the_dead_are_swept() {
        let base = tempfile::tempdir().unwrap();
        let alive = scratch_in(base.path()).unwrap();
        let dead = scratch_in(base.path()).unwrap();
        fs::write(dead.path().join("file"), "x").unwrap();
        let dead_path = dead.path().to_owned();
        // As after a kill: the lock is released and nothing is removed.
        let Scratch { folder, lock, _held } = &dead;
        _held.unlock().unwrap();
        assert!(folder.path().exists() && lock.exists());
        let foreign = base.path().join(".senbazuru-notes");
        fs::create_dir(&foreign).unwrap();
        sweep(base.path());
        assert!(alive.path().exists() && foreign.exists() && !dead_path.exists() && !dead.lock.exists());
    }

    #[test]
    fn a_missing_base_is_named() {
        let error = scratch_in(Path::new("/no/such/folder")).unwrap_err().to_string();
        assert!(error.contains("/no/such/folder"), "{error}");
    }
}
