//! The part of the format of bytes off chip that packer and unpacker share. The whole format is in
//! docs/blocks/titanus-format.md.

use super::{RECORD_BITS, bits_type};
use crate::lang::{Module, Rules, Signal, Type, bits_for, uint};

/// Version of the format.
pub(super) const VERSION: u32 = 1;

/// Width of the header: width of a value, version, lanes.
pub(super) const HEADER_BITS: u32 = 16;

/// Widest chunk of a tile: kind, index, labels and values of eight bits, or the mask of opened levels and records.
pub(super) const fn chunk_bits(lanes: u32) -> u32 {
    let levels = lanes + first_records(lanes) * RECORD_BITS;
    let token = 2 + 10 * lanes;
    if levels > token { levels } else { token }
}

/// Records that go along with the mask of opened levels; the others follow in a chunk of their own.
pub(super) const fn first_records(lanes: u32) -> u32 {
    lanes.div_ceil(2)
}

/// Type of a chunk's length.
pub(super) fn length_type(lanes: u32) -> Type {
    uint(bits_for(u64::from(chunk_bits(lanes))))
}

/// A chunk fits a block, so that at most one block is completed a cycle.
pub(super) fn demand_chunk_fits(lanes: u32, block_bytes: u32, rules: &mut Rules) {
    let least = chunk_bits(lanes).div_ceil(8);
    rules.demand(
        block_bytes >= least,
        "block_bytes",
        block_bytes,
        format!("at least {least}, the widest chunk of a tile of {lanes} lanes"),
    );
}

/// `value` in exactly `width` bits; bits that are cut off are known to be zero.
#[track_caller]
pub(super) fn resized(value: Signal, width: u32) -> Signal {
    if value.width() > width { value.truncate(width) } else { value.extend(width) }
}

/// The result of `of` for the width of a value in `bits`, 2 to 8.
#[track_caller]
pub(super) fn by_width(m: &mut Module, name: &str, bits: Signal, of: impl Fn(u32) -> Signal) -> Signal {
    debug_assert_eq!(bits.ty(), bits_type());
    let choices: Vec<Signal> = (2..=8).map(of).collect();
    m.lookup(name, bits.wrapping_sub(2).truncate(3), &choices)
}
