//! Folders and files whose names hold signs with a meaning for shells and scripts.

use std::fs;

use crate::support::{MESH, in_folder, senbazuru};
use snapbox::str;

/// Blank, quotes, semicolon, dollar, hash, backslash, and a letter beyond ASCII.
const ODD: &str = "a b'c\"d;e$HOME#f\\g&ü";

#[test]
fn temporary_folders_and_libraries_may_have_any_name() {
    let folder = in_folder(&[(&format!("{ODD}/keep"), ""), (&format!("{ODD}.proofs/keep"), "")]);
    let library = folder.path().join(format!("{ODD}.lib"));
    fs::copy("/usr/share/qflow/tech/osu018/osu018_stdcells.lib", &library).unwrap();
    let library = library.to_str().unwrap();
    let run = |args: &[&str]| {
        let run = senbazuru(args).current_dir(folder.path()).env("TMPDIR", folder.path().join(ODD)).assert().code(0);
        String::from_utf8(run.get_output().stdout.clone()).unwrap()
    };
    let synth = |more: &[&str]| run(&[&["synth", "mac_mesh"], more, &MESH].concat());
    assert_eq!(synth(&["--liberty", library]), synth(&[]));
    run(&[&["energy", "mac_mesh", "--vectors", "3", "--liberty", library], &MESH[..]].concat());
    run(&[&["lint", "mac_mesh"], &MESH[..]].concat());
    let proofs = format!("{ODD}.proofs");
    let prove = ["prove", "compactor", "--set", "lanes=2", "--set", "width=1", "--depth", "2", "-o", &proofs];
    assert!(run(&prove).contains("holds for 2 cycles"));
    assert!(run(&[&prove[..], &["--induction"]].concat()).contains("proved for all time"));
    // Nothing else is left in the folder.
    assert_eq!(fs::read_dir(folder.path().join(ODD)).unwrap().count(), 1);
}

/// Without tools on the way, so that it must be known before the first of them is called.
#[test]
fn a_trace_that_cannot_be_written_is_refused_at_once() {
    let folder = in_folder(&[("dir.vcd/keep", "")]);
    let run = |trace: &str| {
        let args = [&["sim", "mac_mesh", "--trace", trace], &MESH[..]].concat();
        senbazuru(&args).current_dir(folder.path()).env("PATH", "").assert().code(2).stdout_eq("")
    };
    run("nodir/x.vcd").stderr_eq(str![[r#"
error: --trace nodir/x.vcd: there is no folder nodir

"#]]);
    run("dir.vcd").stderr_eq(str![[r#"
error: --trace dir.vcd: that is a folder

"#]]);
}
