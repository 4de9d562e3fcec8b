//! Calibrations in folders: results with them are the results without them, and wrong ones are refused.

mod refused;

use std::fs;
use std::path::{Path, PathBuf};

use models::calibration::File;
use test_tag::tag;

use crate::own_models::{all_layers, fitting};
use crate::support::{said, senbazuru};

/// Accelerators, and the parameters that the models here need.
const ACCELERATORS: [(&str, &[&str]); 4] = [
    ("tender", &[]),
    ("kllm", &[]),
    ("kelle", &["attention.heads=4", "attention.width=64"]),
    ("titanus", &["spec.tiles=20", "spec.store.columns=26"]),
];

fn models_folder(name: &str) -> String {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/models")).join(name).to_str().unwrap().to_owned()
}

fn model(name: &str) -> String {
    models_folder(&format!("tests/oracle/{name}"))
}

fn params(on: &str) -> Vec<&'static str> {
    let (_, set) = ACCELERATORS.iter().find(|one| one.0 == on).unwrap();
    set.iter().flat_map(|one| ["--set", one]).collect()
}

fn is_speed(line: &str) -> bool {
    ["  time ", "  speed ", "  simulation "].iter().any(|start| line.starts_with(start))
}

/// Exit code, output without the speeds, and error.
fn told(args: &[&str]) -> (i32, String, String) {
    let output = senbazuru(args).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let out: Vec<String> = text.lines().filter(|line| !is_speed(line)).map(str::to_owned).collect();
    (output.status.code().unwrap(), out.join("\n"), said(&output.stderr))
}

/// Calibrates on the text that commands learn from on their own.
fn calibrate(on: &str, of: &str, folder: &Path, more: &[&str]) {
    calibrate_with(&params(on), (on, of), folder, more);
}

fn calibrate_with(params: &[&str], (on, of): (&str, &str), folder: &Path, more: &[&str]) {
    let (model, text) = (model(of), models_folder("texts/calibration.txt"));
    let all = ["calibrate", on, "--model", &model, "--text", &text, "-o", folder.to_str().unwrap()];
    let (code, out, errors) = told(&[&all[..], params, more].concat());
    assert_eq!((code, errors.as_str()), (0, ""), "{on} {of}");
    assert!(out.contains("calibration.json, ") && out.contains(" arrays, "), "{out}");
}

/// Calibrates, and returns the option that names the folder.
fn calibrated(dir: &Path, on: &str, of: &str, more: &[&str]) -> [String; 2] {
    let folder = dir.join(format!("{on}-{of}"));
    calibrate(on, of, &folder, more);
    ["--calibration".to_owned(), folder.to_str().unwrap().to_owned()]
}

/// The text of a prompt of two tokens, and four tokens more.
const TEXT: [&str; 3] = ["--tokens", "4", "of it"];

fn same_text(on: &str, of: &str, params: &[&str], more: &[&str]) {
    let dir = tempfile::tempdir().unwrap();
    let (model, folder) = (model(of), dir.path().join("calibration"));
    calibrate_with(params, (on, of), &folder, &[]);
    let all = [&["run", "--on", on, "--model", &model], &TEXT[..], params, more].concat();
    let wanted = told(&all);
    assert_eq!((wanted.0, wanted.2.as_str()), (0, ""), "{on} {of}");
    let found = told(&[&all[..], &["--calibration", folder.to_str().unwrap()]].concat());
    assert_eq!(found, wanted, "{on} {of}");
}

/// `run` writes the same text, and saturates the same words, with what it learns itself and with a calibration.
#[test]
fn runs_are_the_same() {
    for (on, _) in ACCELERATORS {
        same_text(on, "llama-3", &params(on), &["--golden"]);
    }
    same_text("kelle", "gpt2", &params("kelle"), &["--golden", "--set", "lane.function=gelu_tanh"]);
}

#[tag(full)]
#[test]
#[ignore = "four simulators to compile"]
fn simulations_are_the_same() {
    for (on, _) in ACCELERATORS {
        // No larger than the model needs them.
        let set: Vec<String> = fitting(on, "llama-3", &TEXT)
            .into_iter()
            .flat_map(|(name, value)| ["--set".into(), format!("{name}={value}")])
            .collect();
        let set: Vec<&str> = set.iter().map(String::as_str).collect();
        same_text(on, "llama-3", &set, all_layers(on));
    }
}

