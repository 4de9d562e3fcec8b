//! Registers of `titanus_core`.

use golden::accelerators::memory::SparseMemory;
use golden::accelerators::titanus::Device as Model;
use host::titanus::registers as r;

use super::{CAPS, CORE};

/// Registers have the same offsets and masks as in the model.
#[test]
fn registers_of_the_model() {
    let mut model = Model::new(CORE.with(Clone::clone), 4, 16, SparseMemory::new());
    let fields = [
        (r::CAPS_STORE, r::CAPS_STORE_ROWS, CAPS.rows),
        (r::CAPS_STORE, r::CAPS_STORE_COLUMNS, CAPS.columns),
        (r::CAPS_MACRO, r::CAPS_MACRO_INPUTS, CAPS.inputs),
        (r::CAPS_MACRO, r::CAPS_MACRO_OUTPUTS, CAPS.outputs),
        (r::CAPS_CONSTANTS, !0, CAPS.constants),
        (r::CAPS_CACHE, r::CAPS_CACHE_CHANNELS, CAPS.lanes),
        (r::CAPS_CACHE, r::CAPS_CACHE_TILES, CAPS.tiles),
        (r::CAPS_CACHE, r::CAPS_CACHE_LEVELS, CAPS.levels),
        (r::CAPS_CONTEXT, r::CAPS_CONTEXT_TOKENS, CAPS.context),
        (r::CAPS_CONTEXT, r::CAPS_CONTEXT_BUFFER, CAPS.buffer),
        (r::LINK, r::LINK_LINKED, CAPS.links.into()),
        (r::VECTOR_CAPS, r::VECTOR_CAPS_LANES, CAPS.vector.lanes),
        (r::VECTOR_CAPS, r::VECTOR_CAPS_MAX_BEATS, CAPS.vector.max_beats),
        (r::FUNCTION, r::FUNCTION_FUNCTION, CAPS.vector.function),
    ];
    for (offset, mask, expected) in fields {
        assert_eq!((model.read(offset).unwrap() & mask) >> mask.trailing_zeros(), expected, "{offset:#x}");
    }
    for offset in [r::OVERFLOWS, r::MULTIPLICATIONS, r::SKIPPED, r::STREAM_READ, r::STREAM_WRITTEN, r::DAMAGE_WHERE] {
        assert_eq!([offset, offset + 4].map(|at| model.read(at).unwrap()), [0, 0]);
    }
    assert_eq!([r::CACHE, r::DAMAGE].map(|at| model.read(at).unwrap()), [0, 0]);
}
