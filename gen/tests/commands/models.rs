//! `senbazuru model` and `info`: what a model has, and what can run it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::own_models::obey;
use crate::support::senbazuru;

fn oracle(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sim/models/tests/oracle").join(name);
    folder.to_str().unwrap().to_owned()
}

fn told(args: &[&str]) -> (i32, String, String) {
    let run = senbazuru(args).assert();
    let output = run.get_output();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
}

/// A folder and a file of the same model say the same of it, and each accelerator what it needs.
#[test]
fn what_a_model_has() {
    let data = |name: &str| -> serde_json::Value {
        let (code, out, errors) = told(&["model", &oracle(name), "--json"]);
        assert_eq!((code, errors.as_str()), (0, ""), "{name}");
        serde_json::from_str(&out).unwrap()
    };
    let (folder, file) = (data("llama-tied"), data("llama-tied.gguf"));
    let model = &folder["model"];
    assert_eq!((&model["family"], &model["heads"], &model["head width"]), (&"Llama".into(), &4.into(), &64.into()));
    assert_eq!((&model["layers"], &model["key heads"]), (&file["model"]["layers"], &file["model"]["key heads"]));
    assert!(folder["digest"] != file["digest"] && !folder["tensors"].as_array().unwrap().is_empty());
    let (code, out, errors) = told(&["model", &oracle("llama-tied.gguf")]);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert!(out.contains("rotary, base 10000") && out.contains("byte-level BPE"), "{out}");
    // What an accelerator needs is enough.
    let kelle = out.lines().find(|line| line.starts_with("kelle ")).unwrap();
    let mut params = BTreeMap::new();
    obey(kelle, &mut params);
    let set: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let set: Vec<&str> = set.iter().flat_map(|one| ["--set", one.as_str()]).collect();
    let model = oracle("llama-tied.gguf");
    let run = ["run", "--on", "kelle", "--model", &model, "--golden", "--tokens", "2", "of"];
    let (code, _, errors) = told(&[&run[..], &set].concat());
    assert_eq!((code, errors.as_str()), (0, ""), "{set:?}");
    let (code, out, errors) = told(&["model", &oracle("page.txt")]);
    assert!(code == 2 && out.is_empty() && errors.contains("is not a GGUF file"), "{errors}");
}

/// A missing file is named, and the system's error told once.
#[test]
fn a_file_that_is_not_there() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("model.gguf");
    let (code, _, errors) = told(&["model", place.to_str().unwrap()]);
    assert!(code == 2 && errors.matches("No such file or directory").count() == 1, "{errors}");
}

/// An accelerator has its short name in all commands.
#[test]
fn short_names() {
    let (code, out, errors) = told(&["info", "tender", "--json"]);
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(out, told(&["info", "tender_top", "--json"]).1);
}