/// `lower` writes the same bytes.
#[test]
fn layers_are_the_same() {
    let dir = tempfile::tempdir().unwrap();
    for on in ["kllm", "kelle", "titanus"] {
        let (model, by) = (model("llama-3"), calibrated(dir.path(), on, "llama-3", &[]));
        let files = |name: &str, more: &[&str]| {
            let out = dir.path().join(format!("{on}-{name}"));
            let place = out.to_str().unwrap();
            let lower = ["lower", "--on", on, "--model", &model, "--layer", "1", "-o", place, "of it"];
            let (code, _, errors) = told(&[&lower[..], &params(on), more].concat());
            assert_eq!((code, errors.as_str()), (0, ""), "{on}");
            let header = fs::read_to_string(out.join("layer.h")).unwrap();
            let (learnt, rest): (Vec<&str>, Vec<&str>) =
                header.lines().partition(|line| line.starts_with(" * Calibration: "));
            let bytes = ["memory.bin", "results.bin"].map(|name| fs::read(out.join(name)).unwrap());
            (learnt.concat(), (rest.join("\n"), bytes))
        };
        let given = by.each_ref().map(String::as_str);
        let (own, given) = (files("own", &[]), files("given", &given));
        assert!(own.1 == given.1, "{on}");
        assert_eq!(own.0, " * Calibration: learnt from the text in the program. */");
        assert!(given.0.starts_with(&format!(" * Calibration: {on}-llama-3, ")), "{}", given.0);
    }
}

/// `eval` has the same figures, to the last digit.
#[test]
fn figures_are_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let (of, text) = ("llama-tied", models_folder("texts/calibration.txt"));
    let (model, page) = (model(of), models_folder("tests/oracle/page.txt"));
    let cut = ["--half", "--windows", "3", "--context", "48", "--stride", "40"];
    let learn = ["--learn", &text, "--learn-windows", "3", "--learn-context", "48", "--learn-stride", "40"];
    let cases: [(&str, &[&str], &str); 8] = [
        ("tender", &["bits=4", "groups=6", "outliers=2"], "tender:bits=4,groups=6,outliers=2"),
        ("kllm", &["tokens=energy"], "kllm"),
        ("kllm", &["tokens=energy", "counting=fisher", "activations=3"], "kllm:counting=fisher,activations=3"),
        ("kllm", &["tokens=energy", "counting=input", "detection=offline", "outliers=2"], {
            "kllm:counting=input,detection=offline,outliers=2"
        }),
        ("kllm", &["counting=fisher"], "kllm:counting=fisher,activations=16"),
        ("kelle", &["budget=8"], "kelle:tokens=8"),
        ("kelle", &["budget=8", "cycles=3", "important-upper=360", "important-lower=5400", "other-lower=7200"], {
            "refreshed:tokens=8,important-upper=360,important-lower=5400,other-lower=7200"
        }),
        ("titanus", &["pruned=20", "keys=5"], "titanus:pruned=20,keys=5"),
    ];
    for (on, options, scheme) in cases {
        let options: Vec<&str> = options.iter().flat_map(|one| ["--option", one]).collect();
        let learn = if ["tender", "kllm"].contains(&on) { &learn[..] } else { &[] };
        let by = calibrated(dir.path(), on, of, &[&cut[..], &options].concat());
        let eval = ["eval", "--model", &model, "--text", &page, "--tokens", "64", "--json", "--scheme", scheme];
        let own = told(&[&eval[..], learn].concat());
        let given = told(&[&eval[..], &by.each_ref().map(String::as_str)].concat());
        assert_eq!((own.0, own.2.as_str()), (0, ""), "{scheme}");
        assert_eq!(given, own, "{scheme}");
        // A store of an evaluation without it is another store.
        let store = dir.path().join("store");
        let kept = [&eval[..], &["--store", store.to_str().unwrap()], &by.each_ref().map(String::as_str)].concat();
        assert_eq!(told(&kept), own, "{scheme}");
        let other = told(&[&eval[..], &["--store", store.to_str().unwrap()], learn].concat());
        assert!(other.0 == 2 && other.2.contains("name another file"), "{}", other.2);
        fs::remove_file(store).unwrap();
    }
}

