//! Beats of the streams between the units: pruned, quantized and stored tiles, blocks of bytes.

use super::{RANGE_BITS, ZERO_BITS, bits_type, index_bits};
use crate::lang::{Field, FieldArray, bit, bundle, sint, uint};

bundle! {
    /// A pruned tile: elements moved together.
    pub struct PrunedTile(lanes: u32) {
        /// Per lane: the element is not zero.
        index: FieldArray = bit().array(*lanes),
        /// Number of ones in `index`.
        count: Field = uint(index_bits(*lanes)),
        /// The elements with index 1, in order from lane 0 on, 0 above.
        values: FieldArray = sint(8).array(*lanes),
        /// The tile is the last one of its sequence.
        last: Field = bit(),
    }
}

bundle! {
    /// A quantized tile on its way to memory: values in order from lane 0 on, all else in its lane.
    pub struct QuantizedTile(lanes: u32) {
        /// Width of a quantized value in this sequence, 2 to 8.
        bits: Field = bits_type(),
        /// The tile carries levels only: those after the prefill.
        initial: Field = bit(),
        /// Per lane: the element is not zero.
        index: FieldArray = bit().array(*lanes),
        /// Per lane: the quantized value is not zero.
        label: FieldArray = bit().array(*lanes),
        /// Quantized values with label 1, in order from lane 0 on, 0 above.
        values: FieldArray = uint(8).array(*lanes),
        /// Per lane: the channel opens a level.
        open: FieldArray = bit().array(*lanes),
        /// Range of the opened level, 0 without one.
        range: FieldArray = uint(RANGE_BITS).array(*lanes),
        /// Zero point of the opened level, 0 without one.
        zero: FieldArray = sint(ZERO_BITS).array(*lanes),
        /// The tile is the last one of its sequence.
        last: Field = bit(),
    }
}
