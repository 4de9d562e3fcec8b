//! Cycles of a decoder layer by the recurrence, for comparing parameters: the columns of a sweep.

use anyhow::{Context, ensure};
use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use hdl::accelerators::tender::TenderTop;
use host::Window;
use host::vector::Integer;
use lower::layer::{Activation, Layer, Linear, Norm};
use rand::RngExt;
use sim::stimulus::{StimulusRng, rng_for};

use sim::kit::Work;

use super::super::drawn_layer::{EPSILON, Sizes, turns};
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
    let channels = SIZES.inner as u32;
    let steps = channels + 7;
    ensure!(block.depth >= channels, "depth is {}, the layer needs {channels}", block.depth);
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

/// The sizes of SmolLM2-135M.
const SIZES: Sizes = Sizes { width: 576, heads: [9, 3], head: 64, inner: 1536 };

/// A layer of the sizes of SmolLM2-135M with drawn weights.
#[must_use]
pub fn drawn_layer(rng: &mut StimulusRng) -> Layer {
    let mut matrix = |inputs: usize, outputs: usize| {
        let most = 1.0 / (inputs as f64).sqrt();
        Linear::new((0..inputs).map(|_| (0..outputs).map(|_| rng.random_range(-most..most)).collect()).collect())
    };
    let Sizes { width, heads: [queries, keys], head, inner } = SIZES;
    let (queries, keys) = (queries * head, keys * head);
    let norm = Norm { gains: vec![1.0; width], biases: Vec::new() };
    let (q, k, v, o) = (matrix(width, queries), matrix(width, keys), matrix(width, keys), matrix(queries, width));
    let (activation, up) = (Activation::GatedSilu(matrix(width, inner)), matrix(width, inner));
    let (norms, down) = ([norm.clone(), norm], matrix(inner, width));
    let (heads, turns) = (SIZES.heads(), Some(turns(head)));
    Layer { norms, epsilon: EPSILON, q, k, v, o, up, activation, down, heads, turns }
}
