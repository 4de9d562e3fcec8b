//! [`TitanusCore`] between a host and a memory: chains of loads, products, rows, appends and restores, right and wrong ones; see [`player::bench`].

mod costs;
pub mod head;
pub mod layer;
mod model;
pub mod program;
pub mod timing;

pub use costs::COSTS;
use golden::accelerators::memory::SparseMemory;
use golden::accelerators::titanus::{Report, TitanusCore as Golden, Traffic, Work};
use golden::common::shell::job_controller::Limits;
use hdl::accelerators::titanus::TitanusCore;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::AxiSpec;
use host::Window;
use host::titanus::{Caps, operations};
use lower::chain::Job;

use super::vector::{caps_of_rows, function_register};
use jobs::player::{self, Counter, Facts, register};
use jobs::timing::Waits;
pub use model::golden_of;

/// The bench of the accelerator; a vector is a job.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &TitanusCore) -> anyhow::Result<Box<dyn sim::Bench>> {
    player::bench(p, golden_of(p)?, facts, 6, program::draw, timing::timing)
}

/// A core for one head of SmolLM2-135M: three projections from 576 to 64 in macros of the paper's size, 64 tokens of context.
#[must_use]
pub fn head_core() -> TitanusCore {
    let mut core =
        TitanusCore { vector: VectorParameters { max_beats: 72, ..VectorParameters::all() }, ..TitanusCore::default() };
    let spec = &mut core.spec;
    (spec.store.rows, spec.store.columns) = (3, 6);
    (spec.constants, spec.lanes, spec.tiles, spec.levels, spec.context, spec.buffer) = (256, 16, 4, 16, 64, 16);
    core
}

/// A core for a decoder layer of SmolLM2-135M: all weights in 6 x 90 macros of the paper's size, 128 tokens of context.
#[must_use]
pub fn layer_core() -> TitanusCore {
    let mut core = head_core();
    let spec = &mut core.spec;
    (spec.store.rows, spec.store.columns) = (6, 90);
    (spec.constants, spec.tiles, spec.context, spec.buffer) = (6144, 12, 128, 64);
    core
}

/// A core for small layers of drawn weights: 2 key heads, in macros of 64 x 32.
#[must_use]
pub fn small_layer_core() -> TitanusCore {
    let mut core = head_core();
    core.vector.max_beats = 32;
    let spec = &mut core.spec;
    (spec.store.tile.cells.inputs, spec.store.rows, spec.store.columns) = (64, 4, 24);
    (spec.constants, spec.tiles, spec.context, spec.buffer) = (2048, 8, 16, 8);
    core
}

/// A core for a decoder layer of OPT-125M on a bus of 64 bytes: all weights in macros of the paper's size, 128 tokens of context.
#[must_use]
pub fn opt_core() -> TitanusCore {
    let mut core = head_core();
    core.bus.axi = AxiSpec { address_width: 40, data_width: 512, id_width: 1 };
    let spec = &mut core.spec;
    (spec.store.rows, spec.store.columns) = (12, 144);
    (spec.store.load, spec.store.drain) = (64, 32);
    (spec.constants, spec.lanes, spec.tiles, spec.context, spec.buffer) = (16_384, 32, 24, 128, 64);
    core
}

/// Registers of its own.
fn facts(block: &TitanusCore) -> Facts<Work> {
    let (spec, unit) = (&block.spec, block.vector());
    let cells = &spec.store.tile.cells;
    let counts = |count: fn(&Report) -> u64| Box::new(count);
    let bus_bytes = u64::from(block.bus.axi.data_width / 8);
    Facts {
        number: 4,
        constants: vec![
            (0x100, (spec.store.rows | spec.store.columns << 8).into()),
            (0x104, (cells.inputs | cells.outputs << 16).into()),
            (0x108, spec.constants.into()),
            (0x10c, (spec.lanes | spec.tiles << 8 | (spec.levels % 256) << 24).into()),
            (0x110, (spec.context | spec.buffer << 16).into()),
            (0x114, (block.vector.max_beats << 16 | unit.lanes()).into()),
            (0x118, function_register(&unit)),
        ],
        counters: vec![
            Counter { name: "OVERFLOWS", register: 0x120, expected: counts(Report::overflows) },
            Counter {
                name: "MULTIPLICATIONS",
                register: 0x128,
                expected: counts(|report| report.counts().multiplications),
            },
            Counter { name: "SKIPPED", register: 0x130, expected: counts(|report| report.counts().skipped) },
            Counter { name: "CACHE", register: 0x138, expected: counts(Report::cache) },
            Counter { name: "STREAM_READ", register: 0x140, expected: counts(|report| report.counts().read) },
            Counter { name: "STREAM_WRITTEN", register: 0x148, expected: counts(|report| report.counts().written) },
            Counter {
                name: "READ_BEATS of the model",
                register: register::READ_BEATS,
                expected: Box::new(move |report| report.traffic(bus_bytes).read().beats),
            },
            Counter {
                name: "WRITE_BEATS of the model",
                register: register::WRITE_BEATS,
                expected: Box::new(move |report| report.traffic(bus_bytes).written().beats),
            },
            Counter { name: "DAMAGE", register: 0x150, expected: counts(|_| 0) },
            Counter { name: "DAMAGE_WHERE", register: 0x158, expected: counts(|_| 0) },
        ],
        kept: Vec::new(),
        waits: Waits::default(),
    }
}

/// The traffic of jobs that run one after the other from a reset on, as the golden model does them.
///
/// # Errors
/// Parameters that the model refuses; a job that ends with an error.
pub fn traffic(block: &TitanusCore, window: Window, jobs: &[Job]) -> anyhow::Result<Vec<Traffic>> {
    let (golden, mut memory) = (golden_of(block)?, SparseMemory::new());
    let one = |job: &Job| {
        job.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
        let limits = Limits { base: window.base, limit: window.limit, max_descriptors: job.descriptors };
        let report = golden.run(limits, job.address, &mut memory);
        anyhow::ensure!(report.end.code == 0, "a job ends with error {}", report.end.code);
        Ok(report.traffic(u64::from(block.bus.axi.data_width / 8)))
    };
    jobs.iter().map(one).collect()
}

/// The capabilities that a driver reads from an accelerator.
#[must_use]
pub fn caps_of(golden: &Golden) -> Caps {
    let shape = golden.shape();
    Caps {
        rows: shape.rows,
        columns: shape.columns,
        inputs: shape.inputs,
        outputs: shape.outputs,
        constants: shape.constants,
        lanes: shape.lanes,
        tiles: shape.tiles,
        levels: shape.levels,
        context: shape.context,
        buffer: shape.buffer,
        links: shape.links,
        vector: caps_of_rows(&shape.vector, operations::vector::OPCODE),
    }
}
