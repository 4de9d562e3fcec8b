//! Models that nobody here made, of both families, on each accelerator: the parameters that `run` asks for are enough,
//! and hardware and golden model agree on every byte and cycle.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::support::{said, senbazuru};
use test_tag::tag;

/// Parameters that are too small for any model, where they may be, and how all layers are asked for.
const SMALL: [(&str, &[&str], &[&str]); 4] = [
    ("tender", &["array.columns=8", "axi.data_width=32", "max_beats=8", "depth=16", "steps=16"], &[]),
    ("kllm", &["product.columns=16", "product.depth=1", "max_beats=4"], &["--layers", "all"]),
    (
        "kelle",
        &[
            "spec.rows=8",
            "spec.columns=8",
            "spec.tokens=2",
            "spec.inner=16",
            "attention.spec.rows=8",
            "attention.spec.columns=8",
            "attention.spec.tokens=2",
            "attention.spec.inner=16",
            "attention.heads=1",
            "attention.slots=2",
            "attention.width=8",
            "attention.group=1",
            "max_beats=4",
        ],
        &["--layers", "all"],
    ),
    (
        "titanus",
        &[
            "spec.store.tile.cells.inputs=64",
            "spec.store.tile.cells.outputs=32",
            "spec.store.rows=1",
            "spec.store.columns=1",
            "spec.tiles=1",
            "spec.context=2",
            "spec.buffer=2",
            "spec.constants=16",
            "max_beats=4",
        ],
        &["--layers", "all"],
    ),
];

/// Models with a prompt of two tokens after which each writes two.
const MODELS: [(&str, &str); 7] = [
    ("llama-tied", "of"),
    ("llama-3", "a"),
    ("llama-biased", "c"),
    ("qwen2", "of"),
    ("gpt2", "a"),
    ("opt", "a"),
    ("opt-gelu", "a"),
];

/// The end of the last line of a simulation.
const CHECKED: &str = " bytes of results and the cycles of each job; all equal the golden model's\n";

fn path(model: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../sim/models/tests/oracle").join(model);
    folder.to_str().unwrap().to_owned()
}

/// Exit code, output and error of a run with these parameters.
fn run(on: &str, model: &str, more: &[&str], params: &BTreeMap<String, String>) -> (i32, String, String) {
    let path = path(model);
    let set: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let set = set.iter().flat_map(|one| ["--set", one]);
    let args: Vec<&str> =
        ["run", "--on", on, "--model", &path].into_iter().chain(more.iter().copied()).chain(set).collect();
    let run = senbazuru(&args).assert();
    let output = run.get_output();
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    (output.status.code().unwrap(), text, said(&output.stderr))
}

/// Sets what the message asks for: `name must be value, and is other (why)`, one after the other.
pub(super) fn obey(told: &str, params: &mut BTreeMap<String, String>) {
    let needs: Vec<&str> = told.split(" must be ").collect();
    assert!(needs.len() > 1, "{told}");
    for pair in needs.windows(2) {
        let name = pair[0].rsplit(' ').next().unwrap();
        let value = pair[1].split(',').next().unwrap();
        params.insert(name.to_owned(), value.to_owned());
    }
}

/// Parameters that are exactly as large as the model needs them for these arguments.
pub(super) fn fitting(on: &str, model: &str, more: &[&str]) -> BTreeMap<String, String> {
    let (_, small, _) = SMALL.iter().find(|small| small.0 == on).unwrap();
    let pairs = small.iter().map(|pair| pair.split_once('=').unwrap());
    let mut params = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (code, _, told) = run(on, model, more, &params);
    assert_eq!(code, 2, "{on} is too small for {model}");
    assert!(told.starts_with("error: the model does not fit on "), "{told}");
    obey(&told, &mut params);
    params
}

/// A run with such parameters.
fn on_fitting(on: &str, model: &str, more: &[&str]) -> (i32, String, String) {
    run(on, model, more, &fitting(on, model, more))
}

/// How all layers are asked for.
pub(super) fn all_layers(on: &str) -> &'static [&'static str] {
    let (.., layers) = SMALL.iter().find(|small| small.0 == on).unwrap();
    layers
}

/// The model writes two tokens after two, all layers in simulation.
fn writes(on: &str, (model, prompt): (&str, &str)) {
    let (code, text, told) = on_fitting(on, model, &[&["--tokens", "2", prompt], all_layers(on)].concat());
    println!("{on}, {model}:\n{text}");
    assert_eq!((code, told.as_str()), (0, ""), "{on}, {model}");
    assert!(text.contains("\n  tokens      2 read, 2 written\n"), "{on}, {model}: {text}");
    assert!(text.ends_with(CHECKED), "{on}, {model}: {text}");
}

