//! `kelle_top` between a host and a memory: chains of products, attention, rows and their management.

mod bench;
mod costs;
pub mod decay;
pub mod encoder;
pub mod layer;
pub mod lifetimes;
mod model;
pub mod program;
pub mod real;
pub mod recorder;
mod saved;
pub mod timing;

pub use costs::COSTS;
use golden::accelerators::kelle::Shape;
use host::kelle::{Caps, operations};

use super::vector::caps_of_rows;

pub use bench::bench;
pub use model::golden_of;

/// What a driver reads of an accelerator of a shape.
#[must_use]
pub fn caps_of(shape: &Shape) -> Caps {
    Caps {
        rows: shape.rows,
        columns: shape.columns,
        tokens: shape.tokens,
        inner: shape.inner,
        heads: shape.heads,
        slots: shape.slots,
        width: shape.width,
        group: shape.group,
        score_lanes: shape.score_lanes,
        score_bits: shape.score_bits,
        amount_bits: shape.amount_bits,
        interval_bits: shape.interval_bits,
        cache_rows: shape.cache_rows,
        save: shape.save,
        recompute: shape.recompute,
        vector: caps_of_rows(&shape.vector, operations::vector::OPCODE),
    }
}
