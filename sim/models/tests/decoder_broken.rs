//! Files that are damaged, or that describe what the decoder has not: an error says where and what. Nothing panics, and
//! nothing allocates more than a file can hold.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use models::decoder::{Config, Decoder, Precision};
use models::gguf::File;
use rand::RngExt;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Notes the largest allocation.
struct Noting;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all calls go to the system's allocator as they are.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the ones of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LARGEST.fetch_max(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are the ones of this function.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are the ones of this function.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LARGEST.fetch_max(size, Ordering::Relaxed);
        // SAFETY: the caller's promises are the ones of this function.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// The committed files have up to 0.4 MB; weights in f32 take up to eight times their bytes.
const MOST: usize = 8 << 20;

fn frugal() {
    let found = LARGEST.load(Ordering::Relaxed);
    assert!(found < MOST, "an allocation of {found} bytes");
}

fn oracle(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle")).join(name)
}

fn error(path: &Path) -> String {
    let found = Decoder::open(path, Precision::File);
    frugal();
    format!("{:#}", found.err().unwrap_or_else(|| panic!("{} is accepted", path.display())))
}

/// A file of these bytes, opened.
fn of_bytes(bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gguf");
    fs::write(&path, bytes).unwrap();
    error(&path)
}

/// A copy of a model's folder.
fn copy(name: &str) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(oracle(name)).unwrap() {
        let from = entry.unwrap().path();
        fs::copy(&from, copy.path().join(from.file_name().unwrap())).unwrap();
    }
    copy
}

/// A copy with a change in a file of JSON.
fn changed(name: &str, file: &str, change: impl FnOnce(&mut Value)) -> String {
    let copy = copy(name);
    let path = copy.path().join(file);
    let mut all = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    change(&mut all);
    fs::write(&path, all.to_string()).unwrap();
    error(copy.path())
}

/// Where tensors begin in a safetensors file, by name.
fn places(bytes: &[u8]) -> Vec<(String, usize)> {
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let tensors = header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__");
    let at = |entry: &Value| 8 + length + entry["data_offsets"][0].as_u64().unwrap() as usize;
    tensors.map(|(name, entry)| (name.clone(), at(entry))).collect()
}

#[test]
fn gguf_files_cut_at_each_tensor() {
    for name in ["llama-tied", "llama-3", "gpt2"] {
        let bytes = fs::read(oracle(&format!("{name}.gguf"))).unwrap();
        let file = File::open(&oracle(&format!("{name}.gguf"))).unwrap();
        for tensor in file.tensors() {
            let place = file.bytes(tensor).unwrap();
            for length in [place.start, place.start + 1, place.end - 1] {
                let message = of_bytes(&bytes[..length as usize]);
                let wanted = format!("tensor `{tensor}` (");
                assert!(
                    message.contains(&wanted) && message.contains("truncated or damaged (before byte"),
                    "{message}"
                );
                assert!(message.contains("x.gguf"), "{message}");
            }
        }
        // Ahead of the tensors: every sixteenth byte.
        let begin = file.tensors().filter_map(|tensor| file.bytes(tensor)).map(|place| place.start).min().unwrap();
        for length in (0..begin as usize - 32).step_by(16) {
            let message = of_bytes(&bytes[..length]);
            assert!(message.contains("x.gguf") && message.contains("byte"), "{length}: {message}");
        }
    }
}

