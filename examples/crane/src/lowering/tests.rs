//! A small model on the crane.

use lower::needs::Room;
use lower::pass::Rows;
use lower::whole::{Checked, Orders, Team};
use models::decoder::{Activation, Config, Family, Float, Model, Positions, Rotary, Scaling, Weight};
use models::schemes::Learning;
use senbazuru::accelerator::golden::tender::granularity::relative_error;
use senbazuru::sim::{BuildOptions, Initial, Model as Simulated};
use testbenches::accelerators::decoding::{WholeAccelerator, window};

use super::*;
use crate::packing::Packing;

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
    Model::drawn(CONFIG, &mut senbazuru::sim::stimulus::rng(1)).unwrap()
}

/// The same with weights as the crane has them, with groups of so many channels.
fn rounded(model: &Model, group: usize) -> Model {
    let mut parts = model.parts().clone();
    for weight in parts.weights.values_mut() {
        let values: Vec<f64> = weight.values().into_iter().map(f64::from).collect();
        let packing = Packing::of(&values, group);
        let rounded = values.chunks(weight.inputs).flat_map(|column| packing.rounded(column)).map(|w| w as f32);
        *weight = Weight::new([weight.outputs, weight.inputs], &rounded.collect::<Vec<_>>());
    }
    Model::from_parts(CONFIG, parts).unwrap()
}

/// A crane whose array has four rows, and what it has learnt.
fn small(model: &Model, options: &str) -> (impl WholeAccelerator, Settings, Arrays) {
    let array = ProductParameters { rows: 4, group: 8, ..(RUNS.block)().array };
    let on = whole(Crane { array, ..(RUNS.block)() });
    let learning = Learning { windows: vec![(0..30).map(|k| k * 7 % 50).collect()] };
    let settings = Settings::parse(&on.lowering.choices(), options).unwrap();
    let arrays = on.lowering.learn(&calibration::Source { model, learning: &learning }, &settings, &mut |_| ());
    (on, settings, arrays.unwrap())
}

/// The last logits of two texts: a prompt of several tokens, more than the array has rows and a group has tokens; then
/// one token of each.
fn logits(model: &Model, on: &impl WholeAccelerator, learnt: Learnt<'_>, memory: &mut dyn Executor) -> [Vec<f64>; 2] {
    let sizes = Sizes { rows: 20, room: Room { texts: 2, tokens: 40 } };
    let source = Source::whole(model);
    let mut decoder = on.lowering().model_with(&window(on.address_width()), source, learnt, sizes, memory).unwrap();
    let rows = |text: usize, from: usize, to: usize| -> (usize, Rows) {
        (text, model.embed(&tokens(text)[from..to], from).unwrap().iter().map(<[f64]>::to_vec).collect())
    };
    let mut pass = |texts: &[(usize, Rows)]| -> Vec<Vec<f64>> {
        let logits = decoder.pass(memory, (texts, true), &mut |_| Ok(())).unwrap();
        logits.into_iter().map(|row| row.into_iter().map(f64::from).collect()).collect()
    };
    pass(&[rows(0, 0, 20)]);
    pass(&[rows(1, 0, 1)]);
    pass(&[rows(0, 20, 21), rows(1, 1, 2)]).try_into().unwrap()
}

/// The same on the hardware: bytes and cycles of each job equal the golden model's.
fn on_hardware(model: &Model, on: &impl WholeAccelerator, learnt: Learnt<'_>) -> [Vec<f64>; 2] {
    let window = window(on.address_width());
    let simulated = Simulated::build(&on.design().unwrap(), &BuildOptions::default()).unwrap();
    let mut sim = simulated.instance_with(Initial::Random(1)).unwrap();
    let hardware = Hardware::new(&mut sim, &AxiConfig::ideal(20), 1).unwrap();
    let golden = on.golden(&window, Some(20)).unwrap();
    let mut both = Checked::new(on.on_hardware(hardware, &window).unwrap(), golden);
    let found = logits(model, on, learnt, &mut both);
    assert!(both.bytes() > 10_000, "{}", both.bytes());
    found
}

fn tokens(text: usize) -> Vec<u32> {
    (0..21).map(|k| (3 * text as u32 + k) * 11 % 50).collect()
}

#[test]
fn texts_on_the_hardware() {
    let model = made();
    let rounded = rounded(&model, 8);
    let (on, settings, arrays) = small(&model, "");
    let learnt = Learnt { settings: &settings, arrays: &arrays };
    let found = on_hardware(&model, &on, learnt);
    for (text, (found, count)) in found.iter().zip([21, 2]).enumerate() {
        let [to_exact, to_rounded] = [&model, &rounded].map(|model| {
            let x = model.forward(&tokens(text)[..count], &mut model.cache(), &mut Float).unwrap();
            let logits = model.logits(&x, &mut Float).unwrap();
            relative_error(&[logits.iter().last().unwrap().to_vec()], &[found.clone()])
        });
        // What is left is of activations, and of keys and values in 4 bits.
        assert!(to_rounded < 0.1 && to_rounded < to_exact / 2.0, "{to_rounded:.2e}, {to_exact:.2e}");
    }
    // Two side by side have half of all columns each.
    let golden = on.golden(&window(on.address_width()), Some(20)).unwrap();
    let member = |orders: Orders| orders.serve(&mut golden.duplicate());
    let pair = std::thread::scope(|scope| logits(&model, &on, learnt, &mut Team::new(scope, vec![&member; 2])));
    assert_eq!(pair, found);
}

/// With a budget each head keeps what got the most: the same on hardware, and near all tokens where little is dropped.
#[test]
fn some_tokens_stay() {
    let model = made();
    let last = |options: &str, checked: bool| {
        let (on, settings, arrays) = small(&model, options);
        let learnt = Learnt { settings: &settings, arrays: &arrays };
        match checked {
            true => on_hardware(&model, &on, learnt),
            false => logits(&model, &on, learnt, &mut on.golden(&window(on.address_width()), None).unwrap()),
        }
    };
    let (all, most, few) = (last("", false), last("budget=19,window=4", true), last("budget=5,window=4", false));
    let error = |found: &[f64]| -> f64 { found.iter().zip(&all[0]).map(|(a, b)| (a - b).powi(2)).sum() };
    assert!(0.0 < error(&most[0]) && 4.0 * error(&most[0]) < error(&few[0]), "{} {}", error(&most[0]), error(&few[0]));
    // The other text has two tokens.
    assert_eq!([&most[1], &few[1]], [&all[1]; 2]);
    let settings = Settings::parse(&Policy::choices(), "budget=4,window=4").unwrap();
    let told = Policy::of(&settings).unwrap_err().to_string();
    assert_eq!(told, "window=4 and budget=4: wanted is a window below the budget");
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
