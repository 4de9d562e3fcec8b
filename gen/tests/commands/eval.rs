//! `senbazuru eval` on small models, and on the real one.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use models::decoder::perplexity::{perplexity, surprises};
use models::decoder::{Decoder, Float, Precision};
use test_tag::tag;

use crate::own_models::obey;
use crate::support::senbazuru;

fn models_folder(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../sim/models")).join(name)
}

struct Told {
    code: Option<i32>,
    out: String,
    errors: String,
}

/// Runs `eval` in a folder.
fn eval(folder: &std::path::Path, arguments: &[&str]) -> Told {
    let all: Vec<&str> = ["eval"].into_iter().chain(arguments.iter().copied()).collect();
    let output = senbazuru(&all).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Told { code: output.status.code(), out: text(output.stdout), errors: text(output.stderr) }
}

/// The cell after the name of a scheme.
fn figure(told: &Told, scheme: &str) -> f64 {
    let line = told.out.lines().find(|line| line.starts_with(scheme));
    let line = line.unwrap_or_else(|| panic!("no {scheme}: {}{}", told.out, told.errors));
    line.split_whitespace().nth(1).unwrap().replace(',', "").parse().unwrap()
}

/// The figures are the library's, an evaluation goes on from its store, and a store of another text is refused.
#[test]
fn figures_of_a_small_model() {
    let dir = tempfile::tempdir().unwrap();
    let (model, page) = (models_folder("tests/oracle/qwen2"), models_folder("tests/oracle/page.txt"));
    let read = |tokens: &str, more: &[&str]| {
        let text = ["--model", model.to_str().unwrap(), "--text", page.to_str().unwrap(), "--tokens", tokens];
        eval(dir.path(), &[&text[..], more].concat())
    };
    let decoder = Decoder::open(&model, Precision::Half).unwrap();
    let tokens = decoder.tokenizer.prompt(fs::read_to_string(&page).unwrap().trim_end()).unwrap();
    let expected = perplexity(&surprises(&decoder.model, &tokens[..48], &mut Float).unwrap());
    let found = read("48", &[]);
    assert_eq!(found.code, Some(0), "{}", found.errors);
    assert!((figure(&found, "float") / expected - 1.0).abs() < 1e-6, "{expected}: {}", found.out);
    assert!(found.out.contains("47 tokens count, in windows of 512, stride 512: 1 in all"), "{}", found.out);

    let data = read("48", &["--json"]);
    let data: serde_json::Value = serde_json::from_str(&data.out).unwrap_or_else(|e| panic!("{e}: {}", data.errors));
    assert_eq!(data["text"], serde_json::json!({ "context": 512, "stride": 512, "windows": 1, "tokens": 47 }));
    let scheme = &data["schemes"][0];
    assert_eq!((&scheme["scheme"], &scheme["questions"]), (&"float".into(), &0.into()));
    assert!((scheme["perplexity"].as_f64().unwrap() / expected - 1.0).abs() < 1e-9, "{data}");

    let both = ["--context", "16", "--stride", "8", "--scheme", "float", "--scheme", "integers:bits=4"];
    let kept = [&both[..], &["--store", "store"]].concat();
    let first = read("48", &kept);
    assert_eq!(first.code, Some(0), "{}", first.errors);
    assert!(first.out.contains("47 tokens count, in windows of 16, stride 8: 5 in all"), "{}", first.out);
    assert_eq!(first.out, read("48", &both).out);
    let store = fs::read_to_string(dir.path().join("store")).unwrap();
    assert_eq!(store.lines().count(), 1 + 2 * 5, "{store}");
    fs::write(dir.path().join("store"), &store[..store.len() * 2 / 3]).unwrap();
    assert_eq!(first.out, read("48", &kept).out);
    // A result that was damaged.
    let damaged = store.replacen("\"surprises\":[\"", "\"surprises\":[\"-", 1);
    fs::write(dir.path().join("store"), damaged).unwrap();
    let found = read("48", &kept);
    assert!(found.code == Some(2) && found.errors.contains("wanted is a number from 0 on"), "{}", found.errors);
    fs::write(dir.path().join("store"), &store).unwrap();
    let other = read("47", &kept);
    assert!(other.code == Some(2) && other.errors.contains("name another file"), "{}", other.errors);
}