#[test]
fn safetensors_cut_at_each_tensor() {
    for (name, file) in [("qwen2", "model.safetensors"), ("llama-3", "model-00002-of-00004.safetensors")] {
        let copy = copy(name);
        let path = copy.path().join(file);
        let bytes = fs::read(&path).unwrap();
        let places = places(&bytes);
        assert!(places.len() > 5);
        for (tensor, at) in &places {
            for length in [at + 1, *at] {
                fs::write(&path, &bytes[..length]).unwrap();
                let message = error(copy.path());
                // A tensor that ends at the cut is whole: another one is named.
                let named = message.contains(&format!("tensor `{tensor}` takes"));
                let other = places.iter().any(|(other, _)| message.contains(&format!("tensor `{other}` takes")));
                assert!((named || other) && message.contains(file), "{message}");
                assert!(message.contains("follow byte") && message.contains("truncated"), "{message}");
            }
        }
        // In the header, and in its length.
        for length in [0, 7, 8, 100] {
            fs::write(&path, &bytes[..length]).unwrap();
            let message = error(copy.path());
            assert!(message.contains(file) && message.contains("truncated"), "{message}");
        }
        // Bytes after the last tensor.
        fs::write(&path, [&bytes[..], &[0]].concat()).unwrap();
        assert!(error(copy.path()).contains("its last tensor ends there"));
    }
}

#[test]
fn weights_that_are_no_numbers() {
    let file = oracle("qwen2.gguf");
    let bytes = fs::read(&file).unwrap();
    let norm = File::open(&file).unwrap().tensor("blk.1.ffn_norm.weight").unwrap().values;
    let wanted: Vec<u8> = norm.iter().flat_map(|x| x.to_le_bytes()).collect();
    let at = bytes.windows(wanted.len()).position(|found| found == wanted).unwrap();
    for (value, name) in [(f32::NAN, "NaN"), (f32::NEG_INFINITY, "-inf")] {
        let mut bytes = bytes.clone();
        bytes[at + 8..at + 12].copy_from_slice(&value.to_le_bytes());
        let message = of_bytes(&bytes);
        let wanted = format!("element 2 of tensor `blk.1.ffn_norm.weight` is {name}, wanted is a finite number");
        assert!(message.contains(&wanted) && message.contains(&format!("(byte {})", at + 8)), "{message}");
    }
    let copy = copy("opt");
    let path = copy.path().join("model.safetensors");
    let mut bytes = fs::read(&path).unwrap();
    let (_, at) = places(&bytes).into_iter().find(|(name, _)| name == "model.decoder.layers.1.fc1.weight").unwrap();
    bytes[at + 6..at + 8].copy_from_slice(&half::f16::NAN.to_le_bytes());
    fs::write(&path, &bytes).unwrap();
    let message = error(copy.path());
    let wanted = format!(
        "element 3 of tensor `model.decoder.layers.1.fc1.weight` is NaN, wanted is a finite number (byte {})",
        at + 6
    );
    assert!(message.contains(&wanted) && message.contains("model.safetensors"), "{message}");
}

#[test]
fn counts_that_no_file_can_hold() {
    let whole = fs::read(oracle("llama-tied.gguf")).unwrap();
    // The number of tensors, the number of keys, the length of the first key.
    for at in [8, 16, 24] {
        for value in [1_u64 << 40, u64::MAX, 1 << 32] {
            let mut bytes = whole.clone();
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
            let message = of_bytes(&bytes);
            assert!(message.contains(&format!("says {value}")) && message.contains("before byte"), "{message}");
        }
    }
    // A string of 2^40 bytes as a token.
    let key = b"tokenizer.ggml.tokens";
    let at = whole.windows(key.len()).position(|found| found == key).unwrap() + key.len() + 4 + 4 + 8;
    let mut bytes = whole.clone();
    bytes[at..at + 8].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let message = of_bytes(&bytes);
    assert!(message.contains("says 1099511627776 bytes of element 0 of `tokenizer.ggml.tokens`"), "{message}");
    // Sizes in a configuration that no tensor has.
    for key in ["hidden_size", "num_hidden_layers", "intermediate_size", "vocab_size", "max_position_embeddings"] {
        for value in [json!(1_u64 << 40), json!(u64::MAX), json!(1 << 29), json!(0), json!(-1), json!("x")] {
            let message = changed("opt", "config.json", |all| {
                let key = if key == "intermediate_size" { "ffn_dim" } else { key };
                all[key] = value.clone();
            });
            assert!(message.contains("config.json") || message.contains("tensor `"), "{key}: {value}: {message}");
        }
    }
}

