use rand::RngExt;

use super::*;
use crate::decoder::Float;
use crate::decoder::perplexity::{surprise, surprises};
use crate::gguf::tests::{Made, open, text};

/// Two layers of width 8, two heads that share a key head, ten tokens; random weights.
fn made(change: impl Fn(&mut Vec<(&str, u32, Vec<u8>)>)) -> Made {
    let n = |value: u32| value.to_le_bytes().to_vec();
    let mut keys = vec![
        ("general.architecture", 8, text("llama")),
        ("llama.block_count", 4, n(2)),
        ("llama.embedding_length", 4, n(8)),
        ("llama.feed_forward_length", 4, n(6)),
        ("llama.attention.head_count", 4, n(2)),
        ("llama.attention.head_count_kv", 4, n(1)),
        ("llama.rope.dimension_count", 4, n(4)),
        ("llama.rope.freq_base", 6, 100_f32.to_le_bytes().to_vec()),
        ("llama.attention.layer_norm_rms_epsilon", 6, 1e-5_f32.to_le_bytes().to_vec()),
        ("llama.vocab_size", 4, n(10)),
        ("llama.context_length", 4, n(12)),
    ];
    change(&mut keys);
    let mut made = Made::default();
    for (name, kind, value) in keys {
        made = made.key(name, kind, &value);
    }
    let mut tensors = vec![("token_embd".to_owned(), vec![8, 10]), ("output_norm".to_owned(), vec![8])];
    for layer in 0..2 {
        let shapes: [(&str, &[u64]); 9] = [
            ("attn_norm", &[8]),
            ("attn_q", &[8, 8]),
            ("attn_k", &[8, 4]),
            ("attn_v", &[8, 4]),
            ("attn_output", &[8, 8]),
            ("ffn_norm", &[8]),
            ("ffn_gate", &[8, 6]),
            ("ffn_up", &[8, 6]),
            ("ffn_down", &[6, 8]),
        ];
        tensors.extend(shapes.map(|(name, shape)| (format!("blk.{layer}.{name}"), shape.to_vec())));
    }
    let mut rng = sim::stimulus::rng(seeds::seed(1));
    let mut offset = 0;
    for (name, shape) in tensors {
        let elements = shape.iter().product::<u64>();
        made = made.tensor(&format!("{name}.weight"), &shape, 0, offset);
        let values: Vec<u8> = (0..elements).flat_map(|_| rng.random_range(-1.0_f32..1.0).to_le_bytes()).collect();
        offset += (values.len() as u64).next_multiple_of(32);
        made = made.data(&values);
    }
    made
}

fn model() -> Model {
    Model::read(&open(&made(|_| ()).bytes()).unwrap(), Precision::File).unwrap()
}

/// A whole text at once, and the same in parts with cached keys and values.
#[test]
fn parts_of_a_text_are_the_text() {
    let model = model();
    let text = [3, 1, 4, 1, 5, 9, 2, 6, 5];
    let whole = model.forward(&text, &mut model.cache(), &mut Float).unwrap();
    for cuts in [vec![1; 9], vec![4, 5], vec![2, 1, 6]] {
        let (mut cache, mut rows, mut at) = (model.cache(), Vec::new(), 0);
        for length in cuts {
            rows.extend(model.forward(&text[at..at + length], &mut cache, &mut Float).unwrap().values);
            at += length;
        }
        assert_eq!((cache.tokens(), rows.len()), (9, whole.values.len()));
        for (a, b) in rows.iter().zip(&whole.values) {
            assert!((a - b).abs() < 1e-12, "{a} {b}");
        }
    }
    // Later tokens change no earlier results; earlier tokens change later results.
    let other = model.forward(&[3, 1, 4, 1, 5, 9, 2, 6, 7], &mut model.cache(), &mut Float).unwrap();
    assert_eq!(other.some_rows(0..8), whole.some_rows(0..8));
    let other = model.forward(&[2, 1, 4, 1, 5, 9, 2, 6, 5], &mut model.cache(), &mut Float).unwrap();
    assert!((0..9).all(|row| other.row(row) != whole.row(row)));
}

/// Token by token, with the logits of each token for the next one, the surprises equal the ones of the whole text at once.
#[test]
fn tokens_are_scored_one_by_one_as_at_once() {
    let (model, text) = (model(), [3, 1, 4, 1, 5, 9, 2, 6, 5]);
    let wanted = surprises(&model, &text, &mut Float).unwrap();
    let mut cache = model.cache();
    for (pair, wanted) in text.windows(2).zip(&wanted) {
        let x = model.forward(&pair[..1], &mut cache, &mut Float).unwrap();
        let found = surprise(&model.logits(&x, &mut Float).unwrap().values, pair[1]);
        assert!((found - wanted).abs() < 1e-12, "{found} {wanted}");
    }
    assert_eq!(wanted.len(), text.len() - 1);
}

#[test]
fn texts_that_are_refused() {
    let model = model();
    let refused = |tokens: &[u32]| model.forward(tokens, &mut model.cache(), &mut Float).unwrap_err().to_string();
    assert_eq!(refused(&[1, 10]), "token 10; the vocabulary has 10");
    assert_eq!(refused(&[1; 13]), "a text of 13 tokens; the model's context is 12");
    assert_eq!(model.forward(&[], &mut model.cache(), &mut Float).unwrap().rows(), 0);
}

