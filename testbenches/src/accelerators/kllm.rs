//! [`KllmTop`] between a host and a memory: chains of products, rows, and rows that become tokens, right and wrong ones; see [`player::bench`].

pub mod activation;
pub mod attention;
mod costs;
pub mod encoder;
pub mod layer;
mod model;
pub mod program;
pub mod real;
pub mod timing;

pub use costs::COSTS;
use golden::accelerators::kllm::{Report, Work};
use hdl::accelerators::kllm::KllmTop;
use host::kllm::Caps;

use super::vector::{function_register, rows_of};
use jobs::player::{self, Counter, Facts};
use jobs::timing::Waits;
pub use model::golden_of;

/// The bench of the accelerator; a vector is a job.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &KllmTop) -> anyhow::Result<Box<dyn sim::Bench>> {
    player::bench(p, golden_of(p)?, facts, 4, program::draw, timing::timing)
}

/// Registers of its own.
fn facts(block: &KllmTop) -> Facts<Work> {
    let (lanes, unit) = (&block.product, block.vector());
    let caps = lanes.lanes | lanes.columns << 8 | lanes.inputs << 20;
    Facts {
        number: 3,
        constants: vec![
            (0x100, caps.into()),
            (0x104, (lanes.buffer << 16 | lanes.groups << 8 | lanes.centroid_bits).into()),
            (0x108, (lanes.depth * lanes.inputs).into()),
            (0x10c, (lanes.kmax << 16 | block.orizuru).into()),
            (0x110, (block.vector.max_beats << 16 | unit.lanes()).into()),
            (0x114, function_register(&unit)),
        ],
        counters: vec![
            Counter { name: "OVERFLOWS", register: 0x118, expected: Box::new(Report::overflows) },
            Counter { name: "COMPUTE", register: 0x120, expected: Box::new(|report: &Report| report.beats().taken) },
            Counter { name: "REPEATS", register: 0x128, expected: Box::new(|report: &Report| report.beats().repeated) },
        ],
        kept: Vec::new(),
        waits: Waits::default(),
    }
}

/// The capabilities that the registers of an accelerator show.
#[must_use]
pub fn caps_of(block: &KllmTop) -> Caps {
    let lanes = &block.product;
    Caps {
        lanes: lanes.lanes,
        columns: lanes.columns,
        groups: lanes.groups,
        inputs: lanes.inputs,
        centroid_bits: lanes.centroid_bits,
        buffer: lanes.buffer,
        inner: lanes.depth * lanes.inputs,
        segment: block.orizuru,
        outliers: lanes.kmax,
        vector: rows_of(&block.vector()),
    }
}
