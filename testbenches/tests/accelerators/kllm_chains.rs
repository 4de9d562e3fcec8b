//! Chains of the KLLM accelerator that do a part of the real model without the host.

use host::Device;
use host::kllm::{Bits, Caps};
use jobs::hardware::{on_hardware, ready};
use lower::chain::Measured;
use sim::bus::AxiConfig;
use sim::stimulus::Stall;
use testbenches::accelerators::kllm::activation::real_relu;
use testbenches::accelerators::kllm::attention::{CachedHead, cached_head, real_head};
use testbenches::accelerators::kllm::real::with_orizuru;
use testbenches::accelerators::kllm::{golden_of, timing};

use crate::kllm_top::{LATENCY, WINDOW};

/// Most of the errors of queries, keys, values, probabilities and attention.
const CACHED_ERRORS: [[f64; 5]; 2] = [[0.0115, 0.0171, 0.0513, 0.038, 0.095], [0.0308, 0.0307, 0.148, 0.124, 0.574]];

/// One attention head of the real model as a chain of nine descriptors, W4A4 and W4A3: all that it writes is the golden model's,
/// with pauses of memory and without.
#[test]
fn real_head_of_attention() {
    let block = with_orizuru();
    let golden = golden_of(&block).unwrap();
    let all = std::sync::Mutex::new(Vec::new());
    for (config, bits) in
        [(AxiConfig::rough(Stall::Random { num: 1, den: 8 }), Bits::Four), (AxiConfig::ideal(20), Bits::Three)]
    {
        on_hardware(&block, &config, |hardware| {
            let mut device = Device::new(hardware);
            ready(&mut device, WINDOW, 9).unwrap();
            let caps = Caps::read(&mut device).unwrap();
            let Measured { job, errors } = real_head(&caps, &WINDOW, golden.clone(), bits, (24, 3)).unwrap();
            let counters = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
            println!("{bits:?} {errors:?} {counters:?}");
            all.lock().unwrap().push(errors);
        });
    }
    for (errors, most) in
        all.into_inner().unwrap().into_iter().zip([[1e-7, 0.0135, 0.005, 0.055], [1e-7, 0.0345, 0.009, 0.072]])
    {
        for ((name, error), most) in errors.into_iter().zip(most) {
            assert!(error > 0.0 && error < most, "{name}: {error:.2e}");
        }
    }
}

/// Runs heads with caches that the chain fills. All that they write equals the golden model, and with an ideal memory
/// of this latency their cycles equal the recurrence. Returns the heads.
fn cached_heads(config: &AxiConfig, latency: Option<u32>, heads: &[(Bits, [usize; 2])]) -> Vec<CachedHead> {
    let block = with_orizuru();
    let golden = golden_of(&block).unwrap();
    let all = std::sync::Mutex::new(Vec::new());
    on_hardware(&block, config, |hardware| {
        let mut device = Device::new(hardware);
        let mut clock = latency.map(|latency| timing::clock((&block, latency), &WINDOW).unwrap());
        ready(&mut device, WINDOW, 100).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        for &(bits, tokens) in heads {
            let head = cached_head(&caps, &WINDOW, golden.clone(), bits, (tokens, 3)).unwrap();
            let Measured { job, errors } = &head.measured;
            let counters = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
            if let Some(clock) = &mut clock {
                assert_eq!(counters.cycles, clock.cycles(job).unwrap());
            }
            println!("{bits:?}, {tokens:?} tokens, {} descriptors: {errors:?} {counters:?}", job.descriptors);
            all.lock().unwrap().push(head);
        }
    });
    all.into_inner().unwrap()
}

/// Four tokens after 21 that are cached, W4A4 and W4A3, with pauses of memory and without. One chain puts their keys
/// and values into the cache itself.
#[test]
fn real_head_with_a_cache() {
    let rough = AxiConfig::rough(Stall::Random { num: 1, den: 8 });
    let ideal = AxiConfig::ideal(LATENCY);
    for (config, latency, bits, most) in
        [(rough, None, Bits::Four, CACHED_ERRORS[0]), (ideal, Some(LATENCY), Bits::Three, CACHED_ERRORS[1])]
    {
        for head in cached_heads(&config, latency, &[(bits, [21, 4])]) {
            for ((name, error), most) in head.measured.errors.into_iter().zip(most) {
                assert!(error > 0.0 && error < most, "{name}: {error:.2e}");
            }
        }
    }
}

/// A chain puts the same panels, constants and scales into an empty cache as a host makes of the same tokens. With ten
/// tokens, values go beyond a beat of positions.
#[test]
fn panels_of_a_chain_are_those_of_a_host() {
    let ideal = AxiConfig::ideal(LATENCY);
    for CachedHead { measured, by_host } in cached_heads(&ideal, Some(LATENCY), &[(Bits::Four, [0, 10])]) {
        assert_eq!(by_host.len(), 4);
        for (name, bytes) in by_host {
            let found = measured.job.results(name).unwrap();
            assert!(!bytes.is_empty() && found.starts_with(&bytes), "{name}");
        }
    }
}

/// A product of tokens after ReLU is a product of the same tokens with another codebook.
#[test]
fn real_tokens_behind_relu() {
    let block = with_orizuru();
    let golden = golden_of(&block).unwrap();
    on_hardware(&block, &AxiConfig::ideal(LATENCY), |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 3).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        let Measured { job, errors } = real_relu(&caps, &WINDOW, golden.clone(), (Bits::Four, 4)).unwrap();
        let counters = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
        let mut clock = timing::clock((&block, LATENCY), &WINDOW).unwrap();
        assert_eq!(counters.cycles, clock.cycles(&job).unwrap());
        println!("{errors:?}");
        // Beside the numbers that tokens stand for, only the error of the weights remains; without ReLU it would be far
        // more.
        let [plain, activated, of_tokens, without] = [0, 1, 2, 3].map(|k| errors[k].1);
        assert!(plain > 0.0 && plain < 0.016 && activated > 0.0 && activated < 0.062, "{errors:?}");
        assert!(of_tokens > 0.0 && of_tokens < 0.5 * activated && without > 0.7, "{errors:?}");
    });
}
