use std::path::Path;

use golden::tender::granularity::relative_error;
use models::decoder::residual::ahead_of_layers;
use models::decoder::{Decoder, Precision};

use super::*;
use crate::layer::Heads;

/// The layers of a model, its rows before each layer, and after the last one.
fn read(name: &str, unit: usize) -> (Vec<Layer>, Vec<Vec<Vec<f64>>>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models/tests/oracle").join(name);
    let model = Decoder::open(&folder, Precision::File).unwrap().model;
    let rows = ahead_of_layers(&model, &[3, 10, 41, 5, 9, 26, 5]).unwrap();
    ((0..model.config().layers).map(|number| Layer::of_model(&model, number, unit).unwrap()).collect(), rows)
}

/// Weights that are rounded to fp16 are all that differs, whatever the model has: biases, head sizes, scalings.
#[test]
fn layers_are_those_of_the_models() {
    for name in ["llama-tied", "llama-3", "llama-biased", "qwen2", "gpt2", "opt", "opt-gelu"] {
        for unit in [2, 32, 96] {
            let (layers, rows) = read(name, unit);
            assert_eq!(layers.len(), rows.len());
            let added = sum(&rows[1], &rows[0], -1.0);
            let found = Exact::of(&layers[0], &rows[0]);
            let error = relative_error(&added, &sum(&found.out, &rows[0], -1.0));
            println!("{name}, heads in units of {unit}: {error:.1e}");
            assert!(error > 0.0 && error < 1e-6, "{name}, heads in units of {unit}: {error:.1e}");
            let Heads { queries, width, own, .. } = layers[0].heads;
            assert_eq!(found.queries[0].len(), queries * width);
            // All other elements of a head are 0.
            let zeros = found.queries[3].chunks(width).all(|head| head[own..].iter().all(|&x| x == 0.0));
            assert!(width.is_multiple_of(unit) && zeros, "{name}");
        }
    }
}

#[test]
fn texts_follow_each_other() {
    let (layers, rows) = read("llama-tied", 32);
    let (text, other) = (rows[0].clone(), rows[0][..3].to_vec());
    let both = Exact::of_texts(&layers[0], &[text.clone(), other.clone()]).unwrap();
    let apart = [Exact::of(&layers[0], &text), Exact::of(&layers[0], &other)];
    assert_eq!(both.out, [apart[0].out.clone(), apart[1].out.clone()].concat());
    assert_eq!(both.keys, [apart[0].keys.clone(), apart[1].keys.clone()].concat());
    let refused = Exact::of_texts(&layers[0], &[]).unwrap_err().to_string();
    assert_eq!(refused, "scales and codebooks need a text");
}

/// More bits are nearer to the layer without rounding.
#[test]
fn rounding_has_its_price() {
    let (layers, rows) = read("llama-3", 32);
    let exact = Exact::of(&layers[0], &rows[0]).out;
    let [four, eight] =
        [4, 8].map(|bits| relative_error(&exact, &Exact::rounded(&layers[0], &rows[0], Some(bits)).out));
    println!("{four:.1e}, {eight:.1e}");
    assert!(four > eight && eight > 0.0);
}