/// Each scheme with each cache, as many rows; a stop changes nothing.
#[test]
fn schemes_with_caches() {
    let dir = tempfile::tempdir().unwrap();
    let (model, page) = (models_folder("tests/oracle/qwen2"), models_folder("tests/oracle/page.txt"));
    let read = |more: &[&str]| {
        let text = ["--model", model.to_str().unwrap(), "--text", page.to_str().unwrap(), "--tokens", "24"];
        eval(dir.path(), &[&text[..], more].concat())
    };
    let schemes = ["--scheme", "integers:bits=4", "--scheme", "float"];
    let caches = ["--cache", "float", "--cache", "cache:bits=3", "--cache", "cache:bits=3+kelle:tokens=8"];
    let found = read(&[&schemes[..], &caches].concat());
    assert_eq!(found.code, Some(0), "{}", found.errors);
    let integers = "integers:activations=0,bits=4,outliers=0,scale=row";
    let (cache, kelle) = ("cache:bits=3", "kelle:policy=aerp,tokens=8");
    let names = [
        integers.to_owned(),
        format!("{integers}+{cache}"),
        format!("{integers}+{cache}+{kelle}"),
        "float".to_owned(),
        cache.to_owned(),
        format!("{cache}+{kelle}"),
    ];
    let figures: Vec<f64> = names.iter().map(|name| figure(&found, &format!("{name} "))).collect();
    let alone = read(&schemes);
    assert_eq!([figures[0], figures[3]], [figure(&alone, "integers"), figure(&alone, "float")]);
    assert!((0..6).all(|a| (0..a).all(|b| figures[a] != figures[b])), "{figures:?}");
    let told = format!("{cache}+{kelle}: bytes an element ");
    assert!(found.out.contains(&told) && found.out.contains("tokens kept 0.3333"), "{}", found.out);
    let set = read(&["--scheme", "integers", "--set", "bits=4", "--cache", "cache:bits=3+kelle:tokens=8"]);
    assert_eq!(figure(&set, integers), figures[2]);
    for (arguments, part) in [
        (&["--cache", "tender"][..], "scheme `tender` replaces the products of projections, wanted is a cache: float,"),
        (&["--cache", "kelle+refreshed"], "`kelle+refreshed`: no place for two: `kelle`, which replaces which tokens"),
        (&["--scheme", "kelle", "--cache", "kelle"], "no place for two: "),
        (&["--cache", "kely"], "there is no scheme `kely`"),
        (&["--on", "kelle", "--cache", "cache"], "--cache"),
    ] {
        let refused = read(arguments);
        assert!(refused.code == Some(2) && refused.errors.contains(part), "{arguments:?}: {}", refused.errors);
    }
}

