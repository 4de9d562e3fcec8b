//! Blocks placed and routed, with the real tools.

use std::fs;
use std::path::Path;

use serde_json::Value;
use test_tag::tag;

use crate::support::{in_folder, senbazuru};

/// Ten cells.
const SMALL: [&str; 4] = ["layout", "popcount", "--set", "width=4"];

fn error(args: &[&str], code: i32) -> String {
    String::from_utf8_lossy(&senbazuru(args).assert().code(code).get_output().stderr).into_owned()
}

/// All files, twice: a layout is a function of block, options and tools.
#[test]
fn a_small_block_from_end_to_end() {
    let folder = in_folder(&[]);
    let run = |name: &str| {
        let to = folder.path().join(name);
        let out = senbazuru(&[&SMALL[..], &["--json", "-o", to.to_str().unwrap()]].concat()).assert().code(0);
        let found: Value = serde_json::from_slice(&out.get_output().stdout).unwrap();
        let mut files: Vec<_> = fs::read_dir(&to).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        let files: Vec<_> = files.iter().map(|f| (f.file_name().unwrap().to_owned(), fs::read(f).unwrap())).collect();
        (found[0]["result"].clone(), files)
    };
    let (found, files) = run("one");
    let number = |name: &str| found[name].as_f64().unwrap();
    assert_eq!((number("drc_violations"), &found["lvs_equal"]), (0.0, &Value::Bool(true)), "{found}");
    assert!(number("cells") >= 5.0 && number("wire_um") > 50.0 && number("vias") > 10.0, "{found}");
    assert!(number("core_area_um2") < number("die_area_um2"), "{found}");
    assert!((number("cell_area_um2") / number("core_area_um2") - number("utilisation")).abs() < 1e-9, "{found}");
    let period = |paths: &str| found[paths]["least_period_ns"].as_f64().unwrap();
    assert!(period("without_wires") > 0.1 && period("with_wires") > period("without_wires"), "{found}");
    // Nothing is between registers where there are none.
    assert_eq!(found["with_wires"]["register_period_ns"], Value::Null, "{found}");
    let text = |name: &str| files.iter().find(|(own, _)| own == name).map(|(_, bytes)| bytes.clone()).unwrap();
    assert!(String::from_utf8(text("layout.svg")).unwrap().contains("</svg>"));
    assert!(text("layout.gds").starts_with(&[0, 6, 0, 2]), "a GDS file begins with its version");
    assert_eq!(run("two"), (found, files));
}

#[test]
fn what_cannot_be_laid_out() {
    let large = error(&[&SMALL[..], &["--max-cells", "3"]].concat(), 1);
    assert!(large.contains("cells, which is too large: the limit is 3 cells"), "{large}");
    let missing = error(&[&SMALL[..], &["--technology", "osu999"]].concat(), 3);
    assert!(missing.contains("install the Debian package `qflow-tech-osu999`"), "{missing}");
    for (option, value) in [("--utilisation", "1.5"), ("--aspect", "wide"), ("--fanout", "1"), ("--strap", "0")] {
        let told = error(&[&SMALL[..], &[option, value]].concat(), 2);
        assert!(told.contains(option) && told.contains("invalid value"), "{told}");
    }
    let folder = in_folder(&[("mine/notes.txt", "mine")]);
    let mine = folder.path().join("mine");
    let taken = error(&[&SMALL[..], &["-o", mine.to_str().unwrap()]].concat(), 2);
    assert!(taken.contains("has something else than a layout in it"), "{taken}");
    assert_eq!(fs::read_to_string(mine.join("notes.txt")).unwrap(), "mine");
}

/// Before any work: nothing of the layout's tools, but the cells are there.
#[test]
fn a_missing_tool_is_named_with_its_package() {
    let empty = in_folder(&[]);
    let assert = senbazuru(&SMALL).env("PATH", empty.path()).assert().code(3);
    let told = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(told.contains("install the Debian package `graywolf`"), "{told}");
}

/// Tools that die or say something else have no verdict; a router that leaves nets has one.
#[test]
fn tools_that_fail() {
    let folder = in_folder(&[]);
    let stub = |name: &str, text: &str| {
        let dir = folder.path().join(name);
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join(name);
        let usage = "if [ \"$1\" = -v ]; then echo 1.4; exit; fi\nif [ $# = 0 ]; then echo designName; exit 65; fi";
        fs::write(&path, format!("#!/bin/sh\n{usage}\n{text}\n")).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        format!("{}:{}", dir.display(), std::env::var("PATH").unwrap())
    };
    for (tool, text, code, part) in [
        ("graywolf", "echo oops", 4, "graywolf left no result for popcount_w4:\noops"),
        ("graywolf", "echo 'c0 1' >design.pl1", 4, "graywolf wrote the line `c0 1`"),
        ("graywolf", "kill -9 $$", 4, "signal 9"),
        ("qrouter", "echo Segmentation fault", 4, "qrouter left no result for popcount_w4"),
        (
            "qrouter",
            "echo 'senbazuru failing 2 14'; printf '2 nets failed to route:\\n n3\\n n4\\n' >fail.out",
            1,
            "qrouter left 2 of 14 nets of popcount_w4 without a route (n3, n4): ask for a lower utilisation",
        ),
    ] {
        let assert = senbazuru(&SMALL).env("PATH", stub(tool, text)).assert().code(code);
        let told = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(told.contains(part), "{tool} {text}: {told}");
    }
}

/// Flip-flops with a reset, a tree for the clock, and a column of a sweep.
#[tag(full)]
#[test]
#[ignore = "half a minute of placement"]
fn columns_of_a_sweep() {
    let sweep = "block = \"tender_pe\"\nstages = [\"layout\"]\n[axes]\noperand_width = [4]\n[options.layout]\nutilisation = 0.75\n";
    let folder = in_folder(&[("pe.toml", sweep)]);
    senbazuru(&["sweep", "pe.toml", "-o", "out", "--store", "store"]).current_dir(folder.path()).assert().code(0);
    let csv = fs::read_to_string(Path::new(folder.path()).join("out/results.csv")).unwrap();
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let (names, line) = (lines.next().unwrap(), lines.next().unwrap());
    let number = |name: &str| line[names.iter().position(|n| *n == name).unwrap()].parse::<f64>().unwrap();
    assert_eq!(number("layout_drc"), 0.0, "{csv}");
    assert!((0.65..0.8).contains(&number("layout_utilisation")), "{csv}");
    assert!(number("layout_mhz") > 50.0 && number("layout_mhz") < number("layout_mhz_without_wires"), "{csv}");
}
