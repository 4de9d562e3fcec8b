//! A whole decoder on the Tender accelerator, a token at a time: the RTL and the golden model agree after every job.

use std::collections::BTreeMap;

use hdl::accelerators::tender::TenderTop;
use host::Window;
use models::smollm2::arithmetic::{Norm, Projection};
use models::smollm2::model::Config;
use models::smollm2::{Float, Model, Weight};
use models::tender::decoder::{Checked, Decoder, Executor, InSoftware, Learnt, OnDevice, Spent};
use rand::RngExt;
use sim::bus::AxiConfig;
use testbenches::systems::hardware::{Hardware, on_hardware};
use testbenches::systems::tender_top::decoding::for_decoding;
use testbenches::systems::tender_top::{caps_of, golden_of};

const WINDOW: Window = Window { base: 0x10_0000, limit: 0x1fff_ffff, address_width: 32 };

/// Two layers, two key heads that two query heads share each.
const CONFIG: Config = Config {
    layers: 2,
    width: 128,
    ffn_width: 160,
    heads: 4,
    kv_heads: 2,
    head_width: 32,
    rope_base: 100.0,
    norm_eps: 1e-5,
    vocabulary: 50,
    context: 40,
};

/// Weights as large as those of a model that was trained, about.
fn made() -> Model {
    let mut rng = sim::stimulus::rng(seeds::seed(1));
    let mut weight = |projection: Projection| {
        let [outputs, inputs] = CONFIG.shape(projection);
        let most = 2.0 / (inputs as f32).sqrt();
        Weight { outputs, inputs, values: (0..outputs * inputs).map(|_| rng.random_range(-most..most)).collect() }
    };
    use Projection::{Down, Gate, K, Logits, O, Q, Up, V};
    let mut weights = BTreeMap::from([((CONFIG.layers, Logits), weight(Logits))]);
    let mut gains = BTreeMap::from([((CONFIG.layers, Norm::Output), vec![1.5; CONFIG.width])]);
    for layer in 0..CONFIG.layers {
        weights.extend([Q, K, V, O, Gate, Up, Down].map(|projection| ((layer, projection), weight(projection))));
        gains.extend([Norm::Attention, Norm::FeedForward].map(|norm| ((layer, norm), vec![0.75; CONFIG.width])));
    }
    Model::new(CONFIG, weights, gains).unwrap()
}

fn learnt(model: &Model) -> Learnt {
    let mut learnt = Learnt::default();
    // A made model has no channels that all texts share: others would be saturated.
    learnt.learn(model, &TEXT).unwrap();
    learnt
}

fn software(block: &TenderTop) -> InSoftware {
    InSoftware::new(golden_of(block).unwrap(), &WINDOW)
}

const TEXT: [u32; 7] = [3, 10, 41, 5, 9, 26, 5];

/// Logits of the text's tokens.
fn logits(model: &Model, block: &TenderTop, on: &mut dyn Executor, text: &[u32]) -> (Vec<Vec<f64>>, Spent) {
    let (learnt, mut all) = (learnt(model), Spent::default());
    let mut decoder = Decoder::new((model, &learnt), (&caps_of(block), &WINDOW), 32, on).unwrap();
    let mut token = |&token: &u32| {
        let mut add = |spent: &Spent| {
            all += *spent;
            Ok(())
        };
        let logits = decoder.token(on, (token, true), &mut add).unwrap();
        logits.into_iter().map(|x| x.to_f64()).collect()
    };
    (text.iter().map(&mut token).collect(), all)
}

fn relative(found: &[f64], exact: &[f64]) -> f64 {
    let error: f64 = found.iter().zip(exact).map(|(a, b)| (a - b).powi(2)).sum();
    error / exact.iter().map(|x| x * x).sum::<f64>()
}

/// The model's own arithmetic: what it computes is the network, up to integers of 8 bits.
#[test]
fn logits_are_near_the_float_ones() {
    let (model, block) = (made(), for_decoding(16));
    let (found, _) = logits(&model, &block, &mut software(&block), &TEXT);
    let x = model.forward(&TEXT, &mut model.cache(), &mut Float).unwrap();
    let exact = model.logits(&x, &mut Float).unwrap();
    for (found, exact) in found.iter().zip(exact.iter()) {
        let error = relative(found, exact);
        println!("{error:.2e}");
        assert!(error > 0.0 && error < 1e-3, "{error:.2e}");
    }
}

/// Every byte of every job is the golden model's, on low and wide arrays and on square ones.
#[test]
fn every_job_is_the_golden_one() {
    let model = made();
    for block in [for_decoding(8)] {
        on_hardware(&block, &AxiConfig::ideal(20), |hardware| {
            let device = OnDevice::new(hardware, &WINDOW, |hardware: &mut &mut Hardware<'_>| hardware.sleep()).unwrap();
            let mut on = Checked::new(device, software(&block));
            let (found, spent) = logits(&model, &block, &mut on, &TEXT);
            assert!(spent.cycles > 0 && spent.computing > spent.cycles / 2, "{spent:?}");
            assert!(on.bytes() > 10_000, "{}", on.bytes());
            assert_eq!(found, logits(&model, &block, &mut software(&block), &TEXT).0);
        });
    }
}