/// Whatever a byte is, opening ends with a model or an error that names the file.
#[test]
fn random_damage_never_panics() {
    let mut rng = sim::stimulus::rng(seeds::seed(1));
    for name in ["llama-biased", "gpt2"] {
        let whole = fs::read(oracle(&format!("{name}.gguf"))).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.gguf");
        for _ in 0..200 {
            let mut bytes = whole.clone();
            // Most of the damage is ahead of the weights.
            let most = if rng.random() { 4096 } else { bytes.len() };
            let at = rng.random_range(0..most);
            bytes[at] = rng.random();
            fs::write(&path, bytes).unwrap();
            if let Err(e) = Decoder::open(&path, Precision::File) {
                let message = format!("{e:#}");
                assert!(message.contains("x.gguf"), "{message}");
            }
            frugal();
        }
    }
    for (name, file) in
        [("llama-biased", "tokenizer.json"), ("opt", "config.json"), ("llama-3", "model.safetensors.index.json")]
    {
        let copy = copy(name);
        let whole = fs::read(copy.path().join(file)).unwrap();
        for _ in 0..150 {
            let mut bytes = whole.clone();
            let at = rng.random_range(0..bytes.len());
            bytes[at] = rng.random_range(b' '..=b'~');
            fs::write(copy.path().join(file), bytes).unwrap();
            if let Err(e) = Decoder::open(copy.path(), Precision::File) {
                let (message, folder) = (format!("{e:#}"), copy.path().display().to_string());
                assert!(message.contains(&folder), "{message}");
            }
            frugal();
        }
    }
}

/// Folders without what a model needs, and parts of a folder: messages say what is wanted.
#[test]
fn folders_that_are_no_models() {
    let without = |name: &str, more: &str| {
        let copy = copy("qwen2");
        fs::remove_file(copy.path().join(name)).unwrap();
        if !more.is_empty() {
            fs::write(copy.path().join(more), "").unwrap();
        }
        error(copy.path())
    };
    let message = without("config.json", "");
    assert!(message.contains("there is no config.json; a model is a GGUF file, or a folder with"), "{message}");
    let message = without("model.safetensors", "model-00001-of-00002.safetensors");
    assert!(message.contains("neither model.safetensors nor model.safetensors.index.json, which says"), "{message}");
    let message = without("model.safetensors", "pytorch_model.bin");
    assert!(message.contains("weights of PyTorch must be saved as safetensors"), "{message}");
    for name in ["model.safetensors", "config.json"] {
        let message = error(&oracle("qwen2").join(name));
        assert!(message.contains("is a part of a model in a folder, or no model; give the folder"), "{message}");
    }
}

#[test]
fn parts_that_do_not_fit_together() {
    let index = "model.safetensors.index.json";
    let with = |change: &dyn Fn(&Path)| {
        let copy = copy("llama-3");
        change(copy.path());
        error(copy.path())
    };
    let first = "model-00001-of-00004.safetensors";
    let message = with(&|folder| fs::remove_file(folder.join(first)).unwrap());
    assert!(message.contains(first) && message.contains("No such file"), "{message}");
    let message = with(&|folder| fs::write(folder.join("model.safetensors"), "").unwrap());
    assert!(message.contains("there are both"), "{message}");
    let message = with(&|folder| drop(fs::copy(folder.join(first), folder.join("model-00002-of-00004.safetensors"))));
    assert!(message.contains("is in another file, too"), "{message}");
    for (file, part) in [
        (json!("../x.safetensors"), "`lm_head.weight` is in no file of the folder"),
        (json!(7), "`lm_head.weight` is in no file of the folder"),
        (json!("model-00002-of-00004.safetensors"), "which has no such tensor"),
    ] {
        let message = changed("llama-3", index, |all| all["weight_map"]["lm_head.weight"] = file);
        assert!(message.contains(part) && message.contains(index), "{message}");
    }
    let message =
        changed("llama-3", index, |all| drop(all["weight_map"].as_object_mut().unwrap().remove("model.norm.weight")));
    assert!(message.contains("\"model.norm.weight\"") && message.contains("is not in the index"), "{message}");
    let message = changed("llama-3", index, |all| drop(all.as_object_mut().unwrap().remove("weight_map")));
    assert!(message.contains("there is no `weight_map`"), "{message}");
}

