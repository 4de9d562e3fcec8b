//! Cycles of descriptors and layers of any size (`models::cycles`) equal the recurrences, which equal the RTL.

mod real_layer;
mod tender_layer;
mod titanus_layer;

use golden::accelerators::kllm::KllmTop as Kllm;
use hdl::accelerators::kelle::{AttentionSpec, KelleSpec, KelleTop};
use hdl::accelerators::kllm::KllmTop;
use hdl::accelerators::tender::TenderTop;
use hdl::blocks::common::AxiSpec;
use host::kllm::Bits;
use host::vector::Integer;
use models::cycles::kllm::Left;
use models::cycles::{kelle, kllm, tender};
use testbenches::accelerators as benches;
use testbenches::accelerators::kllm::real::with_orizuru;
use testbenches::accelerators::tender::real::{GROUPS, layer_size};

/// Of memory.
const LATENCY: u32 = 20;

fn on_tender(block: &TenderTop, integer: Integer) -> tender::Tender {
    let (caps, golden) = (benches::tender::caps_of(block), benches::tender::golden_of(block).unwrap());
    tender::Tender::new(caps, (golden, benches::tender::timing::timing(block, LATENCY)), integer, GROUPS as u64)
}

fn on_kllm(block: &KllmTop, positions_an_outlier: u64) -> kllm::Kllm {
    let (caps, golden): (_, Kllm) = (benches::kllm::caps_of(block), benches::kllm::golden_of(block).unwrap());
    let timing = benches::kllm::timing::timing(block, LATENCY);
    kllm::Kllm::new(caps, (golden, timing), Bits::Four, positions_an_outlier)
}

/// The paper's array on a bus of `bytes` bytes; heads keep 128 tokens.
fn on_kelle(bytes: u32, budget: u64) -> kelle::Kelle {
    let axi = AxiSpec { address_width: 40, data_width: 8 * bytes, id_width: 1 };
    let spec = KelleSpec { axi, ..KelleSpec::default() };
    let attention = AttentionSpec { spec: spec.clone(), slots: 128, width: 128, group: 4, ..AttentionSpec::default() };
    kelle_of(&KelleTop { spec, attention, ..KelleTop::default() }, budget)
}

fn kelle_of(block: &KelleTop, budget: u64) -> kelle::Kelle {
    let golden = benches::kelle::golden_of(block).unwrap();
    let caps = benches::kelle::caps_of(golden.shape());
    let timing = benches::kelle::timing::timing(block, LATENCY);
    kelle::Kelle::new(caps, (golden, timing), [budget, block.attention.interval.into()])
}

/// Linear layers of few tokens wait for weights, and layers of many tokens wait for the array. Heads fill, are full, or
/// become full.
#[test]
fn layers_of_kelle_are_those_of_the_recurrences() {
    for bytes in [16, 64] {
        let kelle = on_kelle(bytes, 40);
        for size in [[1, 96, 1500], [16, 576, 1000], [64, 128, 1100], [33, 64, 1500]] {
            assert_eq!(kelle.product(size).unwrap(), kelle.counted(size).unwrap(), "{bytes} bytes, {size:?}");
        }
        for (size, old, tokens) in [((1, 64), 0, 80), ((4, 128), 20, 70), ((3, 64), 40, 30), ((2, 64), 39, 1)] {
            let (model, counted) =
                (kelle.attending(size, old, tokens).unwrap(), kelle.entering(size, old, tokens).unwrap());
            assert_eq!(model, counted, "{bytes} bytes, {size:?}, {tokens} tokens after {old}");
        }
    }
}

/// Sizes beyond the range that is counted event by event; channels are multiples of 64.
#[test]
fn products_are_those_of_the_recurrences() {
    for integer in [Integer::Int8, Integer::Int4] {
        let tender = on_tender(&layer_size(), integer);
        for size in [[128, 576, 64], [64, 1536, 192], [72, 1536, 328], [1, 576, 2000]] {
            assert_eq!(tender.product(size).unwrap(), tender.counted(size).unwrap(), "{integer:?} {size:?}");
        }
    }
    let kllm = on_kllm(&with_orizuru(), 0);
    for left in [Left::Tokens, Left::Integers] {
        for size in [[1, 576, 400], [4, 512, 200], [3, 64, 700]] {
            let (model, counted) = (kllm.product(left, size).unwrap(), kllm.counted(left, size).unwrap());
            assert_eq!(model.events, counted.events, "{left:?} {size:?}");
            let (model, counted) = (model.cycles, counted.cycles);
            println!("{left:?} {size:?}: {model} of {counted}");
            // Few integers wait for weights in some panels and not in others.
            let apart = if left == Left::Tokens { 0 } else { counted / 50 };
            assert!(model.abs_diff(counted) <= apart, "{left:?} {size:?}: {model}, {counted}");
        }
        // In the last one weights of a panel exceed the banks.
        for size in [[16, 576, 130], [40, 576, 128], [60, 64, 200], [30, 256, 128], [12, 704, 128]] {
            let (model, counted) = (kllm.product(left, size).unwrap(), kllm.counted(left, size).unwrap());
            assert_eq!(model.events, counted.events, "{left:?} {size:?}");
            let ratio = model.cycles as f64 / counted.cycles as f64;
            println!("{left:?} {size:?}: {ratio:.4}");
            assert!((ratio - 1.0).abs() < 0.1, "{left:?} {size:?}: {ratio}");
        }
    }
}

/// Outliers at drawn positions come again as often as was measured (`cycles_of_outliers`).
#[test]
fn outliers_cost_what_was_measured() {
    let product = hdl::accelerators::kllm::KllmSpec { inputs: 16, depth: 256, buffer: 256, ..with_orizuru().product };
    let kllm = on_kllm(&KllmTop { product, ..with_orizuru() }, 200);
    for cost in models::headlines::outliers::COSTS {
        let measured = cost.product - models::headlines::outliers::COSTS[0].product;
        let expected = kllm.repeats(4096, 2 * u64::from(cost.a_side));
        assert!(
            (expected - measured).abs() < 0.05 * measured + 0.5,
            "{}: {expected}, measured {measured}",
            cost.a_side
        );
    }
}
