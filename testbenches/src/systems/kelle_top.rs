//! `kelle_top` between a host and a memory: chains of products, attention, rows and their management.

mod bench;
pub mod decay;
pub mod encoder;
pub mod layer;
pub mod lifetimes;
pub mod program;
pub mod real;
pub mod recorder;
pub mod timing;

use golden::common::float::Function;
use golden::systems::kelle_top::Shape;
use golden::systems::vector_top;
use host::kelle::{Caps, operations};
use host::vector::{self, Units};

pub use bench::{bench, golden_of};

/// What a driver reads of an accelerator of a shape.
#[must_use]
pub fn caps_of(shape: &Shape) -> Caps {
    let vector_top::Units { softmax, layer_norm, rotary } = vector_top::Units::of(shape.vector.steps);
    let function = match shape.vector.function {
        Function::GeluErf => 0,
        Function::GeluTanh => 1,
        Function::Silu => 2,
        Function::Tanh => 3,
        Function::Sigmoid => 4,
    };
    let vector = vector::Caps {
        opcode: operations::vector::OPCODE,
        lanes: shape.vector.lanes,
        max_beats: shape.vector.max_beats,
        function,
        units: Units { softmax, layer_norm, rotary },
    };
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
        vector,
    }
}
