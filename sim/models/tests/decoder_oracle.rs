//! The decoder against models that `scripts/data/oracle` made with PyTorch, transformers, tokenizers and gguf.

use std::fs;
use std::path::PathBuf;

use models::decoder::choices::{Question, best};
use models::decoder::perplexity::{Window, Windows, surprise, surprises};
use models::decoder::{Activation, Config, Decoder, Family, Float, Model, Positions, Precision, Rotary, Scaling};
use models::gguf::{ElementType, File};
use sim::stimulus::Tensor;

/// Folders that `transformers` saved, and whether there is a GGUF file of the model, too.
const MODELS: [(&str, bool); 7] = [
    ("llama-tied", true),
    ("llama-3", true),
    ("llama-biased", true),
    ("qwen2", true),
    ("gpt2", true),
    ("opt", false),
    ("opt-gelu", false),
];

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle"))
}

/// Each file of a model with the logits of it.
fn files() -> Vec<(&'static str, PathBuf, PathBuf)> {
    let mut files = Vec::new();
    for (name, as_gguf) in MODELS {
        files.push((name, folder().join(name), folder().join(name).join("logits.npy")));
        if as_gguf {
            files.push((name, folder().join(format!("{name}.gguf")), folder().join(format!("{name}.gguf.npy"))));
        }
    }
    files
}

