//! Wrong calibrations, wrong requests, and numbers at the ends of their ranges.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use half::f16;
use models::calibration::{Array, DOCUMENT, File, Kind};
use serde_json::Value;

use super::{ACCELERATORS, calibrated, model, models_folder, params, told};

/// A document with a change, and digests that are right.
fn change(folder: &Path, change: &dyn Fn(&mut Value)) {
    let place = folder.join(DOCUMENT);
    let mut document: Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
    change(&mut document);
    for entry in document["arrays"].as_object_mut().unwrap().values_mut() {
        if let Ok(bytes) = fs::read(folder.join(entry["file"].as_str().unwrap())) {
            entry["blake3"] = blake3::hash(&bytes).to_hex().as_str().into();
        }
    }
    fs::write(place, document.to_string()).unwrap();
}

/// Puts another array into a calibration.
fn put(folder: &Path, name: &str, array: &Array) {
    fs::write(folder.join(format!("{name}.npy")), array.npy()).unwrap();
    let entry = |document: &mut Value| {
        let entry = &mut document["arrays"][name];
        entry["file"] = format!("{name}.npy").into();
        (entry["type"], entry["shape"]) = (array.kind().to_string().into(), array.shape().into());
        entry["blake3"] = "0".repeat(64).into();
    };
    change(folder, &entry);
}

/// The error of a run with a calibration of this accelerator that was changed so.
fn refused(on: &str, changed: &dyn Fn(&Path)) -> String {
    let dir = tempfile::tempdir().unwrap();
    let by = calibrated(dir.path(), on, "llama-3", &[]);
    changed(Path::new(&by[1]));
    let model = model("llama-3");
    let run = ["run", "--on", on, "--model", &model, "--golden", "of", "--calibration", &by[1]];
    let (code, out, errors) = told(&[&run[..], &params(on)].concat());
    assert_eq!((code, out.as_str()), (2, ""), "{errors}");
    errors
}

