//! What the tests' device is, for the golden model and for the host.

use std::sync::LazyLock;

use golden::accelerators::vector::{STEP_BITS, Shape, VectorTop};
use golden::common::float::Function;
use host::Window;
use host::vector::{Caps, Units};

pub const UNITS: Units = Units { softmax: true, layer_norm: true, rotary: true };
pub const CAPS: Caps = Caps { opcode: 1, lanes: 4, max_beats: 8, function: 2, units: UNITS };
pub const WINDOW: Window = Window { base: 0x1000, limit: 0xffff, address_width: 40 };
pub const SHAPE: Shape = Shape {
    lanes: CAPS.lanes,
    max_beats: CAPS.max_beats,
    function: Function::Silu,
    address_width: 40,
    steps: STEP_BITS,
};

/// The accelerator. It is made once, because its tables take a while.
pub static TOP: LazyLock<VectorTop> = LazyLock::new(|| VectorTop::new(SHAPE));
