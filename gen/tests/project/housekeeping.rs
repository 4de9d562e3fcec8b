//! `doctor` and `clean`: installed tools, and kept files.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use test_tag::tag;

use crate::support::{MESH, in_folder, senbazuru};
use serde_json::Value;
use snapbox::cmd::Command;
use tempfile::TempDir;

fn json(run: Command, code: i32) -> Value {
    serde_json::from_slice(&run.assert().code(code).get_output().stdout).unwrap()
}

fn stdout(run: Command, code: i32) -> String {
    String::from_utf8(run.assert().code(code).get_output().stdout.clone()).unwrap()
}

/// The entry of a list whose `key` is `name`.
fn of<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|line| line[key] == name).unwrap_or_else(|| panic!("{name} in {list}"))
}

#[test]
fn doctor_names_versions_and_what_works() {
    let all = json(senbazuru(&["doctor", "--json"]), 0);
    assert_eq!(all["version"], env!("CARGO_PKG_VERSION"));
    let found = |name| of(&all["things"], "name", name)["found"].as_str().unwrap().to_owned();
    assert!(found("yosys").starts_with("Yosys "), "{all}");
    assert!(found("yosys-abc").contains("ABC"), "{all}");
    assert!(found("osu018").ends_with("osu018_stdcells.lib"), "{all}");
    assert_eq!(of(&all["commands"], "command", "prove")["works"], true);
    // A machine with nothing: every tool is missing, with the package that has it; the exit code says that a tool is
    // missing.
    let empty = tempfile::tempdir().unwrap();
    let alone = |args: &[&str]| senbazuru(args).env("PATH", empty.path()).env("SENBAZURU_CACHE", empty.path());
    let none = json(alone(&["doctor", "--json"]), 3);
    let z3 = of(&none["things"], "name", "z3");
    assert_eq!((&z3["found"], &z3["package"]), (&Value::Null, &Value::from("z3")));
    let prove = of(&none["commands"], "command", "prove");
    assert_eq!((&prove["works"], &prove["missing"]), (&false.into(), &prove["needs"]));
    let text = stdout(alone(&["doctor"]), 3);
    for line in [
        "z3                   missing: z3",
        "list, info, memories, gen, wave, render, report, clean, completions  yes",
        "lint                                                                 no, without verilator, iverilog, yosys",
        "on Debian 12: apt-get install gcc verilator g++ binutils iverilog yosys z3 slurm-client opensta",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    // Commands that need no tools still work.
    alone(&["list"]).assert().code(0);
    alone(&["info", "orizuru"]).assert().code(0);
    alone(&["gen", "popcount", "--stdout"]).assert().code(0);
    alone(&["completions", "bash"]).assert().code(0);
}

/// Tools that are there and do not work: doctor tells of each, goes on, and ends with the code of no answer.
#[test]
fn doctor_outlives_the_tools_that_it_looks_at() {
    let bin = tempfile::tempdir().unwrap();
    for program in
        std::env::split_paths(&std::env::var_os("PATH").unwrap()).filter_map(|f| fs::read_dir(f).ok()).flatten()
    {
        let file = program.unwrap().path();
        let link = bin.path().join(file.file_name().unwrap());
        if !link.is_symlink() {
            symlink(file, link).unwrap();
        }
    }
    let fake = |name: &str, script: &str| {
        let path = bin.path().join(name);
        let _ = fs::remove_file(&path);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    };
    fake("z3", "kill -SEGV $$");
    fake("yosys", "exec sleep 1000");
    fake("verilator", "echo nonsense");
    fake("verilator_bin", "echo nonsense");
    fake("iverilog", "");
    fake("yosys-smtbmc", "exit 0");
    fake("sbatch", "echo slurm 22.05; exit 1");
    let all = json(senbazuru(&["doctor", "--json"]).env("PATH", bin.path()), 4);
    for (name, words) in [
        ("z3", "SIGSEGV"),
        ("yosys", "time limit"),
        ("verilator", "`verilator --version` prints `nonsense`, which is no version"),
        ("iverilog", "`iverilog -V` prints nothing; a version is wanted"),
        ("yosys-smtbmc", "prints no usage"),
        ("sbatch", "`sbatch --version` ends with exit code 1: slurm 22.05"),
    ] {
        let thing = of(&all["things"], "name", name);
        assert_eq!(thing["found"], Value::Null, "{name}");
        assert!(thing["problem"].as_str().unwrap().contains(words), "{thing}");
    }
    assert_eq!(of(&all["commands"], "command", "lint")["works"], false);
    assert_eq!(of(&all["commands"], "command", "sim")["works"], true);
    let text = stdout(senbazuru(&["doctor"]).env("PATH", bin.path()), 4);
    assert!(text.contains("z3                   does not work: "), "{text}");
}

/// A full disk says nothing about the request: exit code 4, wherever a command writes.
#[test]
fn a_full_disk_is_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let wave = folder.path().join("run.vcd").display().to_string();
    stdout(senbazuru(&["sim", "popcount", "--vectors", "4", "--trace", &wave]), 0);
    let draw = format!("wave {wave}");
    for command in ["list", "info popcount", "gen popcount --stdout", "doctor", &draw] {
        let program = snapbox::cmd::cargo_bin("senbazuru");
        let line = format!("exec {} {command} >/dev/full", program.display());
        let said = match sim::process::Tool::new("sh").args(["-c", &line]).run() {
            Ok(output) => format!("exit code {:?}: {}", output.code, output.log()),
            Err(error) => error.to_string(),
        };
        assert!(said.contains("exit code 4") && said.contains("No space left on device"), "{command}: {said}");
    }
}