fn ids(name: &str, of: &str) -> Vec<u32> {
    let text = fs::read_to_string(folder().join(name).join("ids.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    all[of].as_array().unwrap().iter().map(|id| u32::try_from(id.as_u64().unwrap()).unwrap()).collect()
}

fn open(path: &std::path::Path) -> Decoder {
    Decoder::open(path, Precision::File).unwrap_or_else(|e| panic!("{}: {e:#}", path.display()))
}

fn logits(model: &Model, tokens: &[u32]) -> Vec<Vec<f64>> {
    let x = model.forward(tokens, &mut model.cache(), &mut Float).unwrap();
    model.logits(&x, &mut Float).unwrap().iter().map(<[f64]>::to_vec).collect()
}

/// The largest difference of two rows of logits, relative to the largest logit of the second.
fn distance(found: &[f64], wanted: &[f64]) -> f64 {
    assert_eq!(found.len(), wanted.len());
    let largest = |all: &mut dyn Iterator<Item = f64>| all.map(f64::abs).fold(0.0, f64::max);
    largest(&mut found.iter().zip(wanted).map(|(a, b)| a - b)) / largest(&mut wanted.iter().copied())
}

/// Logits of eight tokens. transformers computes norms, angles and softmax in float32: the bound is five times what
/// this leaves.
#[test]
fn logits_are_those_of_transformers() {
    let mut rows = 0;
    for (name, path, wanted) in files() {
        let wanted = Tensor::<f32>::read(&wanted).unwrap();
        let model = open(&path).model;
        let found = logits(&model, &ids(name, "tokens"));
        assert_eq!(wanted.shape, [found.len(), model.config().vocabulary]);
        for (at, (found, wanted)) in found.iter().zip(wanted.data.chunks_exact(wanted.shape[1])).enumerate() {
            let wanted: Vec<f64> = wanted.iter().map(|&x| x.into()).collect();
            let distance = distance(found, &wanted);
            println!("{} {at}: {distance:.1e}", path.display());
            assert!(distance < 2.5e-6, "{}, token {at}: {distance:.1e}", path.display());
            rows += 1;
        }
    }
    assert_eq!(rows, 12 * 8);
}

/// The page in ids, and back; and the ids that a prompt begins with.
#[test]
fn tokens_are_those_of_the_tokenizers() {
    let page = fs::read_to_string(folder().join("page.txt")).unwrap();
    for (name, path, _) in files() {
        let tokenizer = open(&path).tokenizer;
        let wanted = ids(name, "ids");
        assert!(wanted.len() > 200);
        assert_eq!(tokenizer.encode(&page).unwrap(), wanted, "{}", path.display());
        assert_eq!(
            tokenizer.prompt(&page).unwrap(),
            [ids(name, "start"), wanted.clone()].concat(),
            "{}",
            path.display()
        );
        // Qwen2's words are in normal form C: `e` and an accent become one letter.
        let back = tokenizer.decode(&wanted).unwrap();
        if name == "qwen2" {
            assert!(back != page && tokenizer.encode(&back).unwrap() == wanted, "{}", path.display());
        } else {
            assert_eq!(back, page, "{}", path.display());
        }
    }
}

fn rotary(config: &Config) -> Rotary {
    match config.positions {
        Positions::Rotary(rotary) => rotary,
        Positions::Learned { .. } => panic!("learned positions"),
    }
}

/// Both files of a model describe the same one.
#[test]
fn folders_and_gguf_agree() {
    for (name, _) in MODELS.into_iter().filter(|(_, as_gguf)| *as_gguf) {
        let [folder, file] = [name.to_owned(), format!("{name}.gguf")].map(|path| open(&folder().join(path)).model);
        let (mut a, mut b) = (*folder.config(), *file.config());
        assert_eq!(folder.is_tied(), file.is_tied(), "{name}");
        if name == "llama-3" {
            // The GGUF file has divisors of the frequencies instead.
            let scaling = Scaling::Llama3 { factor: 8.0, low: 1.0, high: 4.0, original: 32.0 };
            assert_eq!((rotary(&a).scaling, rotary(&b).scaling), (scaling, Scaling::None));
            (a.positions, b.positions) = (Positions::Learned { offset: 0 }, Positions::Learned { offset: 0 });
            let frequencies = [&folder, &file].map(|model| model.rotation(0).frequencies.to_vec());
            for (a, b) in frequencies[0].iter().zip(&frequencies[1]) {
                assert!((a - b).abs() < 1e-6 * a, "{a} {b}");
            }
        }
        // A file has floats of 32 bits.
        assert!((a.norm_eps - b.norm_eps).abs() < 1e-12, "{name}");
        (a.norm_eps, b.norm_eps) = (0.0, 0.0);
        assert_eq!(a, b, "{name}");
    }
    let config = |name| *open(&folder().join(name)).model.config();
    let tied = config("llama-tied");
    assert_eq!((tied.family, tied.head_width, tied.heads, tied.width), (Family::Llama, 64, 4, 64));
    let (opt, gelu) = (config("opt"), config("opt-gelu"));
    assert_eq!((opt.positions, opt.activation), (Positions::Learned { offset: 2 }, Activation::Relu));
    assert_eq!((gelu.family, gelu.activation), (Family::Gpt, Activation::Gelu));
}

/// What a model was told wrong is seen: each of these is a constant or a tensor that could be ignored.
#[test]
fn wrong_constants_are_noticed() {
    let cases: [(&str, &str, &str); 9] = [
        ("llama-tied", "\"rope_theta\": 10000.0", "\"rope_theta\": 100000.0"),
        ("llama-tied", "\"rms_norm_eps\": 1e-05", "\"rms_norm_eps\": 1e-02"),
        ("llama-3", "\"factor\": 8.0", "\"factor\": 4.0"),
        ("llama-3", "\"high_freq_factor\": 4.0", "\"high_freq_factor\": 2.0"),
        ("llama-biased", "\"factor\": 4.0", "\"factor\": 2.0"),
        ("qwen2", "\"beta_fast\": 8.0", "\"beta_fast\": 4.0"),
        ("qwen2", "\"rope_type\": \"yarn\"", "\"attention_factor\": 1.0, \"rope_type\": \"yarn\""),
        ("gpt2", "gelu_new", "gelu"),
        ("opt", "\"relu\"", "\"gelu_new\""),
    ];
    for (name, from, to) in cases {
        let copy = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(folder().join(name)).unwrap() {
            let from = entry.unwrap().path();
            fs::copy(&from, copy.path().join(from.file_name().unwrap())).unwrap();
        }
        let text = fs::read_to_string(copy.path().join("config.json")).unwrap();
        assert!(text.contains(from), "{name}: {from}");
        fs::write(copy.path().join("config.json"), text.replace(from, to)).unwrap();
        let tokens = ids(name, "tokens");
        let right = logits(&open(&folder().join(name)).model, &tokens);
        let wrong = logits(&open(copy.path()).model, &tokens);
        let most = right.iter().zip(&wrong).map(|(a, b)| distance(b, a)).fold(0.0, f64::max);
        println!("{name} {from}: {most:.1e}");
        assert!(most > 1e-4, "{name} {from}: {most:.1e}");
    }
}

/// A text in parts, with cached keys and values, has the logits of the whole text.
#[test]
fn parts_of_a_text_are_the_text() {
    for name in ["qwen2", "opt"] {
        let (model, tokens) = (open(&folder().join(name)).model, ids(name, "tokens"));
        let whole = logits(&model, &tokens);
        let mut cache = model.cache();
        for (at, part) in [&tokens[..3], &tokens[3..4], &tokens[4..]].into_iter().enumerate() {
            let from = cache.tokens();
            let x = model.forward(part, &mut cache, &mut Float).unwrap();
            for (row, wanted) in model.logits(&x, &mut Float).unwrap().iter().zip(&whole[from..]) {
                assert!(distance(row, wanted) < 1e-12, "{name}, part {at}");
            }
        }
        assert_eq!(cache.tokens(), tokens.len());
    }
}

/// A text in windows: each token has the surprise that the text of its window alone gives it.
#[test]
fn windows_of_a_text() {
    let (model, tokens) = (open(&folder().join("qwen2")).model, ids("qwen2", "ids"));
    let text = &tokens[..21];
    let mut all = Vec::new();
    for window in Windows::new(8, 5).unwrap().of(text.len()).unwrap() {
        let found = window.surprises(&model, text, &mut Float).unwrap();
        let alone = logits(&model, &text[window.tokens.clone()]);
        for (at, found) in (window.tokens.end - window.scored..).zip(&found) {
            let wanted = surprise(&alone[at - 1 - window.tokens.start], text[at]);
            assert!((found - wanted).abs() < 1e-12, "token {at}: {found} {wanted}");
        }
        all.extend(found);
    }
    assert_eq!(all.len(), text.len() - 1);
    let short = surprises(&model, text, &mut Float).unwrap();
    assert!(all[..7].iter().zip(&short).all(|(a, b)| (a - b).abs() < 1e-12) && all != short);
    let window = Window { tokens: 15..30, scored: 3 };
    assert!(
        window.surprises(&model, text, &mut Float).unwrap_err().to_string().contains("tokens 15 to 30 of a text of 21")
    );
}

/// The surprise of a choice is the sum over its tokens, after the context with the token that begins a text.
#[test]
fn choices_by_likelihood() {
    let Decoder { model, tokenizer } = open(&folder().join("opt"));
    // The space at the end belongs to the choices.
    let question = Question { context: "It's ".into(), choices: vec!["10".into(), "xy".into()], answer: 0 };
    let found = question.likelihoods((&model, &tokenizer), &mut Float).unwrap();
    for (choice, found) in question.choices.iter().zip(&found) {
        let text = tokenizer.prompt(&format!("It's {choice}")).unwrap();
        let before = tokenizer.prompt("It's").unwrap().len();
        let rows = logits(&model, &text);
        let wanted: f64 = (before..text.len()).map(|at| surprise(&rows[at - 1], text[at])).sum();
        assert!((found.surprise - wanted).abs() < 1e-12 && found.tokens == text.len() - before && found.bytes == 2);
    }
    let order = found[0].surprise < found[1].surprise;
    assert_eq!(best(&found, false), Some(usize::from(!order)));
}

/// Random blocks of each type, in every bit.
#[test]
fn elements_are_those_of_the_gguf_package() {
    let file = File::open(&folder().join("elements.gguf")).unwrap();
    let mut types = 0;
    for element in ElementType::ALL.into_iter().filter(|&element| element != ElementType::F32) {
        let name = format!("{element:?}").replace('K', "_K");
        let (found, wanted) = (file.tensor(&name).unwrap(), file.tensor(&format!("{name}.f32")).unwrap());
        assert_eq!((found.shape, found.values.len()), (wanted.shape, 512), "{name}");
        for (at, (a, b)) in found.values.iter().zip(&wanted.values).enumerate() {
            assert_eq!(a.to_bits(), b.to_bits(), "{name}, element {at}: {a} {b}");
        }
        types += 1;
    }
    assert_eq!((types, file.tensors().count()), (12, 24));
}
