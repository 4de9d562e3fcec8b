//! Writes a bundle, next to what an earlier run has left.

use std::path::Path;
use std::{fs, io};

use sim::files;

use super::Earlier;
use super::bundle::{Bundle, is_verilog};
use crate::error::{Failure, Result};

impl Bundle {
    /// Writes all files into `dir`, which is made when missing. Each file appears whole or not at all: everything is
    /// written beside its place first and then renamed.
    ///
    /// # Errors
    /// Names the folder that cannot be written. A file that is not the generator's. A module whose text would change
    /// under a design of an earlier run in that folder.
    pub fn write(&self, dir: &Path, earlier: &Earlier) -> Result<()> {
        self.refuse_to_change(dir, earlier)?;
        let failed = |e: io::Error| Failure::file("write", dir, &e);
        fs::create_dir_all(dir).map_err(failed)?;
        // Files that a killed run left here go, too.
        files::sweep(dir);
        let temporary = files::scratch_in(dir).map_err(failed)?;
        for (number, text) in self.files.values().enumerate() {
            fs::write(temporary.path().join(number.to_string()), text).map_err(failed)?;
        }
        for (number, path) in self.files.keys().enumerate() {
            let to = dir.join(path);
            fs::create_dir_all(to.parent().unwrap_or(dir)).map_err(failed)?;
            fs::rename(temporary.path().join(number.to_string()), &to).map_err(failed)?;
        }
        Ok(())
    }

    fn refuse_to_change(&self, dir: &Path, earlier: &Earlier) -> Result<()> {
        for (path, text) in &self.files {
            if earlier.foreign.contains(path) {
                return Err(Failure::Usage(format!(
                    "{} is there already and not from senbazuru: write to another folder",
                    dir.join(path).display()
                )));
            }
            let Some((other, _)) = earlier.others.iter().find(|(_, files)| files.contains(path)) else { continue };
            let path = dir.join(path);
            if fs::read(&path).is_ok_and(|there| there != text.as_bytes()) {
                let what = if is_verilog(&path) { "module" } else { "file" };
                return Err(Failure::Check(format!(
                    "{} is another {what} than the one to be written, and {other}, which an earlier run left there, \
                     needs it: write to another folder, or remove what is of that run with --prune",
                    path.display()
                )));
            }
        }
        Ok(())
    }
}