/// Arrays of a calibration have effect: other budgets, thresholds and bits are other texts or figures.
#[test]
fn arrays_have_effect() {
    let dir = tempfile::tempdir().unwrap();
    let cases = [("kelle", "budget", "budget=4"), ("titanus", "bits", "keys=2")];
    for (on, name, option) in cases {
        let by = calibrated(dir.path(), on, "llama-3", &[]);
        let other = dir.path().join("other");
        calibrate(on, "llama-3", &other, &["--option", option]);
        let [usual, other] = [Path::new(&by[1]), &other].map(|folder| File::read(folder).unwrap().arrays);
        assert_ne!(usual.get(name).unwrap(), other.get(name).unwrap(), "{on}");
        let differ: Vec<&str> =
            usual.iter().filter(|(of, all)| other.get(of).unwrap() != *all).map(|of| of.0).collect();
        assert_eq!(differ, [name], "{on}");
        let run = |folder: &str| {
            let model = model("llama-3");
            let all = ["run", "--on", on, "--model", &model, "--golden", "--tokens", "12", "--calibration", folder];
            let found = told(&[&all[..], &params(on), &["of it and of that"]].concat());
            assert_eq!((found.0, found.2.as_str()), (0, ""), "{on}");
            found.1
        };
        assert_ne!(run(&by[1]), run(dir.path().join("other").to_str().unwrap()), "{on}");
    }
}

/// Any share of outliers runs for which the accelerator has room, and a larger one is refused.
#[test]
fn outliers_of_any_share() {
    let (dir, model) = (tempfile::tempdir().unwrap(), model("llama-3"));
    let run = |share: &str| {
        let folder = dir.path().join(share);
        calibrate("kllm", "llama-3", &folder, &["--option", &format!("outliers={share}")]);
        let all = ["run", "--on", "kllm", "--model", &model, "--golden", "--calibration", folder.to_str().unwrap()];
        told(&[&all[..], &TEXT].concat())
    };
    for share in ["0", "10"] {
        let (code, out, errors) = run(share);
        assert_eq!((code, errors.as_str()), (0, ""), "{share}");
        assert!(out.contains(&format!("W4A4, {share} % outliers of a whole token")), "{out}");
    }
    let (code, _, errors) = run("90");
    let told = "option `outliers` means 115 outliers of a token on a side, wanted is at most product.kmax = 32";
    assert!(code != 0 && errors.contains(told), "{code} {errors}");
}

/// Intervals of refreshes are a descriptor of the first chain, and intervals that the hardware has not are refused.
#[test]
fn refreshes_are_set() {
    let dir = tempfile::tempdir().unwrap();
    let times = |name: &str, cycles: &str| {
        let times = ["important-upper=360", "important-lower=5400", "other-upper=1440", "other-lower=7200", cycles];
        let options: Vec<&str> = times.iter().flat_map(|one| ["--option", one]).collect();
        let folder = dir.path().join(name);
        calibrate("kelle", "llama-3", &folder, &options);
        folder.to_str().unwrap().to_owned()
    };
    let out = dir.path().join("image");
    let descriptors = |more: &[&str]| {
        let model = model("llama-3");
        let lower = ["lower", "--on", "kelle", "--model", &model, "-o", out.to_str().unwrap(), "of it"];
        let (code, out, errors) = told(&[&lower[..], &params("kelle"), more].concat());
        let chain = out.lines().find_map(|line| line.strip_prefix("  chain       ")).unwrap_or_default();
        (code, chain.split(' ').next().unwrap().parse::<u32>().unwrap_or(0), errors)
    };
    let (_, usual, _) = descriptors(&[]);
    let (code, found, errors) = descriptors(&["--calibration", &times("few", "cycles=3")]);
    assert_eq!((code, errors.as_str(), found), (0, "", usual + 1));
    let (code, _, errors) = descriptors(&["--calibration", &times("many", "cycles=10000")]);
    assert!(
        code == 2 && errors.contains("calibration.json: array `refresh.intervals`: high_lsb is 54000000, must be "),
        "{errors}"
    );
}

