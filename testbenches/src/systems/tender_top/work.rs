//! Cycles of a decoder layer by the recurrence, for comparing parameters: the columns of a sweep.

use anyhow::{Context, ensure};
use golden::common::shell::job_controller::Limits;
use golden::systems::cycles::{Recurrence, Turns};
use golden::systems::memory::SparseMemory;
use hdl::accelerators::tender::TenderTop;
use host::Window;
use host::vector::Integer;
use rand::RngExt;
use sim::stimulus::{StimulusRng, rng_for};

use sim::kit::Work;

use super::super::float_layer::Layer;
use super::layer::real_layer;
use super::{caps_of, golden_of, timing};

/// Tokens of the layer.
const TOKENS: usize = 64;
/// Cycles until memory answers.
const LATENCY: u32 = 20;

/// A decoder layer with operands of 8 and of 4 bits, channels in one group and in eight: cycles, and the share of them in which
/// the array takes products.
pub const WORK: Work<TenderTop> = Work {
    columns: &[
        "layer_cycles_int8_1_group",
        "layer_busy_int8_1_group",
        "layer_cycles_int8_8_groups",
        "layer_busy_int8_8_groups",
        "layer_cycles_int4_1_group",
        "layer_busy_int4_1_group",
        "layer_cycles_int4_8_groups",
        "layer_busy_int4_8_groups",
    ],
    cycles: layer_cycles,
};

/// Cycles of a decoder layer with the sizes of SmolLM2-135M for 64 tokens, and the share of cycles in which the array
/// takes products. Memory answers 20 cycles after a request and never pauses. Weights are drawn; the real layer of 64
/// tokens takes 0.3 % more cycles at 16 x 16.
///
/// # Errors
/// The layer does not fit on the accelerator: too few channels or steps, no norm for its rows, an array that is not
/// square.
fn layer_cycles(block: &TenderTop) -> anyhow::Result<Vec<f64>> {
    let steps = CHANNELS as u32 + 7;
    ensure!(block.depth >= CHANNELS as u32, "depth is {}, the layer needs {CHANNELS}", block.depth);
    ensure!(block.steps >= steps, "steps is {}, the layer needs {steps}", block.steps);
    let layer = drawn_layer(&mut rng_for(1, "layer"));
    let (caps, golden) = (caps_of(block), golden_of(block)?);
    let bits = block.bus.axi.address_width;
    let window = Window { base: 0x10_0000, limit: 0x1fff_ffff, address_width: bits };
    ensure!(bits >= 29, "axi.address_width is {bits}, the layer needs 29");
    let mut values = Vec::new();
    for integer in [Integer::Int8, Integer::Int4] {
        for groups in [1, 8] {
            let job = real_layer((&caps, &window), golden.clone(), (integer, groups), TOKENS, &layer)
                .with_context(|| format!("a decoder layer with operands {integer:?}"))?
                .job;
            let mut memory = SparseMemory::new();
            job.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
            let limits = Limits { base: window.base, limit: window.limit, max_descriptors: job.descriptors };
            let spent = timing::timing(block, LATENCY)
                .job(&golden, limits, job.address, (&mut memory, &mut Turns::default()))
                .map_err(|code| anyhow::anyhow!("the job ends with error {code}"))?;
            let cycles: u64 = spent.iter().map(|spent| spent.cycles).sum();
            let products: u64 = spent.iter().map(|spent| spent.operation.products()).sum();
            values.extend([cycles as f64, products as f64 / cycles as f64]);
        }
    }
    Ok(values)
}

/// Numbers of a token.
const WIDTH: usize = 576;
/// Keys, and values, of all heads that have their own.
const SHARED: usize = 192;
/// Channels of the feed-forward network.
const CHANNELS: usize = 1536;

/// A layer of the sizes of SmolLM2-135M with drawn weights.
#[must_use]
pub fn drawn_layer(rng: &mut StimulusRng) -> Layer {
    let mut matrix = |inputs: usize, outputs: usize| -> Vec<Vec<f64>> {
        let most = 1.0 / (inputs as f64).sqrt();
        (0..inputs).map(|_| (0..outputs).map(|_| rng.random_range(-most..most)).collect()).collect()
    };
    Layer {
        gains: [vec![1.0; WIDTH], vec![1.0; WIDTH]],
        q: matrix(WIDTH, WIDTH),
        k: matrix(WIDTH, SHARED),
        v: matrix(WIDTH, SHARED),
        o: matrix(WIDTH, WIDTH),
        gate: matrix(WIDTH, CHANNELS),
        up: matrix(WIDTH, CHANNELS),
        down: matrix(CHANNELS, WIDTH),
    }
}