/// One configuration of each family.
#[test]
fn a_llama_on_kelle() {
    writes("kelle", MODELS[3]);
}

#[test]
fn a_gpt_on_titanus() {
    writes("titanus", MODELS[5]);
}

fn each_model_on(on: &str) {
    MODELS.into_iter().for_each(|of| writes(on, of));
}

#[tag(full)]
#[test]
#[ignore = "seven simulators to compile"]
fn each_model_on_tender() {
    each_model_on("tender");
}

#[tag(full)]
#[test]
#[ignore = "seven simulators to compile"]
fn each_model_on_kllm() {
    each_model_on("kllm");
}

#[tag(full)]
#[test]
#[ignore = "seven simulators to compile"]
fn each_model_on_kelle() {
    each_model_on("kelle");
}

#[tag(full)]
#[test]
#[ignore = "seven simulators to compile"]
fn each_model_on_titanus() {
    each_model_on("titanus");
}

/// What was written, without the figures.
fn written(text: &str) -> &str {
    text.split("\n\n  on ").next().unwrap()
}

/// Texts side by side are the texts that are written alone, in the golden models.
#[test]
fn texts_side_by_side_are_those_alone() {
    for on in ["tender", "kllm", "kelle", "titanus"] {
        let both = ["--golden", "--tokens", "3", "--prompt", "Hi", "--prompt", "of it"];
        // Fewer slots of a head would be a smaller budget, and so another text.
        let params = fitting(on, "llama-3", &both);
        let alone = ["Hi", "of it"].map(|prompt| {
            let (code, text, told) = run(on, "llama-3", &["--golden", "--tokens", "3", prompt], &params);
            assert_eq!((code, told.as_str()), (0, ""), "{on}");
            written(&text).to_owned()
        });
        let (code, text, told) = run(on, "llama-3", &both, &params);
        assert_eq!((code, told.as_str()), (0, ""), "{on}");
        assert_eq!(written(&text), alone.join("\n\n"), "{on}");
        assert!(text.contains(" written, in 2 texts\n"), "{text}");
    }
}

/// The same texts on the hardware, with every byte and cycle of the golden models.
#[tag(full)]
#[test]
#[ignore = "four simulators to compile"]
fn texts_side_by_side_in_simulation() {
    for (on, ..) in SMALL {
        let both = ["--tokens", "3", "--prompt", "Hi", "--prompt", "of it"];
        let (code, text, told) = on_fitting(on, "llama-3", &[&both, all_layers(on)].concat());
        assert_eq!((code, told.as_str()), (0, ""), "{on}");
        assert!(text.contains(" written, in 2 texts\n") && text.ends_with(CHECKED), "{on}: {text}");
    }
}

/// The vector unit has the model's activation, except where products have it themselves.
#[test]
fn activations_are_asked_for() {
    for (on, function) in [("tender", Some("relu")), ("kllm", Some("relu")), ("kelle", Some("relu")), ("titanus", None)]
    {
        let more = ["--golden", "--tokens", "2", "a"];
        let params = fitting(on, "opt", &more);
        assert_eq!(params.get("lane.function").map(String::as_str), function, "{on}");
        let (code, text, told) = run(on, "opt", &more, &params);
        assert_eq!((code, told.as_str()), (0, ""), "{on}");
        assert!(text.contains("\n  tokens      2 read, 2 written\n"), "{on}: {text}");
    }
}

/// Tokens of a prompt that come together leave the text that they leave one by one.
#[test]
fn prompts_in_chunks_are_prompts_by_token() {
    let all = ["1", "3", "64"].map(|chunk| {
        let more = ["--golden", "--tokens", "4", "--chunk", chunk, "what is it and of what"];
        let (code, text, told) = on_fitting("tender", "llama-biased", &more);
        assert_eq!((code, told.as_str()), (0, ""));
        written(&text).to_owned()
    });
    assert!(all.iter().all(|text| *text == all[0]), "{all:?}");
}

