//! `gen`: files that it writes and shares, and files of an earlier run that it leaves, removes or reports.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::support::pages::in_repository;
use crate::support::{MESH, in_folder, senbazuru};
use snapbox::str;
use test_tag::tag;

/// The files of a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn gen_writes_checks_and_notices_stale_files() {
    let folder = in_folder(&[]);
    let run = |args: &[&str]| senbazuru(&[&["gen", "mac_mesh"], args, &MESH].concat()).current_dir(folder.path());
    run(&["-o", "out"]).assert().code(0).stdout_eq(str![[r#"
mac_mesh: 4 files written in out

"#]]);
    let mut names: Vec<_> = fs::read_dir(folder.path().join("out")).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(
        names,
        ["mac_mesh_r2_c2_w4_a8.f", "mac_mesh_r2_c2_w4_a8.json", "mac_mesh_r2_c2_w4_a8.v", "mac_pe_w4_a8.v"]
    );
    let list = fs::read_to_string(folder.path().join("out/mac_mesh_r2_c2_w4_a8.f")).unwrap();
    assert_eq!(list, "mac_pe_w4_a8.v\nmac_mesh_r2_c2_w4_a8.v\n");
    run(&["-o", "out", "--check"]).assert().code(0).stdout_eq(str![[r#"
mac_mesh: 4 files fresh in out

"#]]);
    let pe = folder.path().join("out/mac_pe_w4_a8.v");
    let text = fs::read_to_string(&pe).unwrap();
    fs::write(&pe, format!("{text}// edited\n")).unwrap();
    fs::remove_file(folder.path().join("out/mac_mesh_r2_c2_w4_a8.f")).unwrap();
    run(&["-o", "out", "--check"]).assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: the generated files are stale:
  out/mac_mesh_r2_c2_w4_a8.f is missing
  out/mac_pe_w4_a8.v:[..] differs

"#]]);
    // Other files in a user's folder stay there.
    fs::write(folder.path().join("out/notes.txt"), "mine").unwrap();
    run(&["-o", "out"]).assert().code(0);
    run(&["-o", "out", "--check"]).assert().code(0);
    assert!(folder.path().join("out/notes.txt").exists());
}

#[test]
fn several_blocks_share_modules_and_one_folder() {
    let folder = in_folder(&[]);
    let run = |args: &[&str]| senbazuru(&[&["gen"], args].concat()).current_dir(folder.path()).assert();
    run(&["fp16_mac", "weighted_sum", "-o", "rtl"]).code(0).stderr_eq("").stdout_eq(str![[r#"
fp16_mac: [..] files written in rtl
weighted_sum: [..] files written in rtl
[..] files in all: what several blocks use is there once

"#]]);
    run(&["fp16_mac", "-o", "mac"]).code(0);
    run(&["weighted_sum", "-o", "sum"]).code(0);
    let [both, mac, sum] = ["rtl", "mac", "sum"].map(|name| names(&folder.path().join(name)));
    let union: BTreeSet<_> = mac.iter().chain(&sum).cloned().collect();
    assert_eq!(both, union.iter().cloned().collect::<Vec<_>>());
    // Both place the multiply-accumulate unit.
    assert!(both.len() < mac.len() + sum.len(), "{both:?}");
    run(&["fp16_mac", "weighted_sum", "-o", "rtl", "--check"]).code(0).stderr_eq("");
    run(&["fp16_mac", "weighted_sum"]).code(2).stderr_eq(str![[r#"
error: several blocks share a folder: say which, with -o DIR

"#]]);
    run(&["fp16_mac", "fp16_mac", "-o", "rtl"]).code(2).stderr_eq(str![[r#"
error: block `fp16_mac` is named twice

"#]]);
    run(&["fp16_mac", "mac_mesh", "-o", "rtl", "--set", "rows=2"]).code(2).stderr_eq(str![[r#"
error: --set and --config go with one block: name one, or leave them out

"#]]);
}

#[test]
fn what_an_earlier_run_left_is_named_and_removed_on_demand() {
    let folder = in_folder(&[("out/mine.v", "module mine; endmodule\n"), ("out/mine.json", "{}")]);
    let path = |name: &str| folder.path().join("out").join(name);
    let run = |more: &[&str]| {
        senbazuru(&[&["gen", "mac_mesh", "-o", "out"], more].concat()).current_dir(folder.path()).assert()
    };
    run(&MESH).code(0).stderr_eq("");
    let wider = [&MESH[..7], &["accumulator_width=9"]].concat();
    run(&wider).code(0).stderr_eq(str![[r#"
note: out also holds what an earlier run wrote: the design mac_mesh_r2_c2_w4_a8; --prune removes that

"#]]);
    assert_eq!(names(&path("")).len(), 10);
    fs::remove_file(path("mac_mesh_r2_c2_w4_a8.json")).unwrap();
    run(&[&wider[..], &["--check"]].concat()).code(1).stderr_eq(str![[r#"
error: the generated files are stale:
  out/mac_mesh_r2_c2_w4_a8.v is not generated any more
  out/mac_pe_w4_a8.v is not generated any more

"#]]);
    run(&[&wider[..], &["--prune"]].concat()).code(0).stderr_eq("").stdout_eq(str![[r#"
mac_mesh: 4 files written in out
2 files of earlier runs removed

"#]]);
    run(&[&wider[..], &["--check"]].concat()).code(0).stderr_eq("");
    // A list without its manifest might be anybody's, and so might a file that a user put there.
    for name in ["mine.v", "mine.json", "mac_mesh_r2_c2_w4_a8.f"] {
        assert!(path(name).exists(), "{name}");
    }
}

#[test]
fn a_file_of_somebody_else_and_a_design_of_an_earlier_run_are_not_overwritten() {
    let folder = in_folder(&[("out/mac_pe_w4_a8.v", "module mac_pe_w4_a8; endmodule\n")]);
    let pe = folder.path().join("out/mac_pe_w4_a8.v");
    let run = |rows: &str, more: &[&str]| {
        let set = [&["--set", rows], &MESH[2..]].concat();
        senbazuru(&[&["gen", "mac_mesh", "-o", "out"], &set[..], more].concat()).current_dir(folder.path()).assert()
    };
    for more in [&[][..], &["--prune"]] {
        run("rows=2", more).code(2).stderr_eq(str![[r#"
error: out/mac_pe_w4_a8.v is there already and not from senbazuru: write to another folder

"#]]);
    }
    assert_eq!(names(&folder.path().join("out")), ["mac_pe_w4_a8.v"]);
    fs::remove_file(&pe).unwrap();
    run("rows=2", &[]).code(0);
    // Now it is one of ours, but another than the second mesh needs.
    let text = fs::read_to_string(&pe).unwrap();
    fs::write(&pe, format!("{text}// edited\n")).unwrap();
    run("rows=3", &[]).code(1).stderr_eq(str![[r#"
error: out/mac_pe_w4_a8.v is another module than the one to be written, and mac_mesh_r2_c2_w4_a8.json, which an earlier run left there, needs it: write to another folder, or remove what is of that run with --prune

"#]]);
    assert!(!folder.path().join("out/mac_mesh_r3_c2_w4_a8.v").exists());
    run("rows=3", &["--prune"]).code(0);
    assert_eq!(fs::read_to_string(&pe).unwrap(), text);
    assert!(!folder.path().join("out/mac_mesh_r2_c2_w4_a8.v").exists());
}

#[test]
fn a_library_is_renewed_and_nothing_of_others_is_touched() {
    let folder = in_folder(&[]);
    let run = |args: &[&str]| senbazuru(&[&["gen", "--all"], args].concat()).current_dir(folder.path());
    let out = folder.path().join("verilog-out");
    run(&[]).assert().code(0);
    run(&["--check"]).assert().code(0).stderr_eq("");
    assert_eq!(
        fs::read_to_string(out.join("common/mac_mesh.f")).unwrap(),
        "../modules/mac_pe_w8_a32.v\n../modules/mac_mesh_r16_c16_w8_a32.v\n"
    );
    // A module of another version, and a family that is gone.
    let text = fs::read_to_string(out.join("modules/mac_pe_w8_a32.v")).unwrap();
    let manifest = fs::read_to_string(out.join("common/mac_mesh.json")).unwrap();
    let old = ["modules/old.v", "gone/old.f", "gone/old.json"];
    let texts = [&text, "../modules/old.v\n", &manifest];
    for (name, text) in old.iter().zip(texts) {
        fs::create_dir_all(out.join(name).parent().unwrap()).unwrap();
        fs::write(out.join(name), text).unwrap();
    }
    fs::write(out.join("gone/notes.txt"), "mine").unwrap();
    fs::write(out.join("modules/edited.v"), "module edited; endmodule\n").unwrap();
    run(&["--check"]).assert().code(1).stderr_eq(str![[r#"
error: the generated files are stale; run `senbazuru gen --all`:
  verilog-out/gone/old.f is not generated any more
  verilog-out/gone/old.json is not generated any more
  verilog-out/modules/old.v is not generated any more
  verilog-out/modules/edited.v is not from here: move it elsewhere, or remove it

"#]]);
    run(&[]).assert().code(1).stdout_eq("").stderr_eq(str![[r#"
error: the generated files are stale; run `senbazuru gen --all`:
  verilog-out/modules/edited.v is not from here: move it elsewhere, or remove it

"#]]);
    assert!(out.join("gone/notes.txt").exists() && out.join("modules/edited.v").exists());
    assert!(!out.join("common/mac_mesh").exists() && old.iter().all(|name| !out.join(name).exists()));
    fs::remove_file(out.join("modules/edited.v")).unwrap();
    run(&["--check"]).assert().code(0);
}

#[test]
fn gen_to_standard_output() {
    let args = [&["gen", "mac_mesh", "--stdout"], &MESH[..]].concat();
    let run = senbazuru(&args).assert().code(0).stderr_eq("");
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    assert_eq!(text.matches("\nendmodule\n").count(), 2);
    assert!(text.find("module mac_pe_w4_a8").unwrap() < text.find("module mac_mesh_r2_c2_w4_a8").unwrap());
}

/// A module that a system instantiates keeps its name, whatever the parameters are.
#[test]
fn names_that_a_system_chooses() {
    let folder = in_folder(&[]);
    let run = |more: &[&str]| {
        senbazuru(&[&["gen", "mac_mesh"], &MESH[..], more].concat()).current_dir(folder.path()).assert()
    };
    run(&["--top", "array", "--prefix", "npu_"]).code(0);
    let files = ["array.f", "array.json", "array.v", "npu_mac_pe_w4_a8.v"];
    assert_eq!(names(&folder.path().join("array")), files);
    let text = fs::read_to_string(folder.path().join("array/array.v")).unwrap();
    assert!(text.contains("\nmodule array (") && text.contains("npu_mac_pe_w4_a8 u_"), "{text}");
    run(&["--top", "array", "--prefix", "npu_", "--check"]).code(0);
    run(&["--top", "mac_pe_w4_a8"]).code(2).stderr_eq(str![[r#"
error: --top: `mac_pe_w4_a8` is a module within the design; choose another name

"#]]);
    run(&["--prefix", "2"]).code(2);
    senbazuru(&["gen", "mac_mesh", "ram", "--top", "x", "-o", "out"])
        .current_dir(folder.path())
        .assert()
        .code(2)
        .stderr_eq(str![[r#"
error: --top goes with one block: name one, or give all modules a --prefix

"#]]);
}

/// Cores for layers of OPT models, as files of parameters. All weights of a layer stay on the chip.
fn cores_generate(files: &[&str]) {
    let folder = in_folder(&[]);
    for file in files {
        let config = in_repository(&format!("sweeps/titanus/opt-{file}.toml"));
        let run = |args: &[&str]| senbazuru(&[&["gen", "titanus_core", "-o", file], args].concat());
        let made = run(&["--config", config.to_str().unwrap()]).current_dir(folder.path()).assert().code(0);
        let said = String::from_utf8(made.get_output().stdout.clone()).unwrap();
        assert!(said.starts_with("titanus_core: ") && said.ends_with(&format!("files written in {file}\n")), "{said}");
    }
}

#[test]
fn the_smallest_core_generates() {
    cores_generate(&["125m"]);
}

#[tag(full)]
#[test]
#[ignore = "the cores of the larger models"]
fn all_cores_generate() {
    cores_generate(&["350m", "1.3b", "2.7b", "6.7b"]);
}
