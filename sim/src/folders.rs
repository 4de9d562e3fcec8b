//! Folders that appear as a whole, in place of an earlier one of the same kind or of nothing.

use std::fs;
use std::io::{self, Error, ErrorKind, Write};
use std::path::Path;

use crate::files::scratch_in;

/// What a folder is.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Its name in messages, as in `a calibration`.
    pub name: &'static str,
    /// Whether a folder is one, and has nothing else in it.
    pub is_one: fn(&Path) -> bool,
}

impl std::fmt::Debug for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// Refuses a place that [`write`] would refuse: so a program says it before its work, not after.
///
/// # Errors
/// Something else is there, or no folder can be made there.
pub fn check(folder: &Path, kind: Kind) -> io::Result<()> {
    match fs::symlink_metadata(folder) {
        Err(_) => check_parent(folder),
        Ok(_) if !folder.is_dir() => Err(refused("is no folder; name another one")),
        Ok(_) => {
            let is_free = fs::read_dir(folder)?.next().is_none();
            if !is_free && !(kind.is_one)(folder) {
                let told = format!("has something else than {} in it; name another folder", kind.name);
                return Err(refused(&told));
            }
            check_parent(folder)
        }
    }
}

/// Refuses the place of a file or folder if it cannot be made there, with the folders above that are missing.
///
/// # Errors
/// The nearest folder above that exists is a file, or cannot be written.
pub fn check_parent(path: &Path) -> io::Result<()> {
    let mut above = parent(path);
    while fs::metadata(above).is_err_and(|e| e.kind() == ErrorKind::NotFound) && above.parent().is_some() {
        above = parent(above);
    }
    scratch_in(above).map(drop)
}

/// Writes files with these names to a folder. It appears as a whole. Returns the bytes of all files.
///
/// # Errors
/// The errors of [`check`]; or the system cannot write.
pub fn write(folder: &Path, kind: Kind, files: &[(&str, &[u8])]) -> io::Result<usize> {
    check(folder, kind)?;
    let above = parent(folder);
    fs::create_dir_all(above)?;
    let scratch = scratch_in(above)?;
    let (new, old) = (scratch.path().join("new"), scratch.path().join("old"));
    fs::create_dir(&new)?;
    let mut size = 0;
    for (name, bytes) in files {
        let mut file = fs::File::create(new.join(name))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        size += bytes.len();
    }
    let is_there = fs::symlink_metadata(folder).is_ok();
    if is_there {
        fs::rename(folder, &old)?;
    }
    if let Err(error) = fs::rename(&new, folder) {
        // What was there before is still whole.
        if is_there {
            fs::rename(&old, folder)?;
        }
        return Err(error);
    }
    Ok(size)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn refused(problem: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: Kind = Kind { name: "a pair", is_one: |folder| folder.join("a").is_file() };

    fn names(folder: &Path) -> Vec<String> {
        let mut all: Vec<String> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    }

    #[test]
    fn a_folder_takes_the_place_of_its_kind() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("deep/in");
        assert_eq!(write(&folder, KIND, &[("a", b"1"), ("b", b"23")]).unwrap(), 3);
        assert_eq!(names(&folder), ["a", "b"]);
        write(&folder, KIND, &[("a", b"4")]).unwrap();
        assert_eq!((names(&folder), names(&dir.path().join("deep"))), (vec!["a".to_owned()], vec!["in".to_owned()]));
    }

    #[test]
    fn what_is_there_stays() {
        let dir = tempfile::tempdir().unwrap();
        let (file, folder) = (dir.path().join("file"), dir.path().join("folder"));
        fs::write(&file, "mine").unwrap();
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("notes"), "mine").unwrap();
        for (place, part) in [
            (&file, "is no folder"),
            (&folder, "has something else than a pair in it; name another folder"),
            (&file.join("below"), "Not a directory"),
            (&Path::new("/proc/none/below").to_owned(), "temporary folder in /proc"),
        ] {
            for error in [check(place, KIND).unwrap_err(), write(place, KIND, &[("a", b"")]).unwrap_err()] {
                assert!(error.to_string().contains(part), "{place:?}: {error}");
            }
        }
        assert_eq!(names(dir.path()), ["file", "folder"]);
        assert_eq!((names(&folder), fs::read(&file).unwrap()), (vec!["notes".to_owned()], b"mine".to_vec()));
    }
}