/// A text is as long as the parameters are: here longer than the chunk of rows that its scales are learnt from.
#[test]
fn a_long_text_on_tender() {
    let prompt = "Hi ".repeat(150);
    let more = ["--golden", "--tokens", "2", "--chunk", "64", &prompt];
    let mut params = fitting("tender", "qwen2", &more);
    let (code, text, told) = run("tender", "qwen2", &more, &params);
    assert_eq!((code, told.as_str()), (0, ""));
    let read = |text: &str| text.split("  tokens      ").nth(1)?.split(' ').next()?.parse::<usize>().ok();
    let tokens = read(&text).unwrap();
    assert!(tokens > 256, "{text}");
    params.insert("depth".into(), tokens.to_string());
    let (code, _, told) = run("tender", "qwen2", &more, &params);
    let wanted = format!("depth must be {}, and is {tokens} (tokens of a text)", tokens + 1);
    assert_eq!((code, told), (2, format!("error: the model does not fit on tender_top: {wanted}\n")));
}

/// What no parameter gives is refused by name.
#[test]
fn what_no_accelerator_takes() {
    let refused = |on: &str, model: &str, more: &[&str], wanted: &str| {
        let (code, text, told) = run(on, model, more, &BTreeMap::new());
        assert_eq!((code, text.as_str(), told.as_str()), (2, "", format!("error: {wanted}\n").as_str()));
    };
    let wide = "a feed-forward network of 32 for 2 accelerators side by side; wanted are multiples of 64";
    refused("tender", "qwen2", &["--tops", "2", "Hi"], wide);
    let long = "the prompt has 3 tokens, --tokens is 40; there is room for 32 in all";
    refused("titanus", "opt", &["--tokens", "40", "Hi"], long);
    let slots = "the model does not fit on kelle_top: attention.slots must be 135, and is 96 (tokens of a prompt)";
    refused("kelle", "qwen2", &[&"Hi ".repeat(45)], slots);
    let unknown = "no model runs on `tendr`; did you mean tender? accelerators are: kllm, kelle, titanus, tender";
    refused("tendr", "qwen2", &["Hi"], unknown);
    let whole =
        "--tops is not for kelle: each layer of the model is on an accelerator of its own, and takes a prompt at once";
    refused("kelle", "qwen2", &["--tops", "2", "Hi"], whole);
    let (code, _, told) = run("kelle", "none", &["Hi"], &BTreeMap::new());
    assert!(code == 2 && told.contains("oracle/none"), "{told}");
}

/// The rows of each pass of a header.
fn passes(header: &str) -> Vec<u64> {
    let table = header.split("layer_passes[").nth(1).unwrap().split("};").next().unwrap();
    let rows = table.lines().filter_map(|line| line.strip_suffix("},")?.split(", ").nth(4)?.parse().ok());
    rows.collect()
}

/// Tokens after the prompts are passes of a row of each text.
#[test]
fn steps_after_a_prompt() {
    let folder = tempfile::tempdir().unwrap();
    let model = path("llama-3");
    let out = folder.path().to_str().unwrap();
    for (on, jobs) in [("tender", 2), ("kllm", 1), ("kelle", 1), ("titanus", 1)] {
        let params = fitting(on, "llama-3", &["--golden", "--tokens", "8", "--prompt", "it is of", "of"]);
        let set: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let lower = |more: &[&str]| {
            let args =
                ["lower", "--on", on, "--model", &model, "--layer", "1", "-o", out, "of", "--prompt", "it is of"];
            let set = set.iter().flat_map(|one| ["--set", one]);
            senbazuru(&args.into_iter().chain(more.iter().copied()).chain(set).collect::<Vec<_>>()).assert()
        };
        let header = |more: &[&str]| {
            lower(more).code(0).stderr_eq("");
            std::fs::read_to_string(folder.path().join("layer.h")).unwrap()
        };
        let (alone, three) = (header(&[]), header(&["--steps", "3"]));
        let [prompts] = passes(&alone)[..] else { panic!("{alone}") };
        assert_eq!(passes(&three), [prompts, 2, 2, 2], "{on}");
        assert!(alone.contains(" in 2 texts.\n") && three.contains(" in 2 texts, then 3 steps.\n"), "{three}");
        assert!(three.contains(&format!("layer_jobs[{}] = {{", 4 * jobs)), "{on}: {three}");
    }
    let far = ["lower", "--on", "tender", "--model", &model, "-o", out, "--steps", "1000000", "of"];
    let error = senbazuru(&far).assert().code(2);
    let told = String::from_utf8(error.get_output().stderr.clone()).unwrap();
    assert!(
        told.starts_with("error: the prompt has ") && told.contains("--steps is 1000000; the model's context is "),
        "{told}"
    );
}

