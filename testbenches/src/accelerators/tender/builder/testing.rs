//! An accelerator for tests.

use golden::accelerators::tender::Shape;
use golden::accelerators::vector::{STEP_BITS, Shape as VectorShape};
use golden::common::float::Function;
use host::vector;

use super::*;

pub const CAPS: Caps = Caps {
    rows: 16,
    columns: 16,
    int8: true,
    explicit: false,
    depth: 1536,
    steps: 1600,
    vector: vector::Caps {
        opcode: 3,
        lanes: 8,
        max_beats: 72,
        function: 2,
        units: vector::Units { softmax: true, layer_norm: true, rotary: true },
    },
};
pub const WINDOW: Window = Window { base: 0x1_0000, limit: 0xff_ffff, address_width: 40 };

/// The model of an accelerator of these sizes.
pub fn golden() -> TenderTop {
    let Caps { rows, columns, int8, explicit, depth, steps, vector } = CAPS;
    let vector = VectorShape {
        lanes: vector.lanes,
        max_beats: vector.max_beats,
        function: Function::Silu,
        address_width: WINDOW.address_width,
        steps: STEP_BITS,
    };
    let shape = Shape {
        rows,
        columns,
        int8,
        accumulator_width: 32,
        depth,
        steps,
        explicit,
        weight_readers: 1,
        pack_columns: 1,
        vector,
    };
    TenderTop::new(shape).unwrap_or_else(|e| panic!("{e}"))
}
