//! `senbazuru new`: a crate outside of the workspace, which all commands work in.

use std::fs;
use std::path::Path;
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
        (&["there"], "error: there is there already: choose another folder with --folder\n"),
        (&["sum", "--family", "a/b"], "error: family `a/b`, allowed: letters, digits, `_` and `-`\n"),
        (&["sum", "--toolkit", "toolkit"], "error: toolkit/gen/Cargo.toml is not the package `senbazuru`\n"),
    ] {
        assert_eq!(refused(args), why);
    }
    assert!(refused(&["sum", "--toolkit", "nowhere"]).starts_with("error: cannot read nowhere/gen/Cargo.toml: "));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is written");
}

const SWEEP: &str = "block = \"running_sum\"\nstages = [\"gen\", \"sim\"]\n[axes]\ndata_width = [2, 3]\n";

/// All commands in a new crate; then a bench that has changed, whose stored results are no results any more.
#[tag(full)]
#[test]
#[ignore = "minutes: compiles the toolkit for another crate"]
fn every_command_works_in_a_new_crate() {
    let folder = in_folder(&[("sweep.toml", SWEEP)]);
    let (root, home) = (folder.path().join("running-sum"), folder.path().join("home"));
    senbazuru(&["new", "running_sum"]).current_dir(folder.path()).assert().code(0);
    // All crates have the versions that are tested here.
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.lock"), root.join("Cargo.lock")).unwrap();
    let cargo = |args: &[&str]| {
        let tool = Tool::new("cargo").args(args).dir(&root).env("SENBAZURU_CACHE", &home);
        let tool = outside().iter().fold(tool, |tool, (name, value)| tool.env(*name, value));
        let output = tool.run().unwrap_or_else(|e| panic!("{e}"));
        assert!(output.success(), "{args:?}\n{}", output.log());
        output.stdout
    };
    cargo(&["build", "--quiet"]);
    cargo(&["test", "--quiet"]);
    let run = |args: &[&str]| cargo(&[&["run", "--quiet", "--"], args].concat());
    assert!(run(&["list"]).contains("running_sum"));
    assert!(run(&["info", "running_sum"]).contains("data_width"));
    run(&["gen", "--all", "--output", "rtl"]);
    run(&["gen", "--all", "--output", "rtl", "--check"]);
    run(&["gen", "running_sum", "--package", "--output", "package"]);
    run(&["lint", "running_sum", "--configurations"]);
    assert!(run(&["sim", "running_sum", "--trace", "run.vcd"]).contains("hardware and golden model agree"));
    run(&["wave", "run.vcd", "--output", "run.svg"]);
    run(&["sim", "running_sum", "--engine", "verilator", "--coverage"]);
    run(&["mutate", "running_sum", "--count", "20"]);
    run(&["coverage", "running_sum"]);
    run(&["prove", "running_sum"]);
    run(&["synth", "running_sum", "--liberty", "none"]);
    run(&["energy", "running_sum", "--vectors", "20"]);
    run(&["point", "running_sum", "--stages", "gen,sim,synth"]);
    run(&["doctor"]);
    run(&["completions", "bash"]);
    run(&["diff", "rtl", "rtl"]);
    let sweep = ["sweep", "../sweep.toml", "--output", "out", "--store", "store"];
    run(&sweep);
    run(&["report", "out"]);
    let entries = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let results = || entries(&root.join("store/sim")).iter().map(|group| entries(group).len()).sum::<usize>();
    let first = results();
    run(&sweep);
    assert_eq!(results(), first, "nothing has changed");
    let block = root.join("src/running_sum.rs");
    let text = fs::read_to_string(&block).unwrap();
    fs::write(&block, text.replace("sim.reset(2)?", "sim.reset(3)?")).unwrap();
    run(&sweep);
    assert_eq!(results(), 2 * first, "the bench has changed");
}