/// The message cannot be printed, and the exit code stays the same.
#[test]
fn a_full_standard_error_changes_nothing() {
    let program = snapbox::cmd::cargo_bin("senbazuru");
    let line = format!("exec {} gen no_such_block 2>/dev/full", program.display());
    let output = sim::process::Tool::new("sh").args(["-c", &line]).run().unwrap();
    assert_eq!(output.code, Some(2), "{}", output.log());
}

/// A folder with all programs of this machine but one, as PATH.
fn without(program: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    for entry in std::env::split_paths(&path).filter_map(|folder| fs::read_dir(folder).ok()).flatten() {
        let file = entry.unwrap().path();
        let link = folder.path().join(file.file_name().unwrap());
        if !link.ends_with(program) && !link.is_symlink() {
            symlink(file, link).unwrap();
        }
    }
    folder
}

/// A command needs each tool that doctor names for it, and the command's own message names it.
fn commands_miss(commands: &[(&str, &[&str])], programs: &[&str]) {
    // All that is compiled is compiled here, so that a missing compiler is missed.
    let cache = tempfile::tempdir().unwrap();
    for program in programs {
        let folder = without(program);
        let run = |args: &[&str]| senbazuru(args).env("PATH", folder.path()).env("SENBAZURU_CACHE", cache.path());
        let report = json(run(&["doctor", "--json"]), 3);
        assert_eq!(of(&report["things"], "name", program)["found"], Value::Null, "{program}");
        let mut asked = 0;
        for (command, args) in commands {
            let missing = of(&report["commands"], "command", command)["missing"].as_array().unwrap();
            if missing.iter().any(|name| name == program) {
                let run = run(args).assert().code(3);
                let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
                assert!(text.contains(&format!("`{program}`")), "{command} without {program}: {text}");
                asked += 1;
            }
        }
        assert!(asked > 0, "{program}");
    }
}

#[test]
fn commands_miss_what_doctor_says() {
    let commands: [(&str, &[&str]); 5] = [
        ("lint", &["lint", "popcount"]),
        ("sim", &["sim", "popcount", "--vectors", "4"]),
        ("sim --coverage, --verilog, --engine verilator", &["sim", "popcount", "--vectors", "4", "--coverage"]),
        ("synth --liberty none", &["synth", "popcount", "--liberty", "none"]),
        ("prove", &["prove", "popcount", "--set", "width=4", "--depth", "2", "--induction"]),
    ];
    commands_miss(&commands, &["cc", "verilator", "g++", "iverilog", "yosys", "yosys-abc", "yosys-smtbmc", "z3"]);
}

#[tag(full)]
#[test]
#[ignore = "compiles the runtime of models"]
fn commands_that_compile_miss_what_doctor_says() {
    let commands: [(&str, &[&str]); 3] = [
        ("sim", &["sim", "popcount", "--vectors", "4"]),
        // Mutants live: that needs a solver.
        ("mutate", &["mutate", "stream_arbiter", "--vectors", "200"]),
        ("energy", &["energy", "popcount", "--vectors", "4"]),
    ];
    commands_miss(&commands, &["cc", "verilator", "g++", "ar", "yosys", "yosys-abc"]);
}