/// `lower --csv` and `--svg` tell when the engines work on each operation. One follows the other, unless they overlap.
#[test]
fn operations_of_a_layer_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let model = path("llama-3");
    let [out, csv, svg] = ["image", "line.csv", "line.svg"].map(|name| folder.path().join(name).display().to_string());
    for (on, overlaps) in [("tender", true), ("tender", false), ("kllm", false), ("kelle", false), ("titanus", false)] {
        let params = fitting(on, "llama-3", &["--golden", "--tokens", "8", "of it"]);
        let set: Vec<String> = params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let args = ["lower", "--on", on, "--model", &model, "-o", &out, "--steps", "1", "--csv", &csv, "--svg", &svg];
        let all = set.iter().map(String::as_str).chain(overlaps.then_some("overlaps=true"));
        let all: Vec<&str> = args.into_iter().chain(all.flat_map(|one| ["--set", one])).chain(["of it"]).collect();
        let run = senbazuru(&all).assert().code(0);
        let told = said(&run.get_output().stdout);
        let text = std::fs::read_to_string(&csv).unwrap();
        let (head, lines) = text.split_once('\n').unwrap();
        assert_eq!(head, "job,number,operation,goes,begins,ends");
        assert!(told.contains(&format!(" {} descriptors", lines.lines().count())), "{on}: {told}{text}");
        let picture = std::fs::read_to_string(&svg).unwrap();
        let mut beside = 0;
        for job in ["prompt", "step 1"] {
            let cycles = picture.split(&format!(">{job}, ")).nth(1).unwrap().split(' ').next().unwrap();
            let cycles: u64 = cycles.replace(',', "").parse().unwrap();
            let mut latest = 0;
            for line in lines.lines().filter(|line| line.starts_with(&format!("{job},"))) {
                let [goes, begins, ends] = [3, 4, 5].map(|k| line.split(',').nth(k).unwrap().parse::<u64>().unwrap());
                assert!(goes <= begins && begins < ends && ends < cycles, "{on}: {line} of {cycles}");
                beside += u32::from(begins < latest);
                latest = latest.max(ends);
            }
            assert!(latest > 0, "{on}: {text}");
        }
        assert_eq!(beside > 0, overlaps, "{on}: {text}");
    }
    let place = folder.path().display().to_string();
    let args = ["lower", "--on", "tender", "--model", &model, "-o", &out, "--svg", &place, "of it"];
    let error = senbazuru(&args).assert().code(2);
    assert!(said(&error.get_output().stderr).contains("it is a folder; name a file"));
}

/// A layer takes the place of an earlier one, and of nothing else. Its header says what it was made of.
#[test]
fn a_layer_takes_the_place_of_a_layer() {
    let dir = tempfile::tempdir().unwrap();
    let model = path("llama-3");
    let names = |folder: &std::path::Path| {
        let mut all: Vec<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        all.sort();
        all
    };
    let lower = |out: &str, prompt: &str| {
        let place = dir.path().join(out);
        let more = ["--set", "attention.heads=4", "--set", "attention.width=64", prompt];
        let all = ["lower", "--on", "kelle", "--model", &model, "-o", place.to_str().unwrap()];
        let run = senbazuru(&[&all[..], &more].concat()).assert();
        let output = run.get_output();
        (output.status.code().unwrap(), said(&output.stderr))
    };
    assert_eq!(lower("deep/image", "of it"), (0, String::new()));
    let image = dir.path().join("deep/image");
    let header = || std::fs::read_to_string(image.join("layer.h")).unwrap();
    let first = header();
    assert_eq!(names(&image), ["layer.h", "memory.bin", "results.bin"]);
    assert!(
        first.contains("\n * Model: llama-3, BLAKE3 ") && first.contains("\n * Calibration: learnt from"),
        "{first}"
    );
    for (name, file) in [("MEMORY", "memory.bin"), ("RESULTS", "results.bin")] {
        let bytes = std::fs::read(image.join(file)).unwrap();
        assert!(first.contains(&format!("#define LAYER_{name}_BYTES UINT64_C({})\n", bytes.len())), "{first}");
        let digest = blake3::hash(&bytes).to_hex();
        assert!(first.contains(&format!("#define LAYER_{name}_BLAKE3 \"{digest}\"\n")), "{first}");
    }
    // A program need not use every table.
    std::fs::write(dir.path().join("main.c"), "#include \"deep/image/layer.h\"\nint main(void) { return 0; }\n")
        .unwrap();
    let strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "main.c"];
    let checked = sim::process::Tool::new("cc").args(strict).dir(dir.path()).run().unwrap();
    assert!(checked.success(), "{}", checked.log());
    assert_eq!(lower("deep/image", "of").0, 0);
    assert!(header() != first && names(&dir.path().join("deep")) == ["image"]);
    // What is not a layer's stays, and nothing is half-written.
    std::fs::create_dir(dir.path().join("mine")).unwrap();
    std::fs::write(dir.path().join("mine/memory.bin"), "mine").unwrap();
    std::fs::write(dir.path().join("file"), "mine").unwrap();
    let (code, told) = lower("mine", "of");
    assert!(code == 2 && told.contains("mine: has something else than a layer that `lower` wrote in it"), "{told}");
    assert_eq!(std::fs::read(dir.path().join("mine/memory.bin")).unwrap(), b"mine");
    let (code, told) = lower("file", "of");
    assert!(code == 2 && told.contains("file: is no folder; name another one"), "{told}");
    std::fs::remove_file(image.join("results.bin")).unwrap();
    std::fs::create_dir(image.join("results.bin")).unwrap();
    let before = header();
    assert!(lower("deep/image", "of it").0 == 2 && header() == before);
    let empty = "error: the prompt is empty; give the text to go on with\n";
    assert_eq!(lower("other", ""), (2, empty.to_owned()));
}