/// What a configuration has and the decoder has not, by name.
#[test]
fn configurations_that_are_refused() {
    let cases: [(&str, &str, Value, &str); 32] = [
        ("llama-tied", "model_type", json!("mixtral"), "a model of type `mixtral`"),
        ("llama-tied", "num_local_experts", json!(8), "`num_local_experts` is 8, and this key is not supported"),
        ("llama-tied", "quantization_config", json!({"bits": 4}), "`quantization_config` is {\"bits\":4}"),
        ("llama-tied", "rope_interleaved", json!(true), "`rope_interleaved` is true, which is not supported"),
        ("llama-tied", "auto_map", json!({"AutoModel": "x"}), "`auto_map` is {\"AutoModel\":\"x\"}, and this key"),
        ("llama-tied", "num_attention_heads", json!(0), "`num_attention_heads` is 0, wanted is a number from 1 to"),
        ("qwen2", "use_mrope", json!(true), "`use_mrope` is true, which is not supported; wanted is false"),
        ("gpt2", "n_special", json!(1), "`n_special` is 1, which is not supported; wanted is 0"),
        ("llama-tied", "hidden_act", json!("gelu"), "`hidden_act` is `gelu`, wanted is silu"),
        ("llama-tied", "sliding_window", json!(4096), "`sliding_window` is 4096, which is not supported"),
        ("llama-tied", "num_key_value_heads", json!(3), "4 heads cannot share 3 key heads"),
        ("llama-tied", "head_dim", json!(63), "heads of 63, wanted is an even number"),
        (
            "llama-tied",
            "head_dim",
            json!(32),
            "tensor `model.layers.0.self_attn.q_proj.weight` is 256 x 64, wanted is 128 x 64",
        ),
        ("llama-tied", "rms_norm_eps", Value::Null, "there is no `rms_norm_eps`"),
        ("llama-tied", "partial_rotary_factor", json!(0.5), "`partial_rotary_factor` is 0.5"),
        ("llama-tied", "attention_bias", json!(true), "there is no tensor `model.layers.0.self_attn.q_proj.bias`"),
        ("llama-tied", "tie_word_embeddings", json!(false), "there is no tensor `lm_head.weight`"),
        ("llama-3", "tie_word_embeddings", json!(true), "`lm_head.weight` differs from the embedding"),
        ("llama-biased", "attention_bias", json!(false), "tensor `model.layers.0.self_attn.k_proj.bias` has no place"),
        ("llama-3", "rope_parameters", json!({"rope_type": "dynamic"}), "the scaling is `dynamic`, wanted is default"),
        ("llama-3", "rope_parameters", json!({"rope_type": "yarn"}), "`rope_parameters`: there is no `factor`"),
        ("llama-3", "rope_parameters", json!({"factor": 2.0}), "`rope_parameters`: `factor` is 2.0, and this key"),
        ("llama-biased", "rope_scaling", json!({"type": "linear", "factor": -1.0}), "rotary factor -1"),
        ("llama-biased", "rope_theta", json!(0.0), "rotary base 0"),
        ("qwen2", "use_sliding_window", json!(true), "`use_sliding_window` is true, which is not supported"),
        (
            "qwen2",
            "layer_types",
            json!(["sliding_attention", "full_attention"]),
            "wanted is full_attention in all layers",
        ),
        ("gpt2", "scale_attn_by_inverse_layer_idx", json!(true), "`scale_attn_by_inverse_layer_idx` is true"),
        ("gpt2", "activation_function", json!("quick_gelu"), "`activation_function` is `quick_gelu`, wanted is relu"),
        ("gpt2", "n_head", json!(5), "5 heads do not divide the width, 64"),
        ("opt", "do_layer_norm_before", json!(false), "`do_layer_norm_before` is false, which is not supported"),
        ("opt", "word_embed_proj_dim", json!(32), "`word_embed_proj_dim` is 32, which is not supported; wanted is 64"),
        ("opt", "enable_bias", json!(false), "tensor `model.decoder.layers.0.fc1.bias` has no place"),
    ];
    for (name, key, value, part) in cases {
        let message = changed(name, "config.json", |all| all[key] = value);
        assert!(message.contains(part), "wanted: {part}\nfound: {message}");
    }
    let message = changed("opt", "tokenizer.json", |all| {
        all["added_tokens"] = json!([{"id": 320, "content": "<x>", "special": true}])
    });
    assert!(
        message.contains("a tokenizer of 321 tokens, the model has 320") || message.contains("tokenizer.json"),
        "{message}"
    );
}

