//! `sim --tensors`: a bench on a user's numbers.

use std::fs;
use std::path::Path;

use crate::support::{in_folder, senbazuru};
use snapbox::str;

/// A `.npy` file of version 1.0.
fn npy(path: &Path, descr: &str, shape: &str, data: &[u8]) {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let length = (header.len() as u16).to_le_bytes();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()).unwrap();
}

const SMALL: [&str; 11] =
    ["orizuru", "--set", "n=4", "--set", "k_max=2", "--set", "k_min=2", "--set", "lanes=2", "--set", "format=int8"];

#[test]
fn vectors_of_a_user() {
    let folder = in_folder(&[]);
    npy(&folder.path().join("mine/vectors.npy"), "|i1", "(3, 4)", &[1, 255, 128, 127, 0, 0, 0, 0, 9, 8, 7, 6]);
    let run = senbazuru(&[&["sim"], &SMALL[..], &["--tensors", "mine", "--json"]].concat())
        .current_dir(folder.path())
        .assert()
        .code(0);
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    assert!(text.contains("\"passed\": true") && text.contains("\"vectors\": 3"), "{text}");
    let info = senbazuru(&[&["info"], &SMALL[..]].concat()).assert().code(0);
    let text = String::from_utf8(info.get_output().stdout.clone()).unwrap();
    assert!(text.contains("sim --tensors takes vectors.npy: vectors, one a row; int8, shape [any, 4]\n"), "{text}");
}

#[test]
fn tensors_that_are_refused() {
    let folder = in_folder(&[("damaged/vectors.npy", "no array")]);
    let file = |name: &str| folder.path().join(name).join("vectors.npy");
    npy(&file("wide"), "|i1", "(2, 5)", &[0; 10]);
    npy(&file("flat"), "|i1", "(4,)", &[0; 4]);
    npy(&file("none"), "|i1", "(0, 4)", &[]);
    npy(&file("float"), "<f2", "(1, 4)", &[0; 8]);
    npy(&file("short"), "|i1", "(2, 4)", &[0; 7]);
    let refused = |name: &str| {
        let run = senbazuru(&[&["sim"], &SMALL[..], &["--tensors", name]].concat())
            .current_dir(folder.path())
            .assert()
            .code(2);
        String::from_utf8(run.get_output().stderr.clone()).unwrap()
    };
    for (name, why) in [
        ("wide", "has shape [2, 5]; wanted: vectors.npy: vectors, one a row; int8, shape [any, 4]"),
        ("flat", "has shape [4]; wanted: vectors.npy: vectors, one a row; int8, shape [any, 4]"),
        ("none", "has shape [0, 4]; wanted"),
        ("float", "holds elements of type '<f2', not int8: save it after `.astype(\"int8\")`"),
        ("short", "is cut short"),
        ("damaged", "not a .npy file"),
        ("nowhere", "nowhere/vectors.npy"),
    ] {
        let text = refused(name);
        assert!(text.contains(why) && text.contains(&format!("{name}/vectors.npy")), "{name}: {text}");
    }
    senbazuru(&["sim", "ram", "--tensors", "x"]).assert().code(2).stderr_eq(str![[r#"
error: the bench of ram takes no tensors

"#]]);
    let odd = ["sim", "orizuru", "--set", "format=bf16", "--tensors", "x"];
    senbazuru(&odd).assert().code(2).stderr_eq(str![[r#"
error: orizuru: no tensor has elements of bf16: fp16, int8, uint8, int16 and int32 are taken

"#]]);
}
