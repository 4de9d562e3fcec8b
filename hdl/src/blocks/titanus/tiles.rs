//! Beats of the streams between the units: pruned, quantized and stored tiles, blocks of bytes.

use super::{RANGE_BITS, ZERO_BITS, bits_type, index_bits, level_bits};
use crate::lang::{Field, FieldArray, FieldOption, bit, bundle, index_width, sint, uint};

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
        /// The tile carries levels only: the levels after the prefill.
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

bundle! {
    /// A quantized tile that comes back from memory.
    pub struct StoredTile(lanes: u32) {
        /// The beat is the first one of its stream.
        first: Field = bit(),
        /// The beat is the last one of its stream; each stream has one.
        last: Field = bit(),
        /// The stream is damaged, and this beat carries no tile: index and open are 0. Only together with `last`.
        error: Field = bit(),
        /// Width of a quantized value in this stream, 2 to 8.
        bits: Field = bits_type(),
        /// The tile carries levels only: the levels after the prefill.
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
    }
}

bundle! {
    /// A tile of values as the accelerator works with them; for so many lanes and levels.
    pub struct RebuiltTile(size: (u32, u32)) {
        /// The beat is the first one of its stream.
        first: Field = bit(),
        /// The beat is the last one of its stream; each stream has one.
        last: Field = bit(),
        /// The stream is damaged; high from the first beat that is known to be affected to the last one of the stream.
        /// Such beats carry nothing: x, index and level are 0. With `last`, it is the verdict on the whole stream.
        error: Field = bit(),
        /// Values; 0 where `index` is 0.
        x: FieldArray = sint(8).array(size.0),
        /// Per lane: the element was not pruned.
        index: FieldArray = bit().array(size.0),
        /// Per lane: number of the channel's level, from 0; 0 without one.
        level: FieldArray = uint(level_bits(size.1)).array(size.0),
    }
}

bundle! {
    /// A block of bytes off chip; so many of them, and whether there are checksums.
    pub struct ByteBlock(size: (u32, bool)) {
        /// Bytes, byte 0 in the low bits.
        data: Field = uint(8 * size.0),
        /// The block is the final one of its stream, or of the part of it that is read.
        last: Field = bit(),
        /// CRC-32 of the bytes of the stream up to this block, itself included; when read, looked at with `last` only.
        crc: FieldOption = uint(32).when(size.1),
    }
}

bundle! {
    /// The part of an open stream that has not left as a block; blocks of so many bytes, and whether there are
    /// checksums.
    pub struct OpenTail(size: (u32, bool)) {
        /// A stream is open, and all tiles that were taken are in its blocks and in this part.
        valid: Field = bit(),
        /// Bits of this part; 0: the blocks that left hold everything.
        used: Field = uint(index_width(8 * u64::from(size.0))),
        /// The bits, then zeros. As the final block, after the blocks that left, it ends the readable part of the
        /// stream.
        data: Field = uint(8 * size.0),
        /// CRC-32 of the bytes of the stream so far. Unless this part has no bits, it is included as a whole block.
        crc: FieldOption = uint(32).when(size.1),
    }
}
