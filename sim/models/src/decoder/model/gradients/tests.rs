//! Gradients against differences of surprises, on the small models of `transformers`.

use std::path::PathBuf;

use super::*;
use crate::decoder::perplexity::surprises;
use crate::decoder::{Decoder, Float, Precision};

fn model(name: &str) -> Model {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle")).join(name);
    Decoder::open(&path, Precision::File).unwrap().model
}

const TOKENS: [u32; 9] = [5, 100, 7, 31, 250, 5, 100, 3, 60];

/// Heads alike and shared, biases, scalings, tied and untied: a few weights of each projection, whose exact neighbours
/// in f32 have surprises that differ by the gradient.
#[test]
fn gradients_are_differences() {
    for name in ["llama-tied", "llama-3", "llama-biased", "qwen2"] {
        let mut model = model(name);
        let mut found = Vec::new();
        let sum = model
            .backward(&TOKENS, &mut |step| {
                let outputs = step.outputs.columns;
                for output in [0, outputs / 2, outputs - 1] {
                    let gradients = step.of_output(output);
                    let most = (0..gradients.len()).max_by(|&a, &b| gradients[a].abs().total_cmp(&gradients[b].abs()));
                    for input in [most.unwrap(), output % gradients.len()] {
                        found.push(((step.layer, step.projection), output, input, gradients[input]));
                    }
                }
                Ok(())
            })
            .unwrap();
        let surprise = |model: &Model| surprises(model, &TOKENS, &mut Float).unwrap().iter().sum::<f64>();
        assert!((sum - surprise(&model)).abs() < 1e-10, "{name}: {sum}");
        assert_eq!(found.len(), 2 * 7 * 6, "{name}");
        let largest = found.iter().fold(0.0, |most: f64, of| most.max(of.3.abs()));
        for (key, output, input, gradient) in found {
            let Weight { inputs, outputs, .. } = model.parts.weights[&key];
            let (place, mut values) = (output * inputs + input, model.parts.weights[&key].values());
            let weight = values[place];
            let mut at = |x: f32| {
                values[place] = x;
                model.parts.weights.insert(key, Weight::new([outputs, inputs], &values));
                surprise(&model)
            };
            let [low, high] = [weight - 1e-3, weight + 1e-3];
            let difference = (at(high) - at(low)) / (f64::from(high) - f64::from(low));
            at(weight);
            let error = (difference - gradient).abs();
            assert!(
                error < 1e-5 * largest + 1e-4 * gradient.abs(),
                "{name} {key:?} {output} {input}: {difference} {gradient}"
            );
        }
    }
}

#[test]
fn what_has_no_gradients() {
    let mut none = |_: &Step<'_>| Ok(());
    let error = model("opt").backward(&TOKENS, &mut none).unwrap_err().to_string();
    assert!(error.contains("family Llama, this one is Gpt"), "{error}");
    assert!(model("qwen2").backward(&[1], &mut none).is_err());
    let mut stop = |step: &Step<'_>| anyhow::bail!("stopped at {:?}", step.projection);
    let error = model("qwen2").backward(&TOKENS, &mut stop).unwrap_err().to_string();
    assert!(error.contains("stopped at Down"), "{error}");
}