/// An accelerator, and a change of its calibration.
type Change = (&'static str, Box<dyn Fn(&Path)>);

#[test]
fn what_is_refused() {
    let f64s = |shape: &[usize], x: f64| Array::new(shape, vec![x; shape.iter().product()]).unwrap();
    let cases: BTreeMap<&str, Change> = BTreeMap::from([
        (
            "`version` is 7, wanted is 1",
            (
                "kelle",
                Box::new(|folder: &Path| change(folder, &|document| document["version"] = 7.into()))
                    as Box<dyn Fn(&Path)>,
            ),
        ),
        (
            "`output.bias`: is float64 [3], wanted is float64 [",
            ("tender", Box::new(move |folder: &Path| put(folder, "output.bias", &f64s(&[3], 0.0)))),
        ),
        (
            "`output.largest`: is float32 [], wanted is float64 []",
            ("tender", Box::new(|folder: &Path| put(folder, "output.largest", &Array::new(&[], [1.0_f32]).unwrap()))),
        ),
        (
            "`output.largest`: element 0 is infinite or no number",
            ("tender", Box::new(move |folder: &Path| put(folder, "output.largest", &f64s(&[], f64::NAN)))),
        ),
        (
            "calibration.json: array `output`: largest value is -1, allowed: finite numbers from 0 on",
            ("tender", Box::new(move |folder: &Path| put(folder, "output.largest", &f64s(&[], -1.0)))),
        ),
        (
            "`more`: nobody knows this array; wanted are ",
            ("titanus", Box::new(move |folder: &Path| put(folder, "more", &f64s(&[], 1.0)))),
        ),
        (
            "`unit`: is not there, wanted is float16",
            (
                "kllm",
                Box::new(|folder: &Path| {
                    change(folder, &|document| drop(document["arrays"].as_object_mut().unwrap().remove("unit")));
                }),
            ),
        ),
        (
            "`options`: `bits` is \"9\", allowed: 2 to 8",
            ("tender", Box::new(|folder: &Path| change(folder, &|document| document["options"]["bits"] = "9".into()))),
        ),
        (
            "calibration.json: option `bits` is 4, wanted is 8",
            ("tender", Box::new(|folder: &Path| change(folder, &|document| document["options"]["bits"] = "4".into()))),
        ),
        (
            "`parameters`: `spec.lanes` is 7, wanted is ",
            (
                "titanus",
                Box::new(|folder: &Path| change(folder, &|document| document["parameters"]["spec.lanes"] = 7.into())),
            ),
        ),
        (
            "`parameters`: `rows` is no parameter that calibrations depend on",
            (
                "titanus",
                Box::new(|folder: &Path| change(folder, &|document| document["parameters"]["rows"] = 7.into())),
            ),
        ),
        (
            "`parameters`: `rows` is no parameter that calibrations depend on: there is none",
            ("kelle", Box::new(|folder: &Path| change(folder, &|document| document["parameters"]["rows"] = 7.into()))),
        ),
        (
            "calibration.json: array `bits` has 9, allowed: 2 to 8",
            ("titanus", Box::new(|folder: &Path| put(folder, "bits", &Array::new(&[2, 2], [9_u8; 4]).unwrap()))),
        ),
        (
            "array `weights.q`: values do not ascend",
            (
                "kllm",
                Box::new(|folder: &Path| {
                    let values = (0..32_u16).map(|n| f16::from_bits(0x3c00 - n));
                    put(folder, "weights.q", &Array::new(&[2, 16], values).unwrap());
                }),
            ),
        ),
        (
            "calibration.json: array `budget` has 97: attention.slots must be 97, and is 96",
            (
                "kelle",
                Box::new(|folder: &Path| {
                    let shape = File::read(folder).unwrap().arrays.get("budget").unwrap().shape().to_vec();
                    let elements = vec![97_u16; shape.iter().product()];
                    put(folder, "budget", &Array::new(&shape, elements).unwrap());
                }),
            ),
        ),
    ]);
    for (part, (on, changed)) in cases {
        let found = refused(on, &*changed);
        assert!(found.contains(part), "wanted: {part}\nfound: {found}");
    }
}

/// The largest and the smallest legal numbers are a text or an error, but no panic.
#[test]
fn numbers_at_their_ends() {
    let dir = tempfile::tempdir().unwrap();
    for (on, _) in ACCELERATORS {
        let by = calibrated(dir.path(), on, "llama-3", &[]);
        let arrays = File::read(Path::new(&by[1])).unwrap().arrays;
        let ends = [(f64::MAX, f32::MAX, f16::MAX), (f64::MIN_POSITIVE, f32::MIN_POSITIVE, f16::MIN_POSITIVE)];
        for (double, single, half) in ends {
            for (name, array) in arrays.iter() {
                let (shape, count) = (array.shape(), array.shape().iter().product());
                let other = match array.kind() {
                    Kind::Float64 => Array::new(shape, vec![double; count]),
                    Kind::Float32 => Array::new(shape, vec![single; count]),
                    Kind::Float16 if name == "unit" => Array::new(shape, vec![half; count]),
                    _ => continue,
                };
                put(Path::new(&by[1]), name, &other.unwrap());
                let model = model("llama-3");
                let run = ["run", "--on", on, "--model", &model, "--golden", "--tokens", "1", "of"];
                let (code, _, errors) = told(&[&run[..], &params(on), &by.each_ref().map(String::as_str)].concat());
                assert!(code <= 2 && !errors.contains("panicked"), "{on} {name}: {code} {errors}");
                put(Path::new(&by[1]), name, array);
            }
        }
    }
}

/// Calibrations of another model, and of another accelerator.
#[test]
fn calibrations_of_something_else() {
    let dir = tempfile::tempdir().unwrap();
    let by = calibrated(dir.path(), "kllm", "llama-3", &[]);
    let run = |on: &str, of: &str| {
        let model = model(of);
        told(&["run", "--on", on, "--model", &model, "--golden", "of", "--calibration", &by[1]]).2
    };
    let found = run("kllm", "llama-tied");
    assert!(found.contains("`model.digest` is ") && found.contains("as this is another model"), "{found}");
    let found = run("tender", "llama-3");
    assert!(found.ends_with("calibration.json: `accelerator` is kllm_top, wanted is tender_top\n"), "{found}");
    let (model, page) = (model("llama-3"), models_folder("tests/oracle/page.txt"));
    let eval = |scheme: &str| {
        told(&[
            "eval",
            "--model",
            &model,
            "--text",
            &page,
            "--tokens",
            "20",
            "--scheme",
            scheme,
            "--calibration",
            &by[1],
        ])
        .2
    };
    let found = eval("tender");
    assert!(found.contains("a calibration of kllm_top; schemes that do: kllm\n"), "{found}");
    let found = eval("kllm:activations=3");
    assert!(found.contains("option `activations` is 3, wanted is 4: `activations` in "), "{found}");
}

/// What `calibrate` refuses leaves nothing behind.
#[test]
fn requests_that_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("cal");
    let (model, text) = (model("gpt2"), models_folder("texts/calibration.txt"));
    let cases: [(&str, &[&str], &str); 10] = [
        ("tender", &["--windows", "0"], "--windows <N>': allowed: whole numbers from 1 on"),
        ("tender", &["--stride", "0"], "--stride <N>': allowed: whole numbers from 1 on"),
        ("tendr", &[], "did you mean tender?"),
        ("tender", &["--option", "bit=3"], "there is no option `bit`; options are: bits, groups, outliers"),
        ("tender", &["--context", "1"], "--context is 1, allowed: 2 to "),
        ("tender", &["--tokens", "1"], "wanted is a text of 2 tokens or more, this one has 1"),
        ("tender", &["--tokens", "1000000"], "--tokens is 1000000; "),
        ("kllm", &["--option", "counting=fisher"], "gradients are of models of the family Llama"),
        (
            "kllm",
            &["--option", "detection=offline"],
            "option `detection` is offline, wanted is online with `tokens=rows`",
        ),
        (
            "kllm",
            &["--option", "tokens=energy"],
            "`tokens=energy` needs weights that are binary16 numbers: `--half` rounds them",
        ),
    ];
    for (on, more, part) in cases {
        let all = ["calibrate", on, "--model", &model, "--text", &text, "-o", folder.to_str().unwrap()];
        let (code, out, errors) = told(&[&all[..], more].concat());
        assert!(code == 2 && errors.contains(part), "{on} {more:?}: {code} {errors}");
        assert_eq!((out.as_str(), fs::read_dir(dir.path()).unwrap().count()), ("", 0));
    }
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("notes"), "mine").unwrap();
    let all = ["calibrate", "kllm", "--model", &model, "--text", &text, "-o", folder.to_str().unwrap()];
    let (code, _, errors) = told(&all);
    assert!(code == 2 && errors.contains("has something else than a calibration in it"), "{errors}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    let (code, out, _) = told(&["calibrate", "kllm", "--options"]);
    assert!(code == 0 && out.contains("counting=alike: ") && out.contains("allowed: alike, input, fisher"), "{out}");
}
