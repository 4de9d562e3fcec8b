//! Runs the built command.

use std::fs;

use snapbox::cmd::{Command, cargo_bin};
use tempfile::TempDir;

/// A mesh that every tool handles in a moment.
pub const MESH: [&str; 8] =
    ["--set", "rows=2", "--set", "columns=2", "--set", "operand_width=4", "--set", "accumulator_width=8"];

/// The command with its arguments, in the folder of the tests. File names in messages have no folder of this machine.
pub fn senbazuru(args: &[&str]) -> Command {
    Command::new(cargo_bin!("senbazuru")).args(args)
}

/// A temporary folder with files in it.
pub fn in_folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}
