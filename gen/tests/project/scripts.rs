//! `scripts/setup` installs the tools for a purpose, and no more.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::{in_folder, program};
use sim::process::Tool;

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts").join(name)
}

fn listed(purpose: &str) -> BTreeSet<String> {
    let output = Tool::new(script("setup").display().to_string()).args(["--list", purpose]).run().unwrap();
    assert!(output.success(), "{}", output.log());
    output.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn purposes_build_on_one_another() {
    let set = |names: &[&str]| names.iter().map(|&n| n.to_owned()).collect::<BTreeSet<_>>();
    let [demo, tools, tests, full, site] = ["demo", "tools", "tests", "full", "site"].map(listed);
    assert_eq!(demo, set(&["gcc", "verilator", "g++", "iverilog", "yosys", "qflow-tech-osu018"]));
    assert_eq!(&tools - &demo, set(&["z3", "zlib1g-dev"]));
    assert_eq!(
        &tests - &tools,
        set(&[
            "clang",
            "opensta",
            "nextpnr-ice40",
            "graywolf",
            "qrouter",
            "magic",
            "netgen-lvs",
            "chromium",
            "munge",
            "slurmctld",
            "slurmd",
            "slurm-client",
            "make",
            "python3-venv"
        ])
    );
    assert_eq!(&full - &tests, set(&["gcc-riscv64-unknown-elf", "cmake"]));
    assert_eq!(site, set(&["python3-venv"]));
    assert!(full.is_superset(&tests) && tests.is_superset(&tools) && tools.is_superset(&demo));
    // Who documents a package more or less documents it here too.
    let install = fs::read_to_string(script("../docs/install.md")).unwrap();
    assert!(full.iter().all(|package| install.contains(&format!("`{package}`"))), "{install}");
    for (name, purpose) in [("demo", "demo"), ("bench", "tools"), ("test", "tests"), ("site", "site")] {
        let text = fs::read_to_string(script(name)).unwrap();
        assert!(text.contains(&format!("\n./scripts/setup {purpose}\n")), "{name}");
    }
}

/// On a machine that has nothing.
#[test]
fn only_what_is_missing_is_installed() {
    let folder = in_folder(&[]);
    let stub = |name: &str| folder.path().join("bin").join(name);
    program(&stub("apt-get"), &format!("#!/bin/sh\necho \"$@\" >>'{}'\n", folder.path().join("log").display()));
    for name in ["cargo", "yosys", "yosys-abc"] {
        program(&stub(name), "#!/bin/sh\n");
    }
    program(&stub("id"), "#!/bin/sh\necho 0\n");
    for name in ["sh", "dirname", "env"] {
        let real = Tool::new("which").arg(name).run().unwrap().stdout.trim().to_owned();
        symlink(real, stub(name)).unwrap();
    }
    let run = |purpose: &str| {
        let setup =
            Tool::new(script("setup").display().to_string()).arg(purpose).env("PATH", folder.path().join("bin"));
        setup.run().unwrap()
    };
    let output = run("demo");
    assert!(output.success(), "{}", output.log());
    let log = fs::read_to_string(folder.path().join("log")).unwrap();
    let install = log.lines().last().unwrap();
    for package in ["verilator", "g++", "iverilog"] {
        assert!(install.contains(package), "{log}");
    }
    for package in ["yosys", "z3", "chromium", "slurm", "munge", "opensta"] {
        assert!(!install.contains(package), "{log}");
    }
    let output = run("everything");
    assert_eq!(output.code, Some(2));
    assert!(
        output.stderr.contains("usage: scripts/setup [--list] [demo | tools | tests | full | site]"),
        "{}",
        output.stderr
    );
}
