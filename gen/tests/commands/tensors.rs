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

/// A tensor of a test: name, type, shape, bytes.
type File<'a> = (&'a str, &'a str, &'a str, &'a [u8]);

/// What `sim` says with these files: exit code and text.
fn said(block: &[&str], files: &[File<'_>]) -> (i32, String) {
    let folder = in_folder(&[]);
    for (name, descr, shape, data) in files {
        npy(&folder.path().join(format!("mine/{name}.npy")), descr, shape, data);
    }
    let args = [&["sim"], block, &["--tensors", "mine", "--json"]].concat();
    let output = senbazuru(&args).current_dir(folder.path()).assert().get_output().clone();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
    (output.status.code().unwrap(), text)
}

const ARRAY: [&str; 5] = ["multi_scale_array", "--set", "rows=2", "--set", "columns=2"];
const CLUSTERS: [&str; 3] = ["clustering_unit", "--set", "bits=2"];
const NORM: [&str; 5] = ["rms_norm", "--set", "lanes=2", "--set", "max_beats=3"];
const SOFTMAX: [&str; 5] = ["softmax", "--set", "lanes=2", "--set", "max_beats=3"];
const EVICTOR: [&str; 3] = ["systolic_evictor", "--set", "rows=2"];
const NON_ZERO: [&str; 3] = ["non_zero_quantizer", "--set", "lanes=2"];
const UNIT: [&str; 7] =
    ["vector_unit", "--set", "units.softmax=false", "--set", "units.rotary=false", "--set", "units.layer_norm=true"];
const ROTARY: [&str; 5] = ["vector_unit", "--set", "units.rotary=true", "--set", "units.layer_norm=true"];
const QUANTIZER: [&str; 5] = ["quantization_unit", "--set", "lanes=2", "--set", "tiles=2"];

/// A vector is a tile: of one row and one column of bytes.
#[test]
fn a_product_of_a_user() {
    let files: [File<'_>; 2] = [
        ("act", "|i1", "(3, 2)", &[1, 2, 255, 127, 128, 9]),
        ("weight", "|i1", "(2, 4)", &[1, 2, 3, 4, 252, 251, 250, 128]),
    ];
    let (code, text) = said(&ARRAY, &files);
    assert!(code == 0 && text.contains("\"vectors\": 12"), "{text}");
}

#[test]
fn tensors_that_do_not_fit_together() {
    let one: File<'_> = ("act", "|i1", "(1, 2)", &[1, 2]);
    let four: [&str; 7] = ["multi_scale_array", "--set", "rows=2", "--set", "columns=2", "--set", "int8=false"];
    let bits = |bits: &'static [u8]| -> File<'_> { ("bits", "|u1", "(1,)", bits) };
    let (tokens, prefill): (File<'_>, File<'_>) =
        (("tokens", "|i1", "(1, 4)", &[1, 2, 3, 4]), ("prefill", "<i2", "(1,)", &[1, 0]));
    let lanes: File<'_> = ("elements", "|i1", "(1, 2)", &[1, 2]);
    let steps = |steps: &'static [u8]| -> [File<'_>; 7] {
        let of = |name, shape, data| -> File<'_> { (name, "<f2", shape, data) };
        let rows = |name| of(name, "(1, 3)", &[0; 6]);
        let word = ("steps", "<i2", "(1,)", steps);
        let [gains, biases] = ["gains", "biases"].map(|name| of(name, "(3,)", &[0; 6]));
        [rows("values"), rows("addends"), rows("factors"), gains, biases, of("scalars", "(2,)", &[0; 4]), word]
    };
    let (no_format, softmax, turns) = (steps(&[0, 3]), steps(&[0x50, 0]), steps(&[0, 4]));
    let (gains, odd) = (steps(&[0x20, 0]), steps(&[8, 4]));
    let refused: [(&[&str], &[File<'_>], &str); 13] = [
        (
            &EVICTOR,
            &[
                ("scores", "|u1", "(1, 2)", &[1, 2]),
                ("protected", "|u1", "(1, 2)", &[0, 1]),
                ("amounts", "|i1", "(1, 2)", &[1, 2]),
            ],
            "scores.npy has 1 passes; wanted: a multiple of 4, the passes of a victim",
        ),
        (
            &NON_ZERO,
            &[
                lanes,
                ("lows", "|i1", "(1, 2)", &[0, 0]),
                ("ranges", "<i2", "(1, 2)", &[15, 0, 14, 0]),
                ("bits", "|u1", "(1,)", &[4]),
            ],
            "ranges.npy has 14 in row 0, column 1; wanted: 15 to 510 for 4 bits",
        ),
        (&UNIT, &no_format, "steps.npy has 768; wanted: formats 0 to 2 in bits 8 and 9"),
        (&UNIT, &softmax, "steps.npy has 80, and the block lacks a unit for it; wanted: units.softmax = true"),
        (&UNIT, &turns, "steps.npy has 1024, and the block lacks a unit for it; wanted: units.rotary = true"),
        (&UNIT, &gains, "steps.npy has 32; wanted: no gains (bit 5) without a norm (bit 4)"),
        (&ROTARY, &odd, "steps.npy has 1032; wanted: either factors (bit 3) or rotation (bit 10)"),
        (
            &ARRAY,
            &[one, ("weight", "|i1", "(3, 1)", &[1, 2, 3])],
            "has shape [3, 1], and channels is 2 in act.npy; wanted: weight.npy: weights, a row for each channel; int8, \
             shape [channels, any]",
        ),
        (
            &four,
            &[("act", "|i1", "(1, 2)", &[1, 8]), ("weight", "|i1", "(2, 1)", &[1, 2])],
            "has 8 at [0, 1]; wanted: act.npy: activations, a row for each token; int8 from -8 to 7, shape [any, channels]",
        ),
        (
            &CLUSTERS,
            &[("midpoints", "<f2", "(3,)", &[0, 0, 0, 0x3c, 0, 0]), ("values", "<f2", "(1,)", &[0, 0])],
            "midpoints.npy falls after element 1; wanted: ascending midpoints, NaNs last",
        ),
        (&SOFTMAX, &[("values", "<f2", "(1, 7)", &[0; 14])], "float16, shape [any, 1 to 6]"),
        (
            &NORM,
            &[("values", "<f2", "(1, 7)", &[0; 14]), ("gains", "<f2", "(7,)", &[0; 14])],
            "values.npy has rows of 7; wanted: 1 to 6 elements",
        ),
        (
            &QUANTIZER,
            &[tokens, bits(&[9]), prefill],
            "has 9 at [0]; wanted: bits.npy: widths of quantized values; uint8 from 2 to 8, shape [1]",
        ),
    ];
    for (block, files, why) in refused {
        let (code, text) = said(block, files);
        assert!(code == 2 && text.contains(why), "{block:?}: {text}");
    }
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