/// A copy of a model whose configuration has more keys, opened.
fn with_keys(name: &str, more: &[(&str, Value)]) -> Config {
    let copy = copy(name);
    let path = copy.path().join("config.json");
    let mut all: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    more.iter().for_each(|(key, value)| all[*key] = value.clone());
    fs::write(&path, all.to_string()).unwrap();
    let found = Decoder::open(copy.path(), Precision::File);
    *found.unwrap_or_else(|e| panic!("{name}: {e:#}")).model.config()
}

/// Keys of public checkpoints that change nothing: of SmolLM2, Llama 2, Qwen2.5, GPT-2, DistilGPT-2, OPT, and of files for
/// transformers.js and by Unsloth.
#[test]
fn keys_of_public_checkpoints() {
    let cases: [(&str, &[(&str, Value)]); 5] = [
        (
            "llama-tied",
            &[
                ("is_llama_config", json!(true)),
                ("rope_interleaved", json!(false)),
                ("transformers.js_config", json!({"kv_cache_dtype": {"fp16": "float16"}})),
            ],
        ),
        (
            "llama-3",
            &[("max_length", json!(4096)), ("unsloth_version", json!("2024.9")), ("unsloth_fixed", json!(true))],
        ),
        ("qwen2", &[("use_mrope", json!(false)), ("max_sequence_length", json!(2048))]),
        (
            "gpt2",
            &[
                ("n_special", json!(0)),
                ("predict_special_tokens", json!(true)),
                ("_num_labels", json!(1)),
                ("output_past", json!(true)),
            ],
        ),
        ("opt", &[("activation_dropout", json!(0.1)), ("_commit_hash", json!("4e20de36"))]),
    ];
    for (name, more) in cases {
        assert_eq!(with_keys(name, more), with_keys(name, &[]), "{name}");
    }
}

/// Yarn without the context that it began with: this is then the model's context, as in `transformers`.
#[test]
fn yarn_without_its_first_context() {
    let rotary = |original: Value| {
        let yarn = json!({"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": original});
        with_keys("llama-3", &[("rope_parameters", yarn)]).positions
    };
    let context = with_keys("llama-3", &[]).context;
    assert_eq!(rotary(Value::Null), rotary(json!(context)));
    assert_ne!(rotary(Value::Null), rotary(json!(context / 2)));
}

/// Mistral has Llama's layers, and a key for a window that it may leave empty.
#[test]
fn mistral_is_of_the_family() {
    let copy = copy("llama-tied");
    let path = copy.path().join("config.json");
    let text = fs::read_to_string(&path).unwrap().replace("\"llama\"", "\"mistral\"");
    fs::write(&path, text.replace("\"use_cache\"", "\"sliding_window\": null, \"use_cache\"")).unwrap();
    let found = Decoder::open(copy.path(), Precision::File).unwrap();
    assert_eq!(found.model.config(), Decoder::open(&oracle("llama-tied"), Precision::File).unwrap().model.config());
}