/// A model on each accelerator: what does not fit says how large parameters must be. With them figures are the same in
/// one thread and in two, and after a stop. In 16 bits they are near the float model's.
#[test]
fn models_on_accelerators() {
    let dir = tempfile::tempdir().unwrap();
    let (model, page) = (models_folder("tests/oracle/qwen2"), models_folder("tests/oracle/page.txt"));
    let read = |more: &[&str]| {
        let text = ["--model", model.to_str().unwrap(), "--text", page.to_str().unwrap(), "--tokens", "30"];
        eval(dir.path(), &[&text[..], &["--context", "10", "--stride", "5"], more].concat())
    };
    let float = figure(&read(&[]), "float");
    let mut figures = Vec::new();
    for (on, block) in
        [("tender", "tender_top"), ("kllm", "kllm_top"), ("kelle", "kelle_top"), ("titanus", "titanus_core")]
    {
        let mut params = BTreeMap::new();
        let asked = |params: &BTreeMap<String, String>, more: &[&str]| {
            let set: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
            let set = set.iter().flat_map(|one| ["--set", one]);
            let all: Vec<&str> = ["--on", on].into_iter().chain(more.iter().copied()).chain(set).collect();
            read(&all)
        };
        let first = asked(&params, &[]);
        if first.code == Some(2) {
            assert!(first.errors.starts_with("error: the model does not fit on "), "{}", first.errors);
            obey(&first.errors, &mut params);
        }
        let kept = asked(&params, &["--threads", "1", "--store", on]);
        assert_eq!(kept.code, Some(0), "{}", kept.errors);
        let store = fs::read_to_string(dir.path().join(on)).unwrap();
        assert_eq!(store.lines().count(), 1 + 5, "{store}");
        fs::write(dir.path().join(on), &store[..store.len() * 2 / 3]).unwrap();
        assert_eq!(kept.out, asked(&params, &["--threads", "2", "--store", on]).out);
        let other = asked(&params, &["--prompt", "4", "--store", on]);
        assert!(other.code == Some(2) && other.errors.contains("name another file"), "{}", other.errors);
        // Only what differs is told.
        let told = other.errors.split(" something else: ").nth(1).unwrap_or_default();
        assert!(told.starts_with("`passages` is ") && told.matches(", here it is ").count() == 1, "{}", other.errors);
        assert!(store.starts_with("{\"problem\":{") && store.contains("\"learnt from\":\"the text in the program\""));
        figures.push(figure(&kept, block));
    }
    let [tender, kllm, kelle, titanus] = figures[..] else { panic!("{figures:?}") };
    assert!((kelle / float - 1.0).abs() < 0.01, "{kelle}, in floats {float}");
    assert!(tender != kllm && kllm != titanus && titanus != kelle, "{figures:?}");
    let both = read(&["--on", "kelle", "--scheme", "float"]);
    assert!(both.code == Some(2) && both.errors.contains("--scheme"), "{}", both.errors);
    let unknown = read(&["--on", "kele"]);
    assert!(unknown.code == Some(2) && unknown.errors.contains("did you mean kelle?"), "{}", unknown.errors);
}

#[test]
fn questions() {
    let dir = tempfile::tempdir().unwrap();
    let model = models_folder("tests/oracle/opt");
    let line = r#"{"context": "Water is", "choices": [" wet", " wet"], "answer": "#;
    // Of equal choices the first counts.
    fs::write(dir.path().join("choices"), format!("{line}0}}\n{line}0}}\n{line}1}}\n{line}0}}\n")).unwrap();
    let found = eval(dir.path(), &["--model", model.to_str().unwrap(), "--choices", "choices"]);
    assert_eq!(found.code, Some(0), "{}", found.errors);
    assert!((figure(&found, "float") - 75.0).abs() < 1e-9 && found.out.contains("4 questions"), "{}", found.out);
    fs::write(dir.path().join("choices"), format!("{line}0}}\n{line}2}}\n")).unwrap();
    let found = eval(dir.path(), &["--model", model.to_str().unwrap(), "--choices", "choices"]);
    assert!(found.code == Some(2) && found.errors.contains("choices: line 2: "), "{}", found.errors);
}

