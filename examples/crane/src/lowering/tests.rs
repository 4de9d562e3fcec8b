//! A small model on the crane.

use std::collections::BTreeMap;

use lower::needs::Room;
use lower::pass::Rows;
use lower::whole::Checked;
use models::decoder::arithmetic::{Norm, Projection};
use models::decoder::{Activation, Config, Family, Float, Model, Positions, Rotary, Scaling, Weight};
use senbazuru::rand::RngExt;
use senbazuru::sim::{BuildOptions, Initial, Model as Simulated};
use testbenches::accelerators::decoding::{WholeAccelerator, window};

use super::*;

const CONFIG: Config = Config {
    family: Family::Llama,
    layers: 2,
    width: 96,
    ffn_width: 128,
    heads: 4,
    kv_heads: 2,
    head_width: 24,
    positions: Positions::Rotary(Rotary { base: 100.0, scaling: Scaling::None }),
    activation: Activation::Silu,
    norm_eps: 1e-5,
    vocabulary: 50,
    context: 60,
};

fn made() -> Model {
    use Projection::{Down, Gate, K, Logits, O, Q, Up, V};
    let mut rng = senbazuru::sim::stimulus::rng(1);
    let mut weight = |projection| {
        let [outputs, inputs] = CONFIG.shape(projection);
        let most = 2.0 / (inputs as f32).sqrt();
        let values: Vec<f32> = (0..outputs * inputs).map(|_| rng.random_range(-most..most)).collect();
        Weight::new([outputs, inputs], &values)
    };
    let mut weights = BTreeMap::from([((CONFIG.layers, Logits), weight(Logits))]);
    let mut gains = BTreeMap::from([((CONFIG.layers, Norm::Output), vec![1.5; CONFIG.width])]);
    for layer in 0..CONFIG.layers {
        weights.extend([Q, K, V, O, Gate, Up, Down].map(|projection| ((layer, projection), weight(projection))));
        gains.extend([Norm::Attention, Norm::FeedForward].map(|norm| ((layer, norm), vec![0.75; CONFIG.width])));
    }
    Model::new(CONFIG, weights, gains).unwrap()
}

/// Two texts: a prompt of several tokens, more than the array has rows and a group has tokens, then one of each.
#[test]
fn texts_on_the_hardware() {
    let (model, on) = (
        made(),
        whole(Crane { array: ProductParameters { rows: 4, group: 8, ..(RUNS.block)().array }, ..(RUNS.block)() }),
    );
    let learning =
        models::schemes::Learning { windows: vec![(0..30).map(|k| k * 7 % 50).collect()] };
    let settings = on.lowering.defaults().unwrap();
    let arrays = on.lowering.learn(&calibration::Source { model: &model, learning: &learning }, &settings, &mut |_| ());
    let (arrays, window) = (arrays.unwrap(), window(on.address_width()));
    let simulated = Simulated::build(&on.design().unwrap(), &BuildOptions::default()).unwrap();
    let mut sim = simulated.instance_with(Initial::Random(1)).unwrap();
    let hardware = Hardware::new(&mut sim, &AxiConfig::ideal(20), 1).unwrap();
    let mut on_both = Checked::new(on.on_hardware(hardware, &window).unwrap(), on.golden(&window, Some(20)).unwrap());
    let sizes = Sizes { rows: 20, room: Room { texts: 2, tokens: 40 } };
    let learnt = Learnt { settings: &settings, arrays: &arrays };
    let mut decoder = on.lowering.model_with(&window, Source::whole(&model), learnt, sizes, &mut on_both).unwrap();
    let tokens: [Vec<u32>; 2] = [0, 3].map(|first| (first..first + 22).map(|k| k * 11 % 50).collect());
    let rows = |text: usize, from: usize, to: usize| -> (usize, Rows) {
        (text, model.embed(&tokens[text][from..to], from).unwrap().iter().map(<[f64]>::to_vec).collect())
    };
    let mut logits = Vec::new();
    for texts in
        [vec![rows(0, 0, 20)], vec![rows(1, 0, 1)], vec![rows(0, 20, 21), rows(1, 1, 2)], vec![rows(0, 21, 22)]]
    {
        logits = decoder.pass(&mut on_both, (&texts, true), &mut |_| Ok(())).unwrap();
    }
    assert!(on_both.bytes() > 10_000, "{}", on_both.bytes());
    let x = model.forward(&tokens[0], &mut model.cache(), &mut Float).unwrap();
    let exact = model.logits(&x, &mut Float).unwrap();
    let exact = exact.iter().last().unwrap();
    let error: f64 = logits[0].iter().zip(exact).map(|(a, b)| (a.to_f64() - b).powi(2)).sum();
    let error = error / exact.iter().map(|b| b * b).sum::<f64>();
    // Weights, keys and values have 4 bits.
    assert!(error > 0.0 && error < 0.1, "{error:.2e}");
}

#[test]
fn what_does_not_fit() {
    let on = whole(Crane { array: ProductParameters { channels: 64, ..(RUNS.block)().array }, ..(RUNS.block)() });
    let asked = Asked { config: &CONFIG, room: Room::for_one(30), prompt: 4 };
    let needs = on.lowering.needs(&asked, &on.lowering.defaults().unwrap()).unwrap();
    let told = needs.refuse("the crane").unwrap_err().to_string();
    assert!(told.contains("channels must be 128, and is 64"), "{told}");
    let told = on.lowering.shares(&CONFIG, 5).unwrap_err().to_string();
    assert!(told.contains("5 accelerators"), "{told}");
}