#[test]
fn clean_shows_sizes_and_removes_builds() {
    let folder = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| senbazuru(args).env("SENBAZURU_CACHE", folder.path()).current_dir(folder.path());
    run(&["sim", "concat_unit", "--vectors", "2"]).assert().code(0);
    let sizes = json(run(&["clean", "--sizes", "--json"]), 0);
    let cache = &sizes["cache"]["sections"];
    assert_eq!((&cache["models"]["entries"], &sizes["cache"]["limit"]), (&1.into(), &Value::Null), "{sizes}");
    let bytes: u64 = cache.as_object().unwrap().values().map(|held| held["bytes"].as_u64().unwrap()).sum();
    let text = stdout(run(&["clean", "--sizes"]), 0);
    assert!(text.starts_with("compiled models in ") && text.contains("no limit by SENBAZURU_CACHE_LIMIT"), "{text}");
    assert!(stdout(run(&["clean", "--keep", "100000"]), 0).starts_with("removed 0 builds, 0.0 MiB; kept "));
    // The setting limits the kept files, and the option goes before it.
    let limited = |args: &[&str], limit: &str| run(args).env("SENBAZURU_CACHE_LIMIT", limit);
    assert!(stdout(limited(&["clean"], "100000"), 0).starts_with("removed 0 builds"));
    assert_eq!(json(limited(&["clean", "--sizes", "--json"], "3"), 0)["cache"]["limit"], 3 << 20);
    let gone = json(limited(&["clean", "--json", "--keep", "0"], "100000"), 0);
    assert_eq!((&gone["removed"]["bytes"], &gone["kept"]["entries"]), (&bytes.into(), &0.into()), "{gone}");
    // A build has just used its files, so the limit does not remove them.
    limited(&["sim", "concat_unit", "--vectors", "2"], "0").assert().code(0);
    assert_eq!(json(run(&["clean", "--sizes", "--json"]), 0)["cache"]["sections"]["models"]["entries"], 1);
    let wrong = limited(&["clean"], "2 GB").assert().code(2);
    wrong.stderr_eq("error: SENBAZURU_CACHE_LIMIT: `2 GB` is no number of MiB, for example 2000\n");
    senbazuru(&["clean", "--sizes", "--keep", "1"]).assert().code(2);
}

/// Results of two stages in the usual place below `folder`.
fn two_results(folder: &Path) {
    let point = [&["point", "mac_mesh", "--stages", "gen,synth", "--liberty", "none"], &MESH[..]].concat();
    senbazuru(&point).current_dir(folder).assert().code(0);
}

#[test]
fn clean_removes_results_when_it_is_told_to() {
    let folder = in_folder(&[("sweep.toml", crate::support::SMALL_MESHES)]);
    let run = |args: &[&str]| senbazuru(args).current_dir(folder.path());
    two_results(folder.path());
    let results = |store: &str| {
        let sizes = json(run(&["clean", "--sizes", "--json", "--store", store]), 0);
        let held = sizes["store"]["sections"].as_object().unwrap().clone();
        held.into_iter().map(|(stage, held)| (stage, held["entries"].as_u64().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(results("target/sweeps/store"), [("gen".to_owned(), 1), ("synth".to_owned(), 1)]);
    assert_eq!(results("no/such/folder"), []);
    // Without the option only the cache is meant, which is somewhere else here.
    run(&["clean"]).env("SENBAZURU_CACHE", folder.path().join("cache")).assert().code(0);
    assert_eq!(results("target/sweeps/store").len(), 2);
    let kept = stdout(run(&["clean", "--store"]).env("SENBAZURU_STORE_LIMIT", "1"), 0);
    assert!(kept.starts_with("removed 0 results, 0.0 MiB; kept 2, "), "{kept}");
    let gone = stdout(run(&["clean", "--store"]), 0);
    assert!(gone.starts_with("removed 2 results, ") && gone.ends_with("in target/sweeps/store\n"), "{gone}");
    assert_eq!(results("target/sweeps/store"), []);
    // A sweep keeps to the setting, when all its own are collected.
    let sweep = ["sweep", "sweep.toml", "--store", "store"];
    run(&sweep).env("SENBAZURU_STORE_LIMIT", "1").assert().code(0);
    assert_eq!(results("store").len(), 2);
    run(&sweep).env("SENBAZURU_STORE_LIMIT", "0").assert().code(0);
    assert_eq!(results("store"), []);
    assert!(fs::read_to_string(folder.path().join("target/sweeps/sweep/results.csv")).unwrap().lines().count() > 3);
}
