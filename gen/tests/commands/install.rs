//! `cargo install --path gen` in a clean checkout, and the command on its own afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use test_tag::tag;

use crate::support::{MESH, SMALL_MESHES, in_folder};
use sim::process::Tool;

fn repository() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("..")).unwrap()
}

fn run(tool: Tool) -> String {
    let command = tool.command_line();
    let output = tool.run().unwrap_or_else(|e| panic!("{e}"));
    assert!(output.success(), "{command}\n{}", output.log());
    output.stdout
}

/// All files below a folder by their path in it.
fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut files, mut folders) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                files.insert(entry.strip_prefix(folder).unwrap().to_owned(), fs::read(&entry).unwrap());
            }
        }
    }
    files
}

/// Installs the committed tree, without optimisation to save time; then the checkout goes.
#[tag(release)]
#[test]
#[ignore = "minutes: compiles the command in another folder"]
fn the_installed_command_needs_no_checkout() {
    let folder = in_folder(&[("sweep.toml", SMALL_MESHES)]);
    let [checkout, root, target] = ["checkout", "root", "target"].map(|name| folder.path().join(name));
    run(Tool::new("git")
        .args(["clone", "--quiet", "--depth", "1"])
        .arg(format!("file://{}", repository().display()))
        .arg(&checkout));
    let install = Tool::new("cargo").args(["install", "--quiet", "--path", "gen", "--locked", "--debug", "--root"]);
    let install = install.arg(&root).arg("--target-dir").arg(&target).dir(&checkout);
    run(install.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0"));
    fs::remove_dir_all(&checkout).unwrap();
    fs::remove_dir_all(&target).unwrap();
    let command = root.join("bin/senbazuru").display().to_string();
    let senbazuru = |args: &[&str]| {
        let tool = Tool::new(command.as_str()).args(args).dir(folder.path());
        run(tool.env("HOME", folder.path()).env("SENBAZURU_CACHE", folder.path().join("cache")))
    };
    assert_eq!(senbazuru(&["--version"]), format!("senbazuru {}\n", env!("CARGO_PKG_VERSION")));
    assert!(senbazuru(&["list"]).contains("tender_top"));
    assert!(senbazuru(&["info", "orizuru", "--svg"]).starts_with("<svg"));
    assert!(senbazuru(&["doctor"]).contains("verilator"));
    // The Verilog equals the committed one, byte by byte: no folder of the machine is in it.
    senbazuru(&["gen", "--all", "-o", "out"]);
    assert!(
        tree(&folder.path().join("out")) == tree(&repository().join("verilog-out")),
        "other files than verilog-out"
    );
    let with_mesh = |args: &[&str]| senbazuru(&[args, &MESH].concat());
    with_mesh(&["gen", "mac_mesh", "--package", "-o", "package"]);
    with_mesh(&["lint", "mac_mesh"]);
    with_mesh(&["sim", "mac_mesh", "--vectors", "20", "--coverage", "--trace", "mesh.vcd"]);
    senbazuru(&["wave", "mesh.vcd", "-o", "mesh.svg"]);
    with_mesh(&["synth", "mac_mesh"]);
    with_mesh(&["energy", "mac_mesh", "--vectors", "20"]);
    senbazuru(&["mutate", "popcount", "--set", "width=3", "--count", "2"]);
    senbazuru(&["prove", "popcount", "--set", "width=4", "--depth", "3"]);
    senbazuru(&["sweep", "sweep.toml"]);
    senbazuru(&["report", "target/sweeps/sweep"]);
    assert!(folder.path().join("target/sweeps/sweep/report.html").is_file());
    assert!(senbazuru(&["clean", "--sizes"]).contains("synth"));
    // Nor do benches read the tensors of the studies: one of each family, and the one beside which tensors are read.
    for block in ["float_fma", "concat_unit", "tender_pe", "edram_bank", "pruning_unit", "exponent_pe", "outlier_mask"]
    {
        senbazuru(&["sim", block, "--vectors", "10"]);
    }
}
