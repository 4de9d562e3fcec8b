//! A part of a language model as the work of the stage `cycles`: `work.` settings in sweeps and points.

use std::path::Path;

use snapbox::str;

use crate::support::{in_folder, senbazuru};

fn run(folder: &Path, args: &[&str]) -> (i32, String, String) {
    let output = senbazuru(args).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

const SWEEP: &str = r#"
block = "kelle_top"
stages = ["cycles"]
[fixed]
"work.phase" = "token"
"work.bandwidth" = 0.5
[axes]
"work.model" = ["SmolLM2-135M", "mine.json"]
"work.context" = [16, 40]
"work.batch" = [1, 2]
[derived]
"work.budget" = "work.context // 2"
[[plot]]
x = "work.context"
y = "time_cycles"
series = "work.batch"
"#;

/// A model of half the layers' width, from a file.
const MODEL: &str = r#"{"model_type": "llama", "hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2,
  "num_attention_heads": 2, "num_key_value_heads": 1, "hidden_act": "silu", "rms_norm_eps": 1e-5, "vocab_size": 512,
  "max_position_embeddings": 64}"#;

#[test]
fn models_contexts_and_batches_are_axes() {
    let folder = in_folder(&[("sweep.toml", SWEEP), ("mine.json", MODEL)]);
    let command = ["sweep", "sweep.toml", "--output", "out", "--store", "store", "--jobs", "2"];
    let (code, out, errors) = run(folder.path(), &command);
    assert_eq!((code, errors.as_str()), (0, ""), "{out}");
    let results = std::fs::read_to_string(folder.path().join("out/results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    let points = results["points"].as_array().unwrap();
    assert_eq!(points.len(), 8);
    for point in points {
        let numbers = &point["stages"][0]["metrics"];
        assert_eq!(numbers["time_cycles"].as_f64().unwrap(), 2.0 * numbers["bytes"].as_f64().unwrap());
        assert_eq!(
            point["parameters"]["work.budget"].as_u64(),
            point["parameters"]["work.context"].as_u64().map(|n| n / 2)
        );
    }
    senbazuru(&["report", "out"]).current_dir(folder.path()).assert().code(0);
    // The command of a point gives the same.
    let words: Vec<String> =
        points[3]["command"].as_str().unwrap().split(' ').skip(1).map(|word| word.replace('\'', "")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).chain(["--store", "other", "--json"]).collect();
    let (code, out, errors) = run(folder.path(), &words);
    assert_eq!((code, errors.as_str()), (0, ""), "{words:?}");
    let again: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(again[0]["metrics"], points[3]["stages"][0]["metrics"]);
    assert_eq!(again[0]["key"], points[3]["stages"][0]["key"]);
}

/// Without settings the work is a token of the model of the studies; a block with work of its own keeps that.
#[test]
fn usual_work() {
    let folder = in_folder(&[]);
    let point = |block: &str, more: &[&str]| {
        run(folder.path(), &[&["point", block, "--stages", "cycles", "--store", "store"], more].concat())
    };
    let usual = point("kelle_top", &["--json"]);
    let settings =
        ["--set", "work.model=smollm2-135m", "--set", "work.context=1024", "--set", "work.part=layer", "--json"];
    let said = point("kelle_top", &settings);
    let numbers = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()[0]["metrics"].clone();
    assert_eq!(numbers(&usual.1), numbers(&said.1));
    let (code, out, _) = point("titanus_core", &[]);
    assert!(
        code == 1 && out.contains("cycles failed: no room: a context of 1024 tokens, it has room for 128"),
        "{out}"
    );
    let (code, out, _) = point("tender_top", &[]);
    assert!(code == 1 && out.contains("depth is 1024, the layer needs 1536"), "{out}");
    let (code, out, _) = point("tender_top", &["--set", "work.bits=4"]);
    assert!(code == 0 && out.contains("cycles  busy"), "{out}");
}

#[test]
fn settings_that_are_wrong() {
    let folder = in_folder(&[]);
    let point = ["point", "kelle_top", "--stages", "cycles", "--set"];
    senbazuru(&[&point[..], &["work.modell=x"]].concat()).assert().code(2).stderr_eq(str![[r#"
error: `--set work.modell=x`: kelle_top has no setting `work.modell`; did you mean work.model? there are: work.model, work.part, work.phase, work.batch, work.context, work.latency, work.bandwidth, work.energy, work.area, work.memory, work.budget, work.refresh

"#]]);
    for (setting, part) in [
        ("work.phase=x", "`work.phase` is x, allowed: token, prompt"),
        ("work.part=x", "`work.part` is x, allowed: layer, model"),
        ("work.model=x", "no model `x`: no file of this name, and the shapes here are SmolLM2-135M"),
        ("work.model=3", "`work.model` is 3, wanted is a name or a path"),
        ("work.context=0", "`work.context` is 0, allowed: 1 to 1048576"),
        ("work.batch=x", "`work.batch` is x, allowed: 1 to 65536"),
        ("work.bandwidth=0", "`work.bandwidth` is 0, allowed: bytes a cycle above 0"),
        ("work.budget=z", "`budget` is \"z\", allowed: 1 to 65535, or slots"),
        ("work.batch", "write it as NAME=VALUE"),
    ] {
        let (code, out, errors) = run(folder.path(), &[&point[..], &[setting]].concat());
        assert!(code == 2 && out.is_empty() && errors.contains(part), "{setting}: {errors}");
    }
    for (args, part) in [
        (
            &["point", "kelle_top", "--set", "work.batch=2"][..],
            "`work.batch` is of the work of the stage `cycles`: add it to --stages",
        ),
        (&["point", "mac_mesh", "--stages", "cycles", "--set", "work.batch=2"], "mac_mesh has no settings of work"),
        (&["gen", "kelle_top", "--set", "work.batch=2"], "kelle_top has no parameter `work.batch`"),
    ] {
        let (code, out, errors) = run(folder.path(), args);
        assert!(code == 2 && out.is_empty() && errors.contains(part), "{args:?}: {errors}");
    }
    for (from, to, part) in [
        (
            "[\"cycles\"]",
            "[\"gen\"]",
            "sweep.toml:5: `work.phase` is of the work of the stage `cycles`, which is not in `stages`",
        ),
        ("\"mine.json\"", "\"other.json\"", "sweep.toml:8: no model `other.json`"),
        ("work.context // 2", "0 * work.context", "`budget` is \"0\", allowed: 1 to 65535, or slots"),
        ("kelle_top", "mac_mesh", "mac_mesh has no settings of work"),
    ] {
        std::fs::write(folder.path().join("mine.json"), MODEL).unwrap();
        let text = SWEEP.replace(from, to);
        std::fs::write(folder.path().join("sweep.toml"), text).unwrap();
        let (code, out, errors) = run(folder.path(), &["sweep", "sweep.toml"]);
        assert!(code == 2 && out.is_empty() && errors.contains(part), "{to}: {errors}");
    }
}
