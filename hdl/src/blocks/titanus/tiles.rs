//! Beats of the streams between the units: pruned, quantised and stored tiles, blocks of bytes.

use super::{RANGE_BITS, ZERO_BITS, bits_type, index_bits, level_bits};
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
    /// A quantised tile on its way to memory: values in order from lane 0 on, all else in its lane.
    pub struct QuantizedTile(lanes: u32) {
        /// Width of a quantised value in this sequence, 2 to 8.
        bits: Field = bits_type(),
        /// The tile carries levels only: those after the prefill.
        initial: Field = bit(),
        /// Per lane: the element is not zero.
        index: FieldArray = bit().array(*lanes),
        /// Per lane: the quantised value is not zero.
        label: FieldArray = bit().array(*lanes),
        /// Quantised values with label 1, in order from lane 0 on, 0 above.
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

bundle! {
    /// A quantised tile that comes back from memory.
    pub struct StoredTile(lanes: u32) {
        /// The tile is the first one of its stream.
        first: Field = bit(),
        /// Width of a quantised value in this stream, 2 to 8.
        bits: Field = bits_type(),
        /// The tile carries levels only: those after the prefill.
        initial: Field = bit(),
        /// Per lane: the element is not zero.
        index: FieldArray = bit().array(*lanes),
        /// Per lane: the quantised value is not zero.
        label: FieldArray = bit().array(*lanes),
        /// Quantised values with label 1, in order from lane 0 on, 0 above.
        values: FieldArray = uint(8).array(*lanes),
        /// Per lane: the channel opens a level.
        open: FieldArray = bit().array(*lanes),
        /// Range of the opened level, 0 without one.
        range: FieldArray = uint(RANGE_BITS).array(*lanes),
        /// Zero point of the opened level, 0 without one.
        zero: FieldArray = sint(ZERO_BITS).array(*lanes),
    }
}

bundle! {
    /// A tile of values as the accelerator works with them.
    pub struct RebuiltTile(size: (u32, u32)) {
        /// Values; 0 where `index` is 0.
        x: FieldArray = sint(8).array(size.0),
        /// Per lane: the element was not pruned.
        index: FieldArray = bit().array(size.0),
        /// Per lane: number of the channel's level, from 0; 0 without one.
        level: FieldArray = uint(level_bits(size.1)).array(size.0),
    }
}

bundle! {
    /// A block of bytes off chip.
    pub struct ByteBlock(bytes: u32) {
        /// Bytes, byte 0 in the low bits.
        data: Field = uint(8 * *bytes),
        /// The block is the final one of its stream.
        last: Field = bit(),
    }
}
