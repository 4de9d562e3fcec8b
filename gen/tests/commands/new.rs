//! `senbazuru new`: a crate outside of the workspace, which all commands work in.

use std::fs;
use std::path::{Path, PathBuf};
use test_tag::tag;

use crate::support::{in_folder, outside, senbazuru};
use sim::process::Tool;
use snapbox::str;

#[test]
fn a_crate_is_written_whole() {
    let folder = in_folder(&[]);
    let new = |args: &[&str]| senbazuru(&[&["new"], args].concat()).current_dir(folder.path());
    new(&["running_sum", "--family", "sums"]).assert().code(0).stdout_eq(str![[r#"
running-sum is a crate with the block `running_sum`. Simulate it and compare it with its golden model:

  cd running-sum
  cargo run -- sim running_sum

"#]]);
    let read = |name: &str| fs::read_to_string(folder.path().join("running-sum").join(name)).unwrap();
    assert!(read("Cargo.toml").starts_with("[package]\nname = \"running-sum\"\n"));
    assert!(read("src/main.rs").contains("Catalogue::empty().block::<RunningSum>(\"sums\", running_sum::bench).cli()"));
    assert!(read("src/running_sum.rs").contains("pub struct RunningSum {"));
    for name in ["README.md", ".gitignore", ".github/workflows/test.yml"] {
        assert!(!read(name).is_empty() && !read(name).contains("{{"), "{name}");
    }
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["running-sum"]);
}

#[test]
fn an_accelerator_is_written_whole() {
    let folder = in_folder(&[]);
    let new = |args: &[&str]| senbazuru(&[&["new", "--accelerator"], args].concat()).current_dir(folder.path());
    new(&["row_adder", "--family", "adders", "--folder", "a/b"]).assert().code(0).stdout_eq(str![[r#"
a/b is a crate with the accelerator `row_adder`. Simulate it and compare it with its golden model:

  cd a/b
  cargo run -- sim row_adder

"#]]);
    let read = |name: &str| fs::read_to_string(folder.path().join("a/b").join(name)).unwrap();
    assert!(read("Cargo.toml").contains("senbazuru_host = { path = "));
    assert!(read("src/main.rs").contains("Catalogue::empty().block::<RowAdder>(\"adders\", bench::bench).cli()"));
    assert!(read("src/top.rs").contains("impl Accelerator for RowAdder {"));
    for name in ["README.md", "src/operation.rs", "src/golden.rs", "src/bench.rs", "src/host.rs", "src/registers.rs"] {
        assert!(!read(name).is_empty() && !read(name).contains("{{"), "{name}");
    }
}

#[test]
fn what_cannot_be_a_crate_is_refused() {
    let folder = in_folder(&[("there/file", ""), ("toolkit/gen/Cargo.toml", "[package]\nname = \"other\"\n")]);
    let refused = |args: &[&str]| {
        let output =
            senbazuru(&[&["new"], args].concat()).current_dir(folder.path()).assert().code(2).get_output().clone();
        String::from_utf8(output.stderr).unwrap()
    };
    for (args, why) in [
        (
            &["Sum"][..],
            "error: `Sum` is not a good name: use lower-case letters, digits and `_`, starting with a letter\n",
        ),
        (&["module"], "error: `module` is a reserved word of Verilog or SystemVerilog; choose another name\n"),
        (&["match"], "error: `match` is a word of Rust or of the new crate itself; choose another name\n"),
        (&["golden"], "error: `golden` is a word of Rust or of the new crate itself; choose another name\n"),
        (
            &["operation", "--accelerator"],
            "error: `operation` is a word of Rust or of the new crate itself; choose another name\n",
        ),
        (&["there"], "error: there is there already: choose another folder with --folder\n"),
        (&["sum", "--family", "a/b"], "error: family `a/b`, allowed: letters, digits, `_` and `-`\n"),
        (&["sum", "--toolkit", "toolkit"], "error: toolkit/gen/Cargo.toml is not the package `senbazuru`\n"),
    ] {
        assert_eq!(refused(args), why);
    }
    assert!(refused(&["sum", "--toolkit", "nowhere"]).starts_with("error: cannot read nowhere/gen/Cargo.toml: "));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is written");
}

/// A sweep over a parameter of the new block.
fn sweep(name: &str, axis: &str) -> String {
    format!("block = \"{name}\"\nstages = [\"gen\", \"sim\"]\n[axes]\n{axis}\n")
}

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// All packages as a registry would hand them out, in a folder for the crate `user`: the part of a `Cargo.toml` that takes
/// them from there.
fn packages(user: &str) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages").join(user);
    let _ = fs::remove_dir_all(&target);
    let run = |tool: Tool| {
        let output = tool.run().unwrap_or_else(|e| panic!("{e}"));
        assert!(output.success(), "{}", output.log());
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let options = ["package", "--workspace", "--no-verify", "--allow-dirty", "--offline", "--quiet"];
    run(Tool::new("cargo").args(options).dir(&root).env("CARGO_TARGET_DIR", &target));
    let mut table = String::from("\n[patch.crates-io]\n");
    for file in fs::read_dir(target.join("package")).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|extension| extension == "crate") {
            run(Tool::new("tar").args(["xzf".as_ref(), file.as_os_str()]).dir(&target));
            let folder = file.file_stem().unwrap().to_str().unwrap();
            let name = folder.strip_suffix(&format!("-{VERSION}")).unwrap();
            table += &format!("{name} = {{ path = {:?} }}\n", target.join(folder));
        }
    }
    table
}

/// A `Cargo.toml` that names versions in place of folders.
fn published(manifest: &str) -> String {
    let line = |line: &str| match line.split_once("path = \"") {
        Some((before, rest)) => format!("{before}version = \"{VERSION}\"{}\n", rest.split_once('"').unwrap().1),
        None => format!("{line}\n"),
    };
    manifest.lines().map(line).collect()
}

/// A new crate that depends on packages, and a way to call Cargo in it.
struct NewCrate {
    folder: tempfile::TempDir,
    name: &'static str,
}

impl NewCrate {
    fn make(name: &'static str, options: &[&str], axis: &str) -> Self {
        let folder = in_folder(&[("sweep.toml", &sweep(name, axis))]);
        senbazuru(&[&["new", name, "--folder", "made"], options].concat()).current_dir(folder.path()).assert().code(0);
        Self::of(folder, name)
    }

    /// A crate of the folder `examples`, whose block is `name`.
    fn example(example: &str, name: &'static str, axis: &str) -> Self {
        let folder = in_folder(&[("sweep.toml", &sweep(name, axis))]);
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(example);
        let made = folder.path().join("made");
        let copied = Tool::new("cp").args(["-r".as_ref(), from.as_os_str(), made.as_os_str()]).run();
        assert!(copied.unwrap_or_else(|e| panic!("{e}")).success());
        Self::of(folder, name)
    }

    /// The crate in the folder `made`, with its dependencies as packages. Its own tests pass.
    fn of(folder: tempfile::TempDir, name: &'static str) -> Self {
        // All crates have the versions that are tested here.
        let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock");
        fs::copy(lock, folder.path().join("made/Cargo.lock")).unwrap();
        let manifest = folder.path().join("made/Cargo.toml");
        let text = published(&fs::read_to_string(&manifest).unwrap());
        assert!(!text.contains("path = "), "{text}");
        fs::write(&manifest, text + &packages(name)).unwrap();
        let made = Self { folder, name };
        made.cargo(&["build", "--quiet"]);
        made.cargo(&["test", "--quiet"]);
        made
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("made")
    }

    fn cargo(&self, args: &[&str]) -> String {
        let tool = Tool::new("cargo").args(args).dir(self.root());
        let tool = tool.env("SENBAZURU_CACHE", self.folder.path().join("home"));
        let tool = outside().iter().fold(tool, |tool, (name, value)| tool.env(*name, value));
        let output = tool.run().unwrap_or_else(|e| panic!("{e}"));
        assert!(output.success(), "{args:?}\n{}", output.log());
        output.stdout
    }

    fn run(&self, args: &[&str]) -> String {
        self.cargo(&[&["run", "--quiet", "--"], args].concat())
    }

    /// Every command that works on blocks.
    fn every_command(&self, parameter: &str) {
        let (name, run) = (self.name, |args: &[&str]| self.run(args));
        assert!(run(&["list"]).contains(name));
        assert!(run(&["info", name]).contains(parameter));
        run(&["gen", "--all", "--output", "rtl"]);
        run(&["gen", "--all", "--output", "rtl", "--check"]);
        run(&["gen", name, "--package", "--output", "package"]);
        run(&["lint", name, "--configurations"]);
        assert!(run(&["sim", name, "--trace", "run.vcd"]).contains("hardware and golden model agree"));
        run(&["wave", "run.vcd", "--output", "run.svg"]);
        run(&["sim", name, "--engine", "verilator", "--coverage"]);
        run(&["mutate", name, "--count", "5", "--vectors", "50", "--no-proofs"]);
        run(&["coverage", name]);
        run(&["prove", "--all"]);
        run(&["synth", name, "--liberty", "none"]);
        run(&["energy", name, "--vectors", "20"]);
        run(&["point", name, "--stages", "gen,sim,synth"]);
        run(&["doctor"]);
        run(&["completions", "bash"]);
        run(&["diff", "rtl", "rtl"]);
        run(&["sweep", "../sweep.toml", "--output", "out", "--store", "store"]);
        run(&["report", "out"]);
    }

    /// Results of `sim` in the store of the sweep.
    fn results(&self) -> usize {
        let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
        entries(&self.root().join("store/sim")).iter().map(|group| entries(group).len()).sum()
    }

    /// A changed bench makes stored results worthless; the same bench does not.
    fn changes_are_seen(&self, file: &str, from: &str, to: &str) {
        let again = || self.run(&["sweep", "../sweep.toml", "--output", "out", "--store", "store"]);
        let first = self.results();
        again();
        assert_eq!(self.results(), first, "nothing has changed");
        let path = self.root().join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{file}");
        fs::write(&path, text.replace(from, to)).unwrap();
        again();
        assert_eq!(self.results(), 2 * first, "the bench has changed");
    }
}

/// All commands in a new crate; then a bench that has changed, whose stored results are no results any more.
#[tag(full)]
#[test]
#[ignore = "minutes: compiles the toolkit for another crate"]
fn every_command_works_in_a_new_crate() {
    let made = NewCrate::make("running_sum", &[], "data_width = [2, 3]");
    made.every_command("data_width");
    made.run(&["mutate", "running_sum", "--count", "20"]);
    made.run(&["prove", "running_sum"]);
    made.changes_are_seen("src/running_sum.rs", "sim.reset(2)?", "sim.reset(3)?");
}

/// The same for an accelerator.
#[tag(full)]
#[test]
#[ignore = "minutes: compiles the toolkit for another crate"]
fn every_command_works_in_a_new_accelerator() {
    let made = NewCrate::make("row_adder", &["--accelerator"], "max_columns = [40, 50]");
    made.every_command("max_columns");
    made.changes_are_seen("src/bench.rs", "facts, 3, draw", "facts, 2, draw");
}

/// The crane: all that its crate needs is in the packages. Its tests play jobs on it, right and wrong, and compare bytes
/// and cycles with its golden model. Ignored ones prove the rules of its engine and play jobs on its netlist.
#[tag(full)]
#[test]
#[ignore = "minutes: compiles the toolkit for another crate"]
fn every_command_works_in_the_crane() {
    let made = NewCrate::example("crane", "crane_top", "channels = [64, 100]");
    let run = |args: &[&str]| made.run(args);
    assert!(run(&["list"]).contains("crane_top") && run(&["info", "crane_top"]).contains("channels"));
    run(&["gen", "crane_top", "--package", "--output", "package"]);
    run(&["lint", "crane_top", "--configurations"]);
    assert!(run(&["sim", "crane_top", "--trace", "run.vcd"]).contains("hardware and golden model agree"));
    run(&["sim", "crane_top", "--engine", "verilator", "--vectors", "5"]);
    run(&["mutate", "crane_top", "--count", "5", "--vectors", "50", "--no-proofs"]);
    run(&["mutate", "crane_row", "--count", "100", "--floor", "0.99"]);
    made.cargo(&["test", "--quiet", "--", "--ignored"]);
    run(&["fpga", "crane_row", "--set", "weights=8", "--set", "group=2", "--set", "words=2", "--parts"]);
    run(&["synth", "crane_top", "--liberty", "none"]);
    run(&["energy", "crane_top", "--vectors", "5"]);
    run(&["sweep", "../sweep.toml", "--output", "out", "--store", "store"]);
    assert!(run(&["compare", "crane_top", "--context", "128", "--batch", "1"]).contains("128 rows x 128 channels"));
    assert!(run(&["eval", "--schemes"]).contains("crane"));
    let model = concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/models/tests/oracle/llama-tied");
    let on = ["--config", "small.toml", "--set", "channels=256", "--model", model];
    let told = run(&[&["run", "--on", "crane", "--tokens", "3", "Hello"][..], &on].concat());
    assert!(told.contains("all equal the golden model's"), "{told}");
    let text = concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/models/texts/pride.txt");
    run(&[&["calibrate", "crane", "--text", text, "--option", "budget=20", "--output", "learnt"][..], &on].concat());
    let with = ["run", "--golden", "--on", "crane", "--tokens", "30", "--calibration", "learnt", "Hello"];
    assert!(run(&[&with[..], &on].concat()).contains("30 written"));
    run(&[&["lower", "--on", "crane", "--layer", "0", "--output", "image", "Hello"][..], &on].concat());
    let told = run(&[&["eval", "--on", "crane", "--text", text, "--tokens", "20"][..], &on].concat());
    assert!(told.contains("crane_top"), "{told}");
}
