//! [`TenderTop`] between a host and a memory: chains of products, packings and rows, right and wrong ones; see [`player::bench`].

pub mod attention;
pub mod builder;
mod costs;
pub mod decoding;
pub mod encoder;
pub mod feed_forward;
pub mod layer;
mod model;
pub mod program;
pub mod real;
pub mod timing;
pub mod work;

pub use costs::COSTS;
use golden::accelerators::tender::{Operation, Report};
use hdl::accelerators::tender::{EnginePe, TenderTop, TenderTopOf};
use host::tender::Caps;

use super::vector::{function_register, rows_of};
use jobs::player::{self, Counter, Facts};
use jobs::timing::Waits;
pub use model::{EnginePeBench, golden_of};

/// The bench of the accelerator; a vector is a job.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench<P: EnginePeBench>(p: &TenderTopOf<P>) -> anyhow::Result<Box<dyn sim::Bench>> {
    player::bench(p, golden_of(p)?, facts, 4, program::draw, timing::timing)
}

/// Registers of its own.
fn facts<P: EnginePe>(block: &TenderTopOf<P>) -> Facts<Operation> {
    let (array, unit) = (&block.array, block.vector());
    let explicit = u32::from(block.explicit) << 31;
    let caps = array.rows | array.columns << 16 | 1 << 25 | array.pe.operand_bits() << 26 | explicit;
    Facts {
        number: 2,
        constants: vec![
            (0x100, caps.into()),
            (0x104, block.depth.into()),
            (0x108, block.steps.into()),
            (0x10c, (block.vector.max_beats << 16 | unit.lanes()).into()),
            (0x110, function_register(&unit)),
        ],
        counters: vec![
            Counter { name: "SUM_OVERFLOWS", register: 0x118, expected: Box::new(Report::sum_overflows) },
            Counter { name: "OVERFLOWS", register: 0x120, expected: Box::new(Report::overflows) },
        ],
        kept: Vec::new(),
        waits: Waits::default(),
    }
}

/// The capabilities that a host reads from an accelerator.
#[must_use]
pub fn caps_of(block: &TenderTop) -> Caps {
    Caps {
        rows: block.array.rows,
        columns: block.array.columns,
        int8: block.array.int8,
        explicit: block.explicit,
        depth: block.depth,
        steps: block.steps,
        vector: rows_of(&block.vector()),
    }
}