/// What `explore` finds, `run` and `eval` use, and a further search begins with it.
#[test]
fn settings_that_were_found() {
    let dir = tempfile::tempdir().unwrap();
    let (of, found, store) = ("llama-3", dir.path().join("found"), dir.path().join("store"));
    let by = calibrated(dir.path(), "titanus", of, &[]);
    let model = model(of);
    let file = models_folder("../../sweeps/explore/titanus.toml");
    let text = fs::read_to_string(&file).unwrap();
    // A second stage with room.
    let wide = dir.path().join("wide.toml");
    fs::write(&wide, text.replace("share = 0.05", "share = 0.5")).unwrap();
    let explore = |by: &str, more: &[&str]| {
        let file = wide.to_str().unwrap();
        let few = ["--tokens", "24", "--population", "4", "--store", store.to_str().unwrap()];
        told(&[&["explore", file, "--model", &model][..], &few, &["--calibration", by], more].concat())
    };
    let place = found.to_str().unwrap();
    let (code, out, errors) = explore(&by[1], &["--generations", "1", "-o", place]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let names = "titanus.key_threshold, titanus.value_threshold, titanus.keys, titanus.values";
    assert!(out.ends_with(&format!("/found: {names} of 2 layers")), "{out}");
    let (before, after) = (File::read(Path::new(&by[1])).unwrap(), File::read(&found).unwrap());
    assert_eq!(after.origin.options["thresholds"], "text");
    let bits: Vec<u8> = after.arrays.all("bits").unwrap();
    for (side, name) in ["keys", "values"].into_iter().enumerate() {
        let of = || bits.iter().skip(side).step_by(2);
        let same = of().all(|bits| *bits == of().copied().next().unwrap());
        let wanted = if same { bits[side].to_string() } else { "layers".to_owned() };
        assert_eq!(after.origin.options[name], wanted, "{bits:?}");
    }
    assert_eq!(after.origin.options["pruned"], "layers");
    let explored = after.origin.explored.clone().unwrap();
    assert_eq!((explored.text.as_str(), explored.tokens), ("pride.txt", 24));
    assert!(before.origin.explored.is_none());
    let same = |name: &str| before.arrays.get(name).unwrap() == after.arrays.get(name).unwrap();
    assert!(before.arrays.iter().all(|(name, _)| name == "bits" || same(name)));
    let thresholds: Vec<u8> = after.arrays.all("thresholds").unwrap();
    // A further search begins with what was found.
    let csv = dir.path().join("front.csv");
    let again = |by: &[&str]| {
        let first = ["--generations", "0", "--population", "2", "--seed", "9", "--tokens", "24", "--csv"];
        let path = csv.to_str().unwrap();
        let all = [&["explore", &file, "--model", &model][..], &first, &[path, "--store", store.to_str().unwrap()], by];
        let (code, _, errors) = told(&all.concat());
        assert_eq!((code, errors.as_str()), (0, ""));
        fs::read_to_string(&csv).unwrap()
    };
    let setting: Vec<String> = thresholds.iter().map(u8::to_string).collect();
    let line = format!(",{}\n", setting.join(","));
    assert!(again(&["--calibration", place]).contains(&line), "{line}");
    assert!(!again(&[]).contains(&line));
    let run = ["run", "--on", "titanus", "--model", &model, "--golden", "of it", "--calibration", place];
    let (code, _, errors) = told(&[&run[..], &params("titanus")].concat());
    assert_eq!((code, errors.as_str()), (0, ""));
    let page = models_folder("tests/oracle/page.txt");
    let eval = ["eval", "--model", &model, "--text", &page, "--tokens", "24", "--scheme", "titanus", "--json"];
    let plain = told(&eval).1;
    let (code, out, errors) = told(&[&eval[..], &["--calibration", place]].concat());
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_ne!(out, plain);
    // The label says what is computed, not the scheme's defaults.
    let options = &after.origin.options;
    let [keys, values] = ["keys", "values"].map(|name| &options[name]);
    let thresholds = ["key_threshold=share", "value_threshold=share"];
    let label =
        format!("titanus:{},keys={keys},levels=yes,pruned=layers,{},values={values}", thresholds[0], thresholds[1]);
    assert!(out.contains(&format!("\"{label}\"")), "{label}: {out}");
    let (code, _, errors) = told(&[&eval[..], &["--calibration", place, "--set", "keys=7"]].concat());
    assert!(code == 2 && errors.contains("option `keys` is 7, wanted is "), "{errors}");
    let (code, _, errors) = told(&[&eval[..], &["--set", "keys=layers"]].concat());
    assert!(code == 2 && errors.contains("option `keys` is layers, which this use has no number for"), "{errors}");
    let alone = senbazuru(&["explore", &file, "-o", place]).assert().code(2);
    assert!(String::from_utf8_lossy(&alone.get_output().stderr).contains("--calibration"));
}
