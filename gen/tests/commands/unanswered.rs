//! A tool that dies says nothing about a design: nothing is stored, the message says how it died, and the next run asks
//! again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{in_folder, program, senbazuru};
use sim::process::Tool;
use snapbox::cmd::{Command, cargo_bin};

/// A folder for PATH in which one tool dies at its first real use; asked for its version it answers.
struct Deadly {
    folder: tempfile::TempDir,
    /// The engine of the simulation that the tool belongs to.
    engine: &'static str,
}

impl Deadly {
    /// `how` is the action of the shell instead of the tool's work.
    fn new(tool: &str, how: &str) -> Self {
        let folder = in_folder(&[]);
        let real = Tool::new("which").arg(tool).run().unwrap().stdout.trim().to_owned();
        let flag = folder.path().join("died");
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in *-V*|*--version*|*--getenv*) exec {real} \"$@\" ;; esac\n\
             if [ -e '{0}' ]; then exec {real} \"$@\"; fi\ntouch '{0}'\necho 'half a word'\n{how}\n",
            flag.display()
        );
        program(&folder.path().join(tool), &script);
        let engine = if tool == "cc" { "native" } else { "verilator" };
        Self { folder, engine }
    }

    fn died(&self) -> bool {
        self.folder.path().join("died").exists()
    }

    /// One point with a store and a cache of its own.
    fn point(&self, stage: &str, block: &[&str]) -> Run {
        let point = senbazuru(&["point"])
            .args(block)
            .args(["--stages", stage, "--vectors", "3", "--depth", "2", "--cover-depth", "8", "--store"])
            .arg(self.path("store"))
            .env("PATH", self.search())
            .env("SENBAZURU_ENGINE", self.engine)
            .env("SENBAZURU_CACHE", self.path("cache"));
        run(point)
    }

    fn search(&self) -> String {
        format!("{}:{}", self.folder.path().display(), std::env::var("PATH").unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// The result of the command.
struct Run {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

fn run(command: Command) -> Run {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

fn stored(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|e| e.unwrap().path());
    entries.map(|path| if path.is_dir() { stored(&path) } else { 1 }).sum()
}

const MESH: [&str; 5] = ["mac_mesh", "--set", "rows=1", "--set", "columns=1"];
const SMALL_PROOF: [&str; 5] = ["compactor", "--set", "lanes=2", "--set", "width=1"];

/// A tool that dies while it works on a stage, and the message.
fn dies(tool: &str, how: &str, stage: &str, block: &[&str], said: &[&str]) {
    let deadly = Deadly::new(tool, how);
    let first = deadly.point(stage, block);
    assert!(deadly.died(), "{tool} was not called:\n{}", first.stderr);
    assert_eq!(first.code, Some(4), "{tool}:\n{}", first.stderr);
    for part in said {
        assert!(first.stderr.contains(part), "{tool}: {part}?\n{}", first.stderr);
    }
    assert_eq!(stored(&deadly.path("store")), 0, "{tool}: its death was stored");
    let second = deadly.point(stage, block);
    assert_eq!(second.code, Some(0), "{tool}:\n{}", second.stderr);
    assert_eq!(stored(&deadly.path("store")), 1);
}

const KILLED: &str = "kill -9 $$";

#[test]
fn killed_yosys() {
    dies("yosys", KILLED, "synth", &MESH, &["error: synth: `yosys", "signal", "half a word"]);
}

#[test]
fn killed_abc() {
    // Yosys starts it through a shell.
    dies("berkeley-abc", KILLED, "synth", &MESH, &["error: synth: ", "ABC"]);
}

#[test]
fn killed_abc_of_the_graph() {
    dies("yosys-abc", KILLED, "synth", &MESH, &["error: synth: `yosys-abc", "signal", "half a word"]);
}

#[test]
fn killed_solver() {
    dies("z3", KILLED, "prove", &SMALL_PROOF, &["error: prove: "]);
}

#[test]
fn killed_verilator() {
    dies("verilator", KILLED, "sim", &MESH, &["error: sim: ", "half a word"]);
}

#[test]
fn killed_compiler() {
    dies("g++", KILLED, "sim", &MESH, &["error: sim: "]);
}

#[test]
fn killed_c_compiler() {
    dies("cc", KILLED, "sim", &MESH, &["error: sim: `cc", "half a word"]);
}

/// Files may not grow beyond a few kilobytes, as on a full disk.
#[test]
fn full_disk() {
    let folder = in_folder(&[]);
    let point = |limit: &str, stages: &str| {
        let script = format!("trap '' XFSZ; {limit}exec \"$0\" \"$@\"");
        let point = Command::new("sh")
            .args(["-c", &script, cargo_bin!("senbazuru").to_str().unwrap(), "point"])
            .args(MESH)
            .args(["--stages", stages, "--vectors", "3", "--store", "store"])
            .env("SENBAZURU_CACHE", folder.path().join("cache"));
        run(point.current_dir(folder.path()))
    };
    for stage in ["sim", "synth"] {
        // In blocks of 512 bytes.
        let output = point("ulimit -f 12; ", stage);
        assert_eq!(output.code, Some(4), "{stage}:\n{}", output.stderr);
        assert_eq!(stored(&folder.path().join("store")), 0, "{stage}");
    }
    let output = point("", "sim,synth");
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(stored(&folder.path().join("store")), 2);
}

/// A stage without an answer stops no other, and the sweep ends the work at its next run.
#[test]
fn other_stages_and_points_go_on() {
    let sweep = "block = 'mac_mesh'\nstages = ['gen', 'lint', 'synth']\n[axes]\nrows = [1, 2]\n[fixed]\ncolumns = 1\n";
    let deadly = Deadly::new("yosys-abc", KILLED);
    fs::write(deadly.path("s.toml"), sweep).unwrap();
    let sweep = || {
        let sweep = senbazuru(&["sweep", "s.toml", "--jobs", "1", "-o", "out", "--store", "store"]);
        run(sweep.current_dir(deadly.folder.path()).env("PATH", deadly.search()))
    };
    let first = sweep();
    assert_eq!(first.code, Some(1), "{}", first.stderr);
    assert!(first.stdout.starts_with("s: 2 points, 1 passed, 1 failed\n"), "{}", first.stdout);
    assert!(first.stdout.contains("failed: rows = 1, columns = 1: no result: synth: `yosys-abc"), "{}", first.stdout);
    assert!(first.stderr.contains("half a word"), "{}", first.stderr);
    assert_eq!(stored(&deadly.path("store")), 5);
    let second = sweep();
    assert!(second.code == Some(0) && second.stdout.starts_with("s: 2 points, 2 passed\n"), "{}", second.stderr);
}
