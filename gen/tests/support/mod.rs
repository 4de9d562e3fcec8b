//! Runs the built command.
#![allow(dead_code, reason = "not every test uses all of it")]

pub mod library;
pub mod pages;
pub mod parts;
pub mod refute;
pub mod trust;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use sim::process::Tool;
use snapbox::cmd::{Command, cargo_bin};
use tempfile::TempDir;

/// A mesh that every tool handles in a moment.
pub const MESH: [&str; 8] =
    ["--set", "rows=2", "--set", "columns=2", "--set", "operand_width=4", "--set", "accumulator_width=8"];

/// A sweep over meshes of one to three cells.
pub const SMALL_MESHES: &str = r#"
title = "Small meshes"
block = "mac_mesh"
stages = ["gen", "synth"]
where = ["rows * columns <= 3"]
[fixed]
operand_width = 3
[axes]
rows = { from = 1, to = 3 }
columns = [1, 2]
[derived]
accumulator_width = "2 * operand_width + rows"
"#;

/// The command with its arguments, in the folder of the tests. File names in messages have no folder of this machine.
pub fn senbazuru(args: &[&str]) -> Command {
    Command::new(cargo_bin!("senbazuru")).args(args)
}

/// The line a minute that a command writes while it works: `1:00 min: mutants of x`. A busy machine has some.
pub fn is_sign_of_life(line: &str) -> bool {
    line.split_once(" min: ").is_some_and(|(time, _)| time.contains(':'))
}

/// What a command says on standard error, without signs of life.
pub fn said(errors: &[u8]) -> String {
    let text = String::from_utf8(errors.to_vec()).unwrap();
    text.split_inclusive('\n').filter(|line| !is_sign_of_life(line)).collect()
}

/// Checks all of `work` on all cores, and reports every failure under its name.
pub fn on_all_cores<T: Send>(work: Vec<(String, T)>, check: impl Fn(&T) -> Result<(), String> + Sync) {
    let work = Mutex::new(work);
    let failures = Mutex::new(Vec::new());
    let next = || work.lock().unwrap().pop();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((name, item)) = next() {
                    let start = Instant::now();
                    let outcome = catch_unwind(AssertUnwindSafe(|| check(&item)));
                    println!("{:.1} s {name}", start.elapsed().as_secs_f64());
                    if let Err(e) = outcome.unwrap_or_else(|_| Err("panicked, see above".into())) {
                        failures.lock().unwrap().push(format!("{name}:\n{e}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
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

/// The environment of cargo in a crate outside of the workspace: all such crates share compiled code.
pub fn outside() -> [(&'static str, String); 2] {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("outside");
    [("CARGO_TARGET_DIR", target.display().to_string()), ("CARGO_INCREMENTAL", "0".to_owned())]
}

/// Writes a shell script that can be run.
pub fn program(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, script).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A sweep as a process that a test can kill or give an environment.
pub fn sweep_command(sweep: &Path, output: &Path, store: &Path, more: &[&str]) -> Tool {
    Tool::new(cargo_bin!("senbazuru").display().to_string())
        .arg("sweep")
        .arg(sweep)
        .args(["--output".as_ref(), output.as_os_str(), "--store".as_ref(), store.as_os_str()])
        .args(more)
}

/// The same on the Slurm cluster of the test.
pub fn cluster_command(sweep: &Path, output: &Path, store: &Path, more: &[&str]) -> Tool {
    sweep_command(sweep, output, store, more).args(["--engine", "slurm"])
}