/// Files of a layer, as many bytes as their tables say.
#[test]
fn a_layer_becomes_files() {
    let folder = tempfile::tempdir().unwrap();
    let (out, model) = (folder.path().join("image"), path("qwen2"));
    let out = out.to_str().unwrap();
    let lower = |on: &str, layer: &str| {
        senbazuru(&["lower", "--on", on, "--model", &model, "--layer", layer, "-o", out, "of"]).assert()
    };
    let read = |name: &str| std::fs::read(PathBuf::from(out).join(name)).unwrap();
    // A layer on Tender is two jobs: the host moves keys and values between them.
    for (on, about, jobs) in [("kelle", "kelle_top, 16 x 16 PEs", 1), ("tender", "tender_top, 2 x 128 PEs", 2)] {
        let run = lower(on, "1").code(0);
        let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
        let of_jobs = if jobs == 1 { " descriptors from 0x" } else { " descriptors in 2 jobs from 0x" };
        assert!(text.contains("memory.bin, results.bin, layer.h, ") && text.contains(of_jobs), "{text}");
        let header = String::from_utf8(read("layer.h")).unwrap();
        assert!(header.starts_with(&format!("/* Layer 1 of a model for {about}")), "{header}");
        assert!(header.contains(&format!("layer_jobs[{jobs}] = {{")), "{header}");
        for (table, file) in [("layer_memory", "memory.bin"), ("layer_results", "results.bin")] {
            let rows = header.split(table).nth(1).unwrap().split("};").next().unwrap();
            let bytes =
                rows.lines().filter_map(|line| line.strip_suffix("},")?.rsplit(' ').next()?.parse::<usize>().ok());
            assert_eq!(bytes.sum::<usize>(), read(file).len(), "{on}: {file}");
        }
    }
    // Texts side by side are one pass; each adds its rows.
    for (on, jobs) in [("titanus", 1), ("tender", 2)] {
        let more = ["lower", "--on", on, "--model", &model, "--prompt", "it is", "-o", out, "of"];
        let alone = ["lower", "--on", on, "--model", &model, "-o", out, "of"];
        let rows = |args: &[&str]| {
            senbazuru(args).assert().code(0);
            let header = String::from_utf8(read("layer.h")).unwrap();
            assert!(header.contains(&format!("layer_jobs[{jobs}] = {{")), "{header}");
            let [rows] = passes(&header)[..] else { panic!("{header}") };
            (rows, header.contains(" in 2 texts.\n"))
        };
        let (one, both) = (rows(&alone), rows(&more));
        assert!(both.0 > one.0 && !one.1 && both.1, "{on}: {one:?} {both:?}");
    }
    let refused = |on: &str, layer: &str, wanted: &str| {
        lower(on, layer).code(2).stdout_eq("").stderr_eq(format!("error: {wanted}\n"));
    };
    refused("kelle", "2", "there is no layer 2: the model has 0 to 1");
    refused("tender", "2", "there is no layer 2: the model has 0 to 1");
}
