//! Files: whole or not at all.
//!
//! [`Bundle`] holds the files of one design, or of several that share modules, and knows their places. `earlier` finds
//! files in a folder that an earlier run left. `package` makes the files for other flows.

mod bundle;
mod earlier;
mod host;
mod layout;
mod package;
mod templates;
mod writing;
pub(crate) use templates::{bug, environment};

pub use bundle::{Bundle, Design, Layout};
#[cfg(feature = "accelerators")]
pub(crate) use host::files as software;

pub use earlier::{Earlier, remove_stale};
pub use package::Package;

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use crate::error::{Failure, Result};

/// Refuses the place of a file that [`replace`] could not write: so a command says it before its work, not after.
///
/// # Errors
/// A folder is there, or no file can be made there.
pub fn check_place(path: &Path) -> Result<()> {
    let there = fs::metadata(path);
    if there.as_ref().is_ok_and(fs::Metadata::is_dir) {
        return Err(Failure::Usage(format!("cannot write {}: it is a folder; name a file", path.display())));
    }
    if there.is_ok_and(|there| there.file_type().is_char_device()) {
        return Ok(());
    }
    sim::folders::check_parent(path).map_err(|e| Failure::file("write", path, &e))
}

/// Writes a file so that a reader sees the old one, or the new one, and nothing else.
///
/// # Errors
/// A folder that cannot be made or written.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    let failed = |e: io::Error| Failure::file("write", path, &e);
    // A terminal or /dev/null is written to, not put aside.
    if fs::metadata(path).is_ok_and(|there| there.file_type().is_char_device()) {
        return fs::write(path, bytes).map_err(failed);
    }
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