#[test]
fn files_that_are_refused() {
    let cases: [(&str, u32, Vec<u8>, &str); 10] = [
        ("general.architecture", 8, text("mamba"), "a model of architecture `mamba`, wanted is `llama`, `qwen2` or"),
        ("general.architecture", 8, text("gpt2"), "the metadata has no `gpt2.embedding_length`"),
        ("llama.block_count", 4, vec![0; 4], "`llama.block_count` is 0, wanted is a number from 1 to"),
        ("llama.block_count", 4, vec![3, 0, 0, 0], "there is no tensor `blk.2.attn_q.weight`"),
        ("llama.block_count", 8, text("two"), "`llama.block_count` is a text, wanted is an integer"),
        ("llama.attention.head_count", 4, vec![3, 0, 0, 0], "tensor `blk.0.attn_q.weight` is 8 x 8, wanted is 12 x 8"),
        ("llama.attention.head_count_kv", 4, vec![4, 0, 0, 0], "2 heads cannot share 4 key heads"),
        ("llama.feed_forward_length", 4, vec![7, 0, 0, 0], "tensor `blk.0.ffn_gate.weight` is 6 x 8, wanted is 7 x 8"),
        ("llama.rope.freq_base", 6, (-1_f32).to_le_bytes().to_vec(), "rotary base -1"),
        ("llama.rope.freq_base", 6, f32::NAN.to_le_bytes().to_vec(), "is NaN, wanted is a finite number"),
    ];
    let read = |made: Made| format!("{:#}", Model::read(&open(&made.bytes()).unwrap(), Precision::File).unwrap_err());
    for (key, kind, value, part) in cases {
        let error = read(made(|keys| {
            let entry = keys.iter_mut().find(|entry| entry.0 == key).unwrap();
            (entry.1, entry.2) = (kind, value.clone());
        }));
        assert!(error.contains(part) && error.contains("x.gguf"), "{error}");
    }
    let error = read(made(|keys| keys.retain(|entry| entry.0 != "llama.vocab_size")));
    assert!(error.contains("there is no `llama.vocab_size`"), "{error}");
    for (key, part) in [
        ("llama.expert_count", "`llama.expert_count` is 8: a mixture of experts, which is not supported"),
        ("llama.attention.sliding_window", "a sliding window, which is not supported"),
        ("llama.odd", "the key `llama.odd` is not supported"),
        ("llama.attention.key_length", "`llama.rope.dimension_count` is 4, wanted is the width of a head, 8"),
        ("llama.attention.value_length", "`llama.attention.value_length` is 8, wanted is the width of a head, 4"),
    ] {
        let error = read(made(|keys| keys.push((key, 4, vec![8, 0, 0, 0]))));
        assert!(error.contains(part) && error.contains("x.gguf"), "{error}");
    }
    let float = |x: f32| x.to_le_bytes().to_vec();
    for (key, kind, value, part) in [
        (
            "llama.attention.causal",
            7,
            vec![0],
            "`llama.attention.causal` is false, which is not supported; wanted is true",
        ),
        ("llama.logit_scale", 6, float(0.5), "`llama.logit_scale` is 0.5, which is not supported; wanted is 1"),
    ] {
        let error = read(made(|keys| keys.push((key, kind, value.clone()))));
        assert!(error.contains(part) && error.contains("x.gguf"), "{error}");
    }
    let scaled = |kind: &str| read(made(|keys| keys.push(("llama.rope.scaling.type", 8, text(kind)))));
    assert!(scaled("longrope").contains("`llama.rope.scaling.type` is `longrope`, wanted is none, linear or yarn"));
    assert!(scaled("linear").contains("the metadata has no `llama.rope.scaling.factor`"));
    let error = read(made(|_| ()).tensor("blk.0.attn_q_norm.weight", &[4], 0, 0));
    assert!(
        error.contains("tensor `blk.0.attn_q_norm.weight` has no place in this model of the family Llama"),
        "{error}"
    );
    let error = read(made(|_| ()).tensor("blk.1.ffn_up.bias", &[5], 0, 0));
    assert!(error.contains("tensor `blk.1.ffn_up.bias` is 5, wanted is 6"), "{error}");
}

/// Keys of public files whose values say what is so anyway.
#[test]
fn keys_that_change_nothing() {
    let file = made(|keys| {
        keys.push(("llama.tensor_data_layout", 8, text("Meta AI original pth")));
        keys.push(("llama.attention.causal", 7, vec![1]));
        keys.push(("llama.logit_scale", 6, 1_f32.to_le_bytes().to_vec()));
    });
    let found = Model::read(&open(&file.bytes()).unwrap(), Precision::File).unwrap();
    assert_eq!(found.fingerprint(), model().fingerprint());
}

/// Tensors that a file may have: an output projection, biases, divisors of frequencies.
#[test]
fn parts_beyond_the_plain_ones() {
    let read = |made: Made| Model::read(&open(&made.bytes()).unwrap(), Precision::File).unwrap();
    let plain = model();
    let untied = read(made(|_| ()).tensor("output.weight", &[8, 10], 0, 0));
    assert!(plain.is_tied() && !untied.is_tied());
    // The first tensor of the file is the embedding: so the output has its weights, too.
    assert_eq!(untied.embedding().unwrap(), plain.embedding().unwrap());
    let biased = read(made(|_| ()).tensor("blk.1.ffn_up.bias", &[6], 0, 0));
    let bias = biased.bias(1, Projection::Up).unwrap();
    assert_eq!(bias, &plain.embedding().unwrap().values()[..6]);
    let tokens = [3, 1, 4];
    let of = |model: &Model| model.forward(&tokens, &mut model.cache(), &mut Float).unwrap();
    assert!(of(&biased) != of(&plain) && of(&untied) == of(&plain));
}