#[test]
fn what_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let (model, page) = (models_folder("tests/oracle/opt"), models_folder("tests/oracle/page.txt"));
    let (model, page) = (model.to_str().unwrap(), page.to_str().unwrap());
    let on_page = ["--model", model, "--text", page];
    let cases: [(&[&str], &str); 17] = [
        (&["--scheme", "float", "--option", "activations=3"], "--option"),
        (&["--scheme", "float", "--learn-itself"], "--learn-itself"),
        (&["--scheme", "float", "--config", "x.toml"], "--config"),
        (&["--learn", page], "none of these does: float; schemes that do: tender, kllm"),
        (&["--scheme", "tender:ranges=itself", "--learn", page], "none of these does: tender:bits=8"),
        (&["--prompt", "33", "--context", "16"], "--prompt is 33, allowed: 1 to 16, the tokens of a window"),
        (&["--on", "kelle", "--learn", page, "--calibration", "x"], "not for an accelerator that has a --calibration"),
        (&["--scheme", "integer"], "there is no scheme `integer`; schemes are: float, integers, "),
        (&["--scheme", "integers", "--set", "bit=4"], "there is no option `bit`; options are: "),
        (&["--set", "bits=4"], "--set goes with one --scheme"),
        (&["--scheme", "integers", "--scheme", "integers:bits=8"], "is there twice"),
        (&["--scheme", "tender"], "there is none to learn from; `--learn FILE` names one"),
        (&["--context", "33"], "--context is 33, allowed: 2 to 32, the model's context"),
        (&["--context", "8", "--stride", "9"], "the stride is 9, allowed: 1 to 8 tokens"),
        (&["--tokens", "100000"], "--tokens is 100000; "),
        (
            &["--scheme", "kllm", "--learn", page, "--learn-context", "33"],
            "--learn-context is 33, allowed: 2 to 32, the model's context",
        ),
        (&["--scheme", "kllm", "--learn", page, "--learn-context", "32", "--learn-windows", "99"], "99 windows of 32"),
    ];
    for (more, part) in cases {
        let found = eval(dir.path(), &[&on_page[..], more].concat());
        assert!(found.code == Some(2) && found.errors.contains(part), "{more:?}: {}", found.errors);
        assert_eq!(found.out, "");
    }
    for arguments in [&["--model", model][..], &["--text", page], &["--model", "nowhere", "--text", page]] {
        assert_eq!(eval(dir.path(), arguments).code, Some(2), "{arguments:?}");
    }
}

/// The list has every scheme that there is, each with an option's default.
#[test]
fn the_list_of_schemes() {
    let dir = tempfile::tempdir().unwrap();
    let found = eval(dir.path(), &["--schemes"]);
    assert_eq!(found.code, Some(0), "{}", found.errors);
    for scheme in models::schemes::registry() {
        assert!(found.out.contains(&format!("{}: {}\n", scheme.name(), scheme.about())), "{}", found.out);
        for choice in scheme.choices() {
            assert!(found.out.contains(&format!("  {}={}: ", choice.name, choice.default)), "{}", found.out);
        }
    }
}

/// Rows of the tables of docs/perplexity.md.
#[tag(full)]
#[test]
#[ignore = "needs the weights: a minute on an idle machine"]
fn rows_of_the_tables() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name| models_folder(name).to_str().unwrap().to_owned();
    let weights = models::smollm2::path();
    let (text, learn) = (path("texts/pride.txt"), path("texts/calibration.txt"));
    let found = eval(
        dir.path(),
        &[
            &["--model", weights.to_str().unwrap(), "--text", &text, "--tokens", "384", "--learn", &learn][..],
            &["--scheme", "float", "--scheme", "integers:bits=8", "--scheme", "tender:bits=8,groups=8"],
            &["--scheme", "titanus:pruned=33.8,keys=4,values=4", "--scheme", "kelle:tokens=64,policy=aerp"],
        ]
        .concat(),
    );
    assert_eq!(found.code, Some(0), "{}", found.errors);
    for (scheme, expected) in
        [("float", 16.40), ("integers", 16.94), ("tender", 24.82), ("titanus", 19.50), ("kelle", 17.79)]
    {
        let perplexity = figure(&found, scheme);
        assert!((perplexity - expected).abs() <= 0.005 + 1e-9, "{scheme}: {perplexity}, in the table {expected}");
    }
}
