//! Where files are in the folder of a bundle.

use std::path::{Path, PathBuf};

/// Where the files go, relative to one folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All in the folder itself; file list and manifest are named by the top module. The folder may hold other things.
    Flat,
    /// Modules in `modules`, file list and manifest of a block as `<family>/<block>.f` and `.json`. These folders belong
    /// to the generator.
    Library,
}

/// Where the modules of a library are.
pub(super) const MODULES: &str = "modules";

impl Layout {
    pub(super) fn module(self, file: &str) -> PathBuf {
        match self {
            Self::Flat => file.into(),
            Self::Library => Path::new(MODULES).join(file),
        }
    }

    /// A module as its file list names it: relative to the list.
    pub(super) fn listed(self, file: &str) -> String {
        match self {
            Self::Flat => file.to_owned(),
            Self::Library => format!("../{MODULES}/{file}"),
        }
    }
}
